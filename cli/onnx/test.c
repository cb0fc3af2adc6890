/* ingot onnx test: runs the test folders of ONNX and compares the results with those in the folders.
 *
 * A folder holds model.onnx and test_data_set_0, ... with input_0.pb, ... and output_0.pb, .... A model NAME.onnx next to
 * NAME_output_0.pb gets the inputs that ONNX's own runner gives it: 0, 1/n, 2/n, ... */
#include "onnx/onnx.h"
#include "progress.h"

#include "base/json.h"

#include <dirent.h>
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <ingot.h>

enum { PATH_MOST = 4096 };

typedef enum verdict { PASSED, FAILED, SKIPPED, VERDICTS } verdict;

typedef struct test_case {
    char *path; /* of the model */
    char *name;
    char *op; /* of its only node; "several" */
    verdict verdict;
    str why;
} test_case;

typedef struct testing {
    const char *pattern;
    bool json, quiet, again;
    engine_options engine;
    test_case *cases;
    int n;
    int counts[VERDICTS];
} testing;

/* ---- finding -------------------------------------------------------------------------------- */

static bool file_exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

static bool name_fits(const testing *t, const char *name)
{
    if (!t->pattern)
        return true;
    return strpbrk(t->pattern, "*?[") ? fnmatch(t->pattern, name, 0) == 0
                                      : strstr(name, t->pattern) != NULL;
}

static void case_add(testing *t, const char *path, const char *name)
{
    if (!name_fits(t, name))
        return;
    t->cases = heap_resize(t->cases, (size_t)(t->n + 1) * sizeof *t->cases);
    t->cases[t->n++] = (test_case){.path = heap_string(path), .name = heap_string(name)};
}

