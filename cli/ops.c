/* ingot ops: prints the op table. */
#include "calc/calc.h"
#include "cli.h"
#include "support.h"

#include <string.h>

enum { SIGNATURE_COLUMN = 34 };

/* The length of the first sentence, without its full stop. */
static int summary_length(const char *doc)
{
    const char *end = doc;
    while ((end = strstr(end, ". ")) && end > doc && end[-1] == '.') /* "..." */
        end++;
    return (int)(end ? (size_t)(end - doc) : strlen(doc));
}

/* Adds name(signature) and the first sentence of doc in two columns; in two lines if the first column is too long. */
static void str_op(str *t, const char *name, const char *signature, const char *doc)
{
    size_t start = t->n;
    str_printf(t, "  %s(", name);
    str_signature(t, signature);
    str_puts(t, ")");
    size_t width = t->n - start;
    if (width < SIGNATURE_COLUMN) {
        str_fill(t, ' ', SIGNATURE_COLUMN - width);
    } else {
        str_puts(t, "\n");
        str_fill(t, ' ', SIGNATURE_COLUMN);
    }
    str_printf(t, "%.*s\n", summary_length(doc), doc);
}

/* True if op i is the first of its class in the table. */
static bool class_begins(int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(ig_op_at(k)->cls, ig_op_at(i)->cls) == 0)
            return false;
    return true;
}

/* The index of the first op of the class from i on; the number of ops if there is none. */
static int find_of_class(int i, const char *cls)
{
    while (i < ig_op_count() && strcmp(ig_op_at(i)->cls, cls) != 0)
        i++;
    return i;
}

const ig_op *ops_next(const ig_op *op)
{
    int i = 0;
    if (op) {
        const int first = find_of_class(0, op->cls);
        for (i = first; ig_op_at(i) != op; i++)
            ;
        i = find_of_class(i + 1, op->cls);
        if (i < ig_op_count())
            return ig_op_at(i);
        i = first + 1;
    }
    while (i < ig_op_count() && !class_begins(i))
        i++;
    return ig_op_at(i);
}

void ops_list(str *t)
{
    const char *cls = NULL;
    for (const ig_op *op = ops_next(NULL); op; op = ops_next(op)) {
        if (!cls || strcmp(cls, op->cls) != 0)
            str_printf(t, "%s%s\n", cls ? "\n" : "", op->cls);
        cls = op->cls;
        str_op(t, op->name, op->signature, op->doc);
    }
    str_puts(t, "\ncalculator\n");
    const builtin *b;
    for (int i = 0; (b = calc_builtin_at(i)); i++)
        str_op(t, b->name, b->signature, b->doc);
}

static void describe(str *t, const char *name, const char *signature, const char *doc,
                     const char *cls)
{
    str_printf(t, "%s(%s)\n  %s\n  class: %s\n", name, signature, doc, cls);
}

static void describe_dtypes(str *t, const ig_op *op)
{
    support s = support_ask(op, ig_device());
    str_puts(t, "  dtypes: ");
    support_dtypes(t, &s, TAKING_NATIVE);
    if (support_reason(&s))
        str_printf(t, "\n  else: %s", support_reason(&s));
    str_puts(t, "\n");
    support_free(&s);
}

bool ops_describe(str *t, const char *name)
{
    const ig_op *op = ig_op_find(name);
    if (op) {
        describe(t, op->name, op->signature, op->doc, op->cls);
        if (op->ulp > 0)
            str_printf(t, "  error: at most %g ulp in f32 and f64\n", op->ulp);
        if (op->evaluates)
            str_puts(t, "  calling it evaluates its inputs: the result's shape depends on data\n");
        describe_dtypes(t, op);
        return true;
    }
    const builtin *b;
    for (int i = 0; (b = calc_builtin_at(i)); i++)
        if (strcmp(b->name, name) == 0) {
            describe(t, b->name, b->signature, b->doc, "calculator");
            return true;
        }
    return false;
}

