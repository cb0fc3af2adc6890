/* ingot ops: the op table, as its users see it. */
#include "calc.h"
#include "cli.h"

#include <string.h>

enum { SIGNATURE_COLUMN = 34 };

/* name(signature) and what it does, in two columns, or in two lines where the first is long. */
static void text_op(text *t, const char *name, const char *signature, const char *doc)
{
    size_t start = t->n;
    text_printf(t, "  %s(%s)", name, signature);
    size_t width = t->n - start;
    if (width < SIGNATURE_COLUMN) {
        text_fill(t, ' ', SIGNATURE_COLUMN - width);
    } else {
        text_puts(t, "\n");
        text_fill(t, ' ', SIGNATURE_COLUMN);
    }
    text_printf(t, "%s\n", doc);
}

/* The classes in the order in which the table has them. */
static bool class_begins(int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(ig_op_at(k)->cls, ig_op_at(i)->cls) == 0)
            return false;
    return true;
}

void ops_list(text *t)
{
    for (int i = 0; i < ig_op_count(); i++) {
        if (!class_begins(i))
            continue;
        const char *cls = ig_op_at(i)->cls;
        text_printf(t, "%s%s\n", i ? "\n" : "", cls);
        for (int k = i; k < ig_op_count(); k++) {
            const ig_op *op = ig_op_at(k);
            if (strcmp(op->cls, cls) == 0)
                text_op(t, op->name, op->signature, op->doc);
        }
    }
    text_puts(t, "\ncalculator\n");
    const builtin *b;
    for (int i = 0; (b = calc_builtin_at(i)); i++) {
        const char *name, *signature, *doc;
        calc_builtin_describe(b, &name, &signature, &doc);
        text_op(t, name, signature, doc);
    }
}

bool ops_describe(text *t, const char *wanted)
{
    const ig_op *op = ig_op_find(wanted);
    if (op) {
        text_printf(t, "%s(%s)\n  %s\n  class: %s\n", op->name, op->signature, op->doc, op->cls);
        if (op->evaluates)
            text_puts(t, "  calling it evaluates its inputs: the result's shape depends on data\n");
        return true;
    }
    const builtin *b;
    for (int i = 0; (b = calc_builtin_at(i)); i++) {
        const char *name, *signature, *doc;
        calc_builtin_describe(b, &name, &signature, &doc);
        if (strcmp(name, wanted) == 0) {
            text_printf(t, "%s(%s)\n  %s\n  class: calculator\n", name, signature, doc);
            return true;
        }
    }
    return false;
}

void ops_nearest(text *t, const char *name)
{
    nearest search = nearest_to(name);
    for (int i = 0; i < ig_op_count(); i++)
        nearest_offer(&search, ig_op_at(i)->name);
    text_printf(t, "unknown op '%s'", name);
    text_did_you_mean(t, &search);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_member(text *t, const char *name, const char *s)
{
    text_printf(t, "\"%s\": ", name);
    json_string(t, s);
    text_puts(t, ", ");
}

static void json_param(text *t, const ig_param *p)
{
    static const char *const kinds[] = {
        [IG_ARG_ARRAY] = "array", [IG_ARG_ARRAYS] = "arrays", [IG_ARG_INT] = "int",
        [IG_ARG_FLOAT] = "float", [IG_ARG_BOOL] = "bool",     [IG_ARG_INTS] = "ints",
        [IG_ARG_DTYPE] = "dtype", [IG_ARG_STRING] = "str"};
    text_puts(t, "{");
    json_member(t, "name", p->name);
    text_puts(t, "\"kinds\": [");
    const char *comma = "";
    for (unsigned k = 1; k < sizeof kinds / sizeof *kinds; k++)
        if (p->kinds & 1u << k) {
            text_printf(t, "%s\"%s\"", comma, kinds[k]);
            comma = ", ";
        }
    text_printf(t, "], \"required\": %s, \"variadic\": %s}", p->required ? "true" : "false",
                p->variadic ? "true" : "false");
}

static void json_op(text *t, const ig_op *op)
{
    text_puts(t, "{");
    json_member(t, "name", op->name);
    json_member(t, "class", op->cls);
    json_member(t, "signature", op->signature);
    json_member(t, "doc", op->doc);
    text_printf(t, "\"evaluates\": %s, \"params\": [", op->evaluates ? "true" : "false");
    for (int i = 0; i < op->n_params; i++) {
        text_puts(t, i ? ", " : "");
        json_param(t, &op->params[i]);
    }
    text_puts(t, "]}");
}

static void json_ops(text *t, const char *only)
{
    text_puts(t, "{\"schema\": 1, \"ops\": [");
    const char *comma = "";
    for (int i = 0; i < ig_op_count(); i++) {
        const ig_op *op = ig_op_at(i);
        if (only && strcmp(only, op->name) != 0)
            continue;
        text_puts(t, comma);
        json_op(t, op);
        comma = ",\n";
    }
    text_puts(t, "]}\n");
}

/* ---- the verb ------------------------------------------------------------------------------- */

int verb_ops(int argc, char **argv)
{
    bool json = false;
    const option options[] = {FLAG("--json", &json, "as JSON, schema 1"), {0}};
    const command c = {"ops", "[options] [NAME]",
                       "Shows the ops by class, or the one that is named.", options};
    int code = options_read(&c, &argc, argv);
    if (code >= 0)
        return code;
    const char *name = argc > 0 ? argv[0] : NULL;
    text t = {0};
    if (argc > 1) {
        say(&c, "one name at most; see 'ingot ops --help'");
        code = EXIT_USAGE;
    } else if (name && (json ? !ig_op_find(name) : !ops_describe(&t, name))) {
        ops_nearest(&t, name);
        say(&c, "%s", t.s);
        code = EXIT_USAGE;
    } else {
        if (json)
            json_ops(&t, name);
        else if (!name)
            ops_list(&t);
        fputs(t.s, stdout);
        code = EXIT_FINE;
    }
    text_free(&t);
    return code;
}