/* "a/b/name.onnx": name, without its extension. */
static void stem_of(const char *path, char stem[PATH_MOST])
{
    const char *slash = strrchr(path, '/');
    snprintf(stem, PATH_MOST, "%s", slash ? slash + 1 : path);
    char *dot = strrchr(stem, '.');
    if (dot)
        *dot = 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder, sorted, without hidden ones. The caller frees each, and the list. */
static char **names_in(const char *folder, size_t *n)
{
    DIR *dir = opendir(folder);
    char **names = NULL;
    *n = 0;
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (entry->d_name[0] != '.') {
            names = heap_resize(names, (*n + 1) * sizeof *names);
            names[(*n)++] = heap_string(entry->d_name);
        }
    if (dir)
        closedir(dir);
    if (*n)
        qsort(names, *n, sizeof *names, by_name);
    return names;
}

static void folder_walk(testing *t, const char *folder, int depth);

/* Adds the cases in an entry of a folder: a folder, or a model with its expected result next to it. */
static void entry_walk(testing *t, const char *folder, const char *name, int depth)
{
    char path[PATH_MOST], stem[PATH_MOST], output[PATH_MOST];
    struct stat s;
    snprintf(path, sizeof path, "%.3000s/%.255s", folder, name);
    if (stat(path, &s) != 0)
        return;
    if (S_ISDIR(s.st_mode)) {
        folder_walk(t, path, depth + 1);
    } else if (str_ends(name, ".onnx")) {
        stem_of(path, stem);
        snprintf(output, sizeof output, "%.3000s/%.255s_output_0.pb", folder, stem);
        if (file_exists(output))
            case_add(t, path, stem);
    }
}

/* Adds the cases in a folder and below it. */
static void folder_walk(testing *t, const char *folder, int depth)
{
    enum { DEEPEST = 8 };
    char path[PATH_MOST];
    snprintf(path, sizeof path, "%.3000s/model.onnx", folder);
    if (file_exists(path)) {
        const char *slash = strrchr(folder, '/');
        case_add(t, path, slash && slash[1] ? slash + 1 : folder);
        return;
    }
    size_t n = 0;
    char **names = depth < DEEPEST ? names_in(folder, &n) : NULL;
    for (size_t i = 0; i < n; i++) {
        entry_walk(t, folder, names[i], depth);
        free(names[i]);
    }
    free(names);
}

/* Their results are random, so the values in the folders cannot be compared. */
static bool is_random(const char *name)
{
    return strncmp(name, "test_bernoulli", 14) == 0 ||
           strncmp(name, "test_training_dropout", 21) == 0;
}

/* ---- one case ------------------------------------------------------------------------------- */

typedef struct bounds {
    double rtol, atol;
} bounds;

/* A folder may state other bounds in data.json. */
static bounds bounds_read(const char *model)
{
    bounds b = {1e-3, 1e-7};
    char path[PATH_MOST];
    size_t n = 0;
    const char *slash = strrchr(model, '/');
    snprintf(path, sizeof path, "%.*s/data.json", (int)(slash ? slash - model : 0), model);
    char *source = file_exists(path) ? str_read_file(path, 1 << 20, &n) : NULL;
    if (!source)
        return b;
    json_reader r;
    json_text key;
    json_begin(&r, source, n);
    if (json_open_object(&r))
        while (json_next_key(&r, &key)) {
            double *place = json_text_is(key, "rtol")   ? &b.rtol
                            : json_text_is(key, "atol") ? &b.atol
                                                        : NULL;
            json_number number;
            if (!place)
                json_skip(&r);
            else if (json_read_number(&r, &number))
                *place = number.kind == JSON_F64 ? number.as.f : (double)number.as.i;
        }
    if (json_end(&r) != IG_OK)
        ig_error(NULL);
    free(source);
    return b;
}

static void library_error(str *why)
{
    const char *message = ig_error(NULL);
    str_puts(why, message ? message : "failed without a reason");
}

/* Loads PREFIX0.pb, ... for each input or output. Absent files are values that are not given. */
static bool values_load(const ig_onnx *m, const char *prefix, bool outputs, values *list, str *why)
{
    char path[PATH_MOST + 32];
    const int n = outputs ? ig_onnx_output_count(m) : ig_onnx_input_count(m);
    *list = values_new(n);
    for (int i = 0; i < n; i++) {
        ig_onnx_info info = {.size = sizeof info};
        if ((outputs ? ig_onnx_output : ig_onnx_input)(m, i, &info) != IG_OK)
            return library_error(why), false;
        snprintf(path, sizeof path, "%s%d.pb", prefix, i);
        if (file_exists(path) && !(list->at[i] = ig_onnx_value_load(path, &info)))
            return library_error(why), false;
    }
    return true;
}

/* As ONNX's runner fills inputs of models without data. */
static bool values_ramp(const ig_onnx *m, values *list, str *why)
{
    *list = values_new(ig_onnx_input_count(m));
    for (int i = 0; i < list->n; i++) {
        ig_onnx_info info = {.size = sizeof info};
        int64_t dims[IG_MAX_NDIM], n = 1;
        if (ig_onnx_input(m, i, &info) != IG_OK)
            return library_error(why), false;
        if (info.type != IG_ONNX_FLOAT || info.ndim < 0 || info.ndim > IG_MAX_NDIM)
            return str_puts(why, "an input is not a float tensor"), false;
        for (int k = 0; k < info.ndim; k++)
            n *= dims[k] = info.dims[k] < 0 ? 1 : info.dims[k];
        float *data = heap_get((size_t)n * sizeof *data);
        for (int64_t k = 0; k < n; k++)
            data[k] = (float)((double)k / (double)n);
        ig_array *x = ig_from_data(data, (ig_ints){dims, info.ndim}, IG_F32);
        list->at[i] = x ? ig_onnx_value_array(x) : NULL;
        free(data);
        if (!list->at[i])
            return library_error(why), false;
    }
    return true;
}

static bool outputs_match(const ig_onnx *m, const values *got, const values *expected, bounds b,
                          str *why)
{
    for (int i = 0; i < got->n; i++) {
        ig_onnx_info info = {.size = sizeof info};
        str reason = {0};
        bool fine =
            !expected->at[i] || values_match(got->at[i], expected->at[i], b.rtol, b.atol, &reason);
        if (!fine) {
            ig_onnx_output(m, i, &info);
            str_printf(why, "output %d '%s': ", i, info.name ? info.name : "");
            if (reason.n)
                str_puts(why, reason.s);
            else
                library_error(why);
        }
        str_free(&reason);
        if (!fine)
            return false;
    }
    return true;
}

/* Runs the model on one set of data: inputs from PREFIXinput_, outputs from PREFIXoutput_. */
static bool set_run(ig_onnx *m, const char *prefix, bool ramp, int runs, bounds b, str *why)
{
    char path[PATH_MOST + 16];
    values in = {0}, expected = {0};
    snprintf(path, sizeof path, "%sinput_", prefix);
    bool fine = ramp ? values_ramp(m, &in, why) : values_load(m, path, false, &in, why);
    snprintf(path, sizeof path, "%soutput_", prefix);
    fine = fine && values_load(m, path, true, &expected, why);
    for (int i = 0; i < runs && fine; i++) {
        values out = values_new(ig_onnx_output_count(m));
        if (ig_onnx_run(m, in.at, out.at) != IG_OK) {
            library_error(why);
            fine = false;
        } else {
            fine = outputs_match(m, &out, &expected, b, why);
        }
        if (!fine && i > 0)
            str_puts(why, " (second run)");
        values_free(&out);
    }
    values_free(&in);
    values_free(&expected);
    return fine;
}

static verdict sets_run(test_case *c, ig_onnx *m, int runs)
{
    char prefix[PATH_MOST];
    const bounds b = bounds_read(c->path);
    const size_t stem = strlen(c->path) - strlen(".onnx");
    snprintf(prefix, sizeof prefix, "%.*s_output_0.pb", (int)stem, c->path);
    if (file_exists(prefix)) {
        snprintf(prefix, sizeof prefix, "%.*s_", (int)stem, c->path);
        return set_run(m, prefix, true, runs, b, &c->why) ? PASSED : FAILED;
    }
    int sets = 0;
    for (;; sets++) {
        const size_t folder = strlen(c->path) - strlen("model.onnx");
        snprintf(prefix, sizeof prefix, "%.*stest_data_set_%d/", (int)folder, c->path, sets);
        if (!file_exists(prefix))
            break;
        if (!set_run(m, prefix, false, runs, b, &c->why))
            return FAILED;
    }
    if (!sets)
        str_puts(&c->why, "there is no data");
    return sets ? PASSED : SKIPPED;
}

/* A failed case with random results is skipped, if only elements differ. */
static void random_forgive(test_case *c)
{
    if (c->verdict != FAILED || !is_random(c->name) || !strstr(c->why.s, "elements differ"))
        return;
    str_free(&c->why);
    str_puts(&c->why, "skipped: the results are random numbers");
    c->verdict = SKIPPED;
}

static void case_run(test_case *c, int runs)
{
    if (ig_scope_begin() != IG_OK)
        return;
    ig_onnx *m = ig_onnx_load(c->path);
    c->op = heap_string(!m                           ? "(not loaded)"
                        : ig_onnx_node_count(m) == 1 ? ig_onnx_node_op(m, 0)
                                                     : "(several)");
    if (m) {
        c->verdict = sets_run(c, m, runs);
        random_forgive(c);
    } else {
        library_error(&c->why);
        c->verdict = FAILED;
    }
    ig_onnx_free(m);
    ig_scope_end();
}

/* ---- the result ----------------------------------------------------------------------------- */

static int by_op(const void *a, const void *b)
{
    const test_case *x = a, *y = b;
    const int order = strcmp(x->op, y->op);
    return order ? order : strcmp(x->name, y->name);
}

/* A line for each op with a failure: how many passed and failed. */
static void table_print(const testing *t)
{
    str out = {0};
    for (int i = 0, next; i < t->n; i = next) {
        int counts[VERDICTS] = {0};
        for (next = i; next < t->n && strcmp(t->cases[next].op, t->cases[i].op) == 0; next++)
            counts[t->cases[next].verdict]++;
        if (counts[FAILED])
            str_printf(&out, "%-40s %5d passed %5d failed\n", t->cases[i].op, counts[PASSED],
                       counts[FAILED]);
    }
    text_print(stdout, out.n ? out.s : "");
    str_free(&out);
}

static void json_print(const testing *t)
{
    static const char *const words[] = {"passed", "failed", "skipped"};
    str out = {0};
    str_json(&out, "{schema: 1, passed: %d, failed: %d, skipped: %d, cases: [", t->counts[PASSED],
             t->counts[FAILED], t->counts[SKIPPED]);
    for (int i = 0; i < t->n; i++) {
        const test_case *one = &t->cases[i];
        str_json(&out, "\n {name: %s, op: %s, result: %s", one->name, one->op, words[one->verdict]);
        if (one->why.n)
            str_json(&out, "reason: %s", one->why.s);
        str_json(&out, "}");
    }
    str_json(&out, "]}\n");
    text_print(stdout, out.s);
    str_free(&out);
}

static int cases_run(const command *c, testing *t)
{
    progress bar;
    progress_begin(&bar, t->quiet);
    for (int i = 0; i < t->n; i++) {
        test_case *one = &t->cases[i];
        progress_show(&bar, one->name, (double)i / t->n, "");
        case_run(one, t->again ? 2 : 1);
        t->counts[one->verdict]++;
        if (one->verdict != PASSED && !t->json) {
            progress_clear();
            text_printf(stdout, "%s: %s\n", one->name, one->why.n ? one->why.s : "?");
        }
        if (interrupt_asked())
            return EXIT_INTERRUPTED;
    }
    progress_clear();
    qsort(t->cases, (size_t)t->n, sizeof *t->cases, by_op);
    if (t->json) {
        json_print(t);
    } else {
        table_print(t);
        text_printf(stdout, "%d passed, %d failed, %d skipped\n", t->counts[PASSED],
                    t->counts[FAILED], t->counts[SKIPPED]);
    }
    if (!t->n)
        say(c, "no test folder was found");
    return t->n && !t->counts[FAILED] ? EXIT_FINE : EXIT_FAILED;
}

int onnx_test(int argc, char **argv)
{
    testing t = {0};
    const option options[] = {
        {"--name", 'n', "PATTERN", option_text, &t.pattern,
         "only folders whose name contains this, or matches it, as *conv*"},
        FLAG("--again", &t.again, "runs each model a second time, by its plan"),
        FLAG("--json", &t.json, "prints JSON, schema 1"),
        FLAG("--quiet", &t.quiet, "shows no progress"),
        ENGINE_OPTIONS(t.engine),
        {0}};
    const command c = {
        "onnx test", "[options] DIR...",
        "Runs the models in test folders of ONNX, and compares their results with those in the\n"
        "folders: floats within the bounds of ONNX (1e-3 relative, 1e-7 absolute, unless "
        "data.json\n"
        "states others), all else exactly. The package onnx of Python contains such folders, in\n"
        "onnx/backend/test/data.\n\n"
        "  ingot onnx test data/node\n"
        "  ingot onnx test data/node --name reshape --device opencl:0",
        options};
    int code = options_read(&c, &argc, argv);
    if (code < 0 && argc < 1) {
        say(&c, "a folder is missing; see ingot onnx test --help");
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = engine_apply(&c, &t.engine);
    if (code < 0) {
        interrupt_cancel();
        for (int i = 0; i < argc; i++)
            folder_walk(&t, argv[i], 0);
        code = cases_run(&c, &t);
    }
    for (int i = 0; i < t.n; i++) {
        free(t.cases[i].path);
        free(t.cases[i].name);
        free(t.cases[i].op);
        str_free(&t.cases[i].why);
    }
    free(t.cases);
    return code;
}