void ops_nearest(str *t, const char *name)
{
    nearest search = nearest_to(name);
    for (int i = 0; i < ig_op_count(); i++)
        nearest_offer(&search, ig_op_at(i)->name);
    str_printf(t, "unknown op '%s'", name);
    str_did_you_mean(t, &search);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_param(str *t, const ig_param *p)
{
    static const char *const kinds[] = {
        [IG_ARG_ARRAY] = "array", [IG_ARG_ARRAYS] = "arrays", [IG_ARG_INT] = "int",
        [IG_ARG_FLOAT] = "float", [IG_ARG_BOOL] = "bool",     [IG_ARG_INTS] = "ints",
        [IG_ARG_DTYPE] = "dtype", [IG_ARG_STRING] = "str"};
    str_json(t, "{name: %s, kinds: [", p->name);
    for (unsigned k = 1; k < sizeof kinds / sizeof *kinds; k++)
        if (p->kinds & 1u << k)
            str_json(t, "%s", kinds[k]);
    str_json(t, "], required: %hhd, variadic: %hhd}", p->required, p->variadic);
}

static void json_op(str *t, const ig_op *op, const char *device)
{
    str_json(t, "name: %s, class: %s, signature: %s, doc: %s, evaluates: %hhd, ulp: %g, params: [",
             op->name, op->cls, op->signature, op->doc, op->evaluates, op->ulp);
    for (int i = 0; i < op->n_params; i++)
        json_param(t, &op->params[i]);
    str_json(t, "], support:");
    support_json(t, op, device);
    str_json(t, "}");
}

/* Facts about the devices in the table's columns. */
static void json_devices(str *t, const char *only)
{
    for (int k = 0; k < ig_device_count(); k++) {
        ig_device_info d = {0};
        if (ig_device_get(k, &d) == IG_OK && support_lists(&d, only))
            str_json(t, "{name: %s, flushes_subnormals: %hhd}", d.name, d.flushes_subnormals);
    }
}

/* The other names of ops, and the calculator's own functions. */
static void json_aliases(str *t)
{
    str_json(t, "\naliases: [");
    for (int i = 0; i < ig_alias_count(); i++) {
        const ig_alias *a = ig_alias_at(i);
        const char *const kinds[] = {"op", "params", "expression"};
        const char *const texts[] = {a->op, a->params, a->expression};
        str_json(t, i ? "\n{name: %s" : "{name: %s", a->name);
        for (int k = 0; k < 3; k++)
            if (texts[k])
                str_json(t, "%s: %s", kinds[k], texts[k]);
        str_json(t, "}");
    }
    str_json(t, "],\nadvice: [");
    for (int i = 0; i < ig_advice_count(); i++) {
        const ig_advice *a = ig_advice_at(i);
        str_json(t, i ? "\n{module: %s, names: %s, text: %s}" : "{module: %s, names: %s, text: %s}",
                 a->module, a->names, a->text);
    }
    str_json(t, "],\ncalculator: [");
    for (int i = 0; calc_builtin_at(i); i++)
        str_json(t, "%s", calc_builtin_at(i)->name);
    str_json(t, "]");
}

static void json_ops(str *t, const char *only, const char *device)
{
    str_json(t, "{schema: 1, devices: [");
    json_devices(t, device);
    str_json(t, "], ops: [");
    for (int i = 0; i < ig_op_count(); i++) {
        const ig_op *op = ig_op_at(i);
        if (!only || strcmp(only, op->name) == 0) {
            str_json(t, !only && i ? "\n{" : "{");
            json_op(t, op, device);
        }
    }
    str_json(t, "]");
    if (!only)
        json_aliases(t);
    str_json(t, "}\n");
}

/* ---- the verb ------------------------------------------------------------------------------- */

int verb_ops(int argc, char **argv)
{
    bool json = false, table = false, markdown = false;
    const char *device = NULL;
    const option options[] = {
        FLAG("--support", &table, "which dtypes each op takes on each device"),
        {"--device", 0, "DEVICE", option_text, &device,
         "--support and --json: of this device only (all)"},
        FLAG("--markdown", &markdown, "the same for the CPU, as docs/ops.md"),
        FLAG("--json", &json, "as JSON, schema 1"),
        {0}};
    const command c = {"ops", "[options] [OP]", "Shows the ops by class, or the one that is named.",
                       options};
    int code = options_read(&c, &argc, argv);
    if (code >= 0)
        return code;
    const char *name = argc > 0 ? argv[0] : NULL;
    str t = {0};
    if (device && ig_set_device(device) != IG_OK) {
        fail_library(&c);
        return EXIT_ABSENT;
    }
    device = device ? ig_device() : NULL; /* "opencl" resolves to one of several */
    if (argc > 1 || (name && (table || markdown))) {
        say(&c, name && argc == 1 ? "a name goes without --support and --markdown"
                                  : "one name at most; see 'ingot ops --help'");
        code = EXIT_USAGE;
    } else if (name && (json ? !ig_op_find(name) : !ops_describe(&t, name))) {
        ops_nearest(&t, name);
        say(&c, "%s", t.s);
        code = EXIT_USAGE;
    } else {
        if (json)
            json_ops(&t, name, device);
        else if (markdown)
            support_markdown(&t);
        else if (table)
            support_table(&t, device);
        else if (!name)
            ops_list(&t);
        text_print(stdout, t.s);
        code = EXIT_FINE;
    }
    str_free(&t);
    return code;
}
