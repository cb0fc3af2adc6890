/* ingot eval: the array calculator. Reads a program from the command line, a file, standard input
 * or a prompt; prints, times, explains or writes its last value. */
#include "bench/timing.h"
#include "calc/interactive.h"
#include "cli.h"
#include "progress.h"

#include "base/team.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    bool full, json, time, explain, verify, quiet;
    const char *file, *output;
    engine_options engine;
} settings;

/* One run of the verb. */
typedef struct session {
    const command *command;
    const settings *set;
    calc *calc;
    const char *source_name; /* name of the file, or NULL */
} session;

static int report(const session *s)
{
    const int code = exit_for((int)calc_mistake(s->calc)->code);
    str t = {0};
    if (code == EXIT_INTERRUPTED)
        str_printf(&t, "%s\n", calc_mistake(s->calc)->message.s);
    else
        calc_describe(s->calc, &t, s->source_name, color_for(stderr));
    fflush(stdout);
    progress_clear();
    text_printf(stderr, "ingot %s: %s", s->command->name, t.s);
    str_free(&t);
    return code;
}

/* ---- timing --------------------------------------------------------------------------------- */

/* In a team, rank 0 decides for all. */
static bool runs_again(const timing *t)
{
    bool again = timing_wants(t);
    return team_broadcast(TEAM_MAIN, 0, &again, sizeof again) == IG_OK && again;
}

/* Repeats the last statement with a new graph each time. v gets the value of the last run. */
static bool time_again(calc *c, value *v, timing *t)
{
    bool fine = true;
    *t = timing_begin();
    calc_mute(c, true);
    while (fine && runs_again(t)) {
        const double begin = clock_s();
        fine = calc_again(c, v) && calc_settle(c, v, true) && ig_synchronize(NULL) == IG_OK;
        timing_add(t, clock_s() - begin);
    }
    calc_mute(c, false);
    return fine;
}

/* ---- using the value ------------------------------------------------------------------------ */

/* The arrays of v, *n of them; release the list with free. */
static ig_array **arrays_of(const value *v, int *n)
{
    *n = value_collect(v, NULL, 0);
    ig_array **arrays = heap_get(sizeof *arrays * (size_t)*n);
    value_collect(v, arrays, *n);
    return arrays;
}

/* Adds the schedule. JSON is left open, without its closing brace. */
static bool explain(const session *s, const value *v, str *t)
{
    int n;
    ig_array **arrays = arrays_of(v, &n);
    const bool explained = v->kind == V_STRING; /* by save */
    char *schedule = explained ? NULL : ig_explain(arrays, n);
    const char *shown = explained ? v->u.s : schedule;
    free(arrays);
    if (!shown)
        return false;
    if (s->set->json) {
        str_json(t, "{schema: 1, explain: %s", shown);
    } else {
        str_puts(t, shown);
        while (t->n && t->s[t->n - 1] == '\n')
            t->s[--t->n] = 0;
    }
    ig_free(schedule);
    return true;
}

static void json_report(str *t, const ig_verify_report *r)
{
    str_json(t,
             "{schema: 1, verify: {device: %s, operations: %d, failed: %d, elements: %lld, "
             "worst_ulp: %.6g, worst_relative: %.6g",
             ig_device(), r->nodes, r->failed, (long long)r->elements, r->worst_ulp,
             r->worst_relative);
    if (isfinite(r->worst_bound))
        str_json(t, "worst_bound: %.6g", r->worst_bound);
    else
        str_json(t, "worst_bound: %s", isnan(r->worst_bound) ? "nan" : "inf");
    if (r->failed)
        str_json(t, "first_failure: {operation: %d, op: %s, fused: %hhd, text: %s}}", r->node,
                 r->op, r->fused, r->text);
    else
        str_json(t, "first_failure: null}");
}

/* Compares the value with f64 and adds the report. *wrong: it differs too much. JSON is left open. */
static bool verify(const session *s, const value *v, str *t, bool *wrong)
{
    int n;
    ig_array **arrays = arrays_of(v, &n);
    ig_verify_report r = {0};
    const ig_status status = ig_verify(arrays, n, &r);
    free(arrays);
    if (status != IG_OK)
        return false;
    *wrong = r.failed > 0;
    if (s->set->json) {
        json_report(t, &r);
        return true;
    }
    if (r.failed)
        str_printf(t, "FAILED %s\n", r.text);
    str_printf(t, "%d operations, %d failed; worst: %.2f ulp, %.1e relative, %.2f of the bound",
               r.nodes, r.failed, r.worst_ulp, r.worst_relative, r.worst_bound);
    return true;
}

/* Adds the value. JSON is left open. */
static bool show(const session *s, const value *v, str *t)
{
    if (!s->set->json)
        return v->kind == V_NONE || print_value(t, v, s->set->full);
    str_json(t, "{schema: 1");
    return json_value(t, v);
}

/* Copies a file to standard output. */
static bool copy_to_stdout(const char *path)
{
    char block[65536];
    size_t n;
    FILE *file = fopen(path, "rb");
    bool fine = file != NULL;
    while (fine && (n = fread(block, 1, sizeof block, file)) > 0)
        fine = fwrite(block, 1, n, stdout) == n;
    fine = fine && !ferror(file) && fflush(stdout) == 0;
    if (file)
        fclose(file);
    return fine;
}

/* For -o -: writes .npy, via a temporary file. */
static int write_stdout(const session *s, const value *v)
{
    const char *folder = getenv("TMPDIR");
    str path = {0};
    str_printf(&path, "%s/ingot-XXXXXX", folder && *folder ? folder : "/tmp");
    int file = mkstemp(path.s), code = EXIT_FINE;
    if (file < 0) {
        say(s->command, "-o -: a temporary file cannot be made in %s: %s",
            folder && *folder ? folder : "/tmp", strerror(errno));
        code = EXIT_INPUT;
    } else {
        close(file);
        if (file_save(s->calc, path.s, v) != IG_OK) {
            code = fail_library(s->command);
        } else if (!copy_to_stdout(path.s)) {
            say(s->command, "-o -: standard output cannot be written: %s", strerror(errno));
            code = EXIT_INPUT;
        }
        unlink(path.s);
    }
    str_free(&path);
    return code;
}

static int write_output(const session *s, const value *v)
{
    if (v->kind == V_NONE || (v->kind == V_TUPLE && value_collect(v, NULL, 0) > 0)) {
        say(s->command, "-o writes one array, and the last value is %s%s", value_kind_name(v->kind),
            v->kind == V_TUPLE ? "; choose an item: (...)[0]" : "");
        return EXIT_FAILED;
    }
    if (strcmp(s->set->output, "-") == 0)
        return write_stdout(s, v);
    return file_save(s->calc, s->set->output, v) == IG_OK ? EXIT_FINE : fail_library(s->command);
}

/* Explains or verifies the last value, which is still lazy; then computes, times, prints and writes it. */
static int finish(const session *s, value *v)
{
    const settings *set = s->set;
    const bool asks = set->explain || set->verify; /* need the lazy value */
    const bool print = !asks && !set->quiet && !(set->output && !set->json);
    timing timed = {0};
    str t = {0};
    int code = EXIT_FINE;
    bool wrong = false;
    if (!calc_settle(s->calc, v, false))
        return report(s);
    bool fine = set->explain ? explain(s, v, &t) : !set->verify || verify(s, v, &t, &wrong);
    /* For an array that is read block by block, only the parts that are shown are computed. */
    const bool computes = !asks && !(print && !set->json && !set->full && v->kind == V_ARRAY &&
                                     ig_reads_blocks(v->u.array));
    if (fine && ((computes && !calc_settle(s->calc, v, true)) ||
                 (set->time && !time_again(s->calc, v, &timed)))) {
        timing_free(&timed);
        str_free(&t);
        return report(s);
    }
    fine = fine && (!print || show(s, v, &t));
    if (set->json && t.n) {
        if (timed.n)
            timing_json(&t, &timed);
        if (!asks && ig_fallback_count()) {
            str_json(&t, "fallback:");
            fallback_text(&t, true);
        }
        str_json(&t, "}");
    }
    if (!fine)
        code = fail_library(s->command);
    else if (set->output)
        code = write_output(s, v);
    if (code == EXIT_FINE && t.n) {
        text_print(stdout, t.s);
        putchar('\n');
    }
    if (code == EXIT_FINE && set->time && !(set->json && t.n))
        timing_say(NULL, &timed);
    timing_free(&timed);
    str_free(&t);
    return code == EXIT_FINE && wrong ? EXIT_FAILED : code;
}

static int run_program(const session *s, const char *source)
{
    value v = {0};
    if (!calc_parse(s->calc, source))
        return report(s);
    if (!calc_more(s->calc)) {
        say(s->command, "there is nothing to compute in the program");
        return EXIT_USAGE;
    }
    while (calc_more(s->calc))
        if (!calc_step(s->calc, &v))
            return report(s);
    return finish(s, &v);
}

/* ---- the prompt ----------------------------------------------------------------------------- */

static void show_line(const void *ctx, value *v) { finish(ctx, v); }

static void report_line(const void *ctx) { report(ctx); }

/* ---- reading the program --------------------------------------------------------------------- */

static int run_file(session *s, const char *path)
{
    size_t n;
    char *source = str_read_file(path, SOURCE_MOST_BYTES, &n);
    int code = EXIT_INPUT;
    if (!source)
        say(s->command, "%s: %s", path,
            errno == EFBIG ? "too long for a program" : strerror(errno));
    else if (strlen(source) != n)
        say(s->command, "%s: not a text: it has a zero byte", path);
    else if (strcmp(path, "-") == 0 && source[strspn(source, " \t\r\n")] == '\0') {
        say(s->command,
            "an expression is missing; write one, -f FILE, or send it to standard input");
        code = EXIT_USAGE;
    } else {
        s->source_name = strcmp(path, "-") == 0 ? NULL : path;
        code = run_program(s, source);
    }
    free(source);
    return code;
}

/* Runs several words as one program, as if they were quoted: ingot eval 5 - 3. */
static int run_words(const session *s, int argc, char **argv)
{
    str source = {0};
    for (int i = 0; i < argc; i++)
        str_printf(&source, "%s%s", i ? " " : "", argv[i]);
    int code = source.n > SOURCE_MOST_BYTES ? EXIT_USAGE : run_program(s, source.s);
    str_free(&source);
    return code;
}

static int run_session(session *s, int argc, char **argv)
{
    const settings *set = s->set;
    bool standard = argc == 1 && strcmp(argv[0], "-") == 0;
    if (set->file && argc > 0) {
        say(s->command, "give an expression or -f, not both");
        return EXIT_USAGE;
    }
    if (argc > 0 && !standard)
        return run_words(s, argc, argv);
    if (!set->file && !standard && isatty(STDIN_FILENO)) {
        const interactive prompt = {s->calc, show_line, report_line, s};
        interactive_run(&prompt);
        return EXIT_FINE;
    }
    return run_file(s, set->file ? set->file : "-");
}

/* ---- progress of arrays that are evaluated block by block ------------------------------------ */

typedef struct blocks_bar {
    progress bar;
    uint64_t first, before; /* bytes at the first and the last call of an evaluation */
} blocks_bar;

static void show_blocks(void *context, uint64_t done, uint64_t total)
{
    blocks_bar *b = context;
    char note[64] = "";
    const double now = clock_s(), share = total ? (double)done / (double)total : 1;
    if (done < b->before || !b->before) { /* a new evaluation, which may continue a saved one */
        b->first = done;
        b->bar.begin_s = now;
        b->bar.begin_share = share;
    }
    b->before = done < total ? done : 0;
    if (done > b->first && now > b->bar.begin_s)
        snprintf(note, sizeof note, "%.0f MB/s",
                 (double)(done - b->first) / (now - b->bar.begin_s) / 1e6);
    progress_show(&b->bar, "reading", share, note);
    if (done >= total)
        progress_clear();
}

int verb_eval(int argc, char **argv)
{
    settings set = {0};
    const option options[] = {
        {"--file", 'f', "FILE", option_text, &set.file, "reads the program from FILE"},
        {"--output", 'o', "FILE", option_text, &set.output,
         "writes the last value: .npy, .npz or .safetensors; - is stdout"},
        FLAG("--full", &set.full, "prints all elements of long arrays"),
        FLAG("--json", &set.json, "prints JSON, schema 1"),
        FLAG("--time", &set.time, "repeats the last statement and prints the median time"),
        FLAG("--explain", &set.explain, "prints the schedule instead of the value"),
        FLAG("--verify", &set.verify,
             "checks each operation against f64 instead of printing the value"),
        FLAG("--quiet", &set.quiet, "does not print the value"),
        ENGINE_OPTIONS(set.engine),
        {0}};
    const command c = {
        "eval", "[options] [EXPRESSION | -f FILE | -]",
        "The array calculator. Statements are separated by ';' or new lines. The last value is\n"
        "printed as NumPy prints it. Without an expression, it is read from\n"
        "standard input; a terminal gets a prompt.\n\n"
        "  ingot eval 'softmax([1.0, 2.0, 3.0])'\n"
        "  ingot eval 'x = 2.0; grad(x**3, x)'\n"
        "  ingot eval 'd = load(\"data.npz\"); mean(d[\"x\"], axis=0)' -o mean.npy\n"
        "  ingot eval 'x = arange(8.0); kernel(\"k.cu\", \"cube\", n=8, x=x, y=8)'\n\n"
        "Methods and modules work too: x.reshape(3, 4), np.sum(x). load and save choose the "
        "format\n"
        "by the ending: .npz and .safetensors hold named arrays, which save(\"f.npz\", x=a, y=b)\n"
        "writes and load(\"f.npz\")[\"x\"] reads; .csv, .tsv and .txt are tables; load also reads\n"
        "images (PNG, JPEG, BMP, PNM, TIFF); any other file holds one array, as .npy.\n\n"
        "kernel(FILE, NAME, ...) runs a kernel in CUDA C. Its other arguments are the kernel's\n"
        "parameters, by name or in order: numbers and arrays. A parameter that the kernel writes "
        "to\n"
        "takes a shape (8, (2, 4), x.shape), which starts as zeros, or an array to start from.\n"
        "block=256 or (16, 16) is the size of a block. Without grid=... each element of the first\n"
        "result gets a thread. gradient=\"NAME\" names the kernel that grad uses. shared=BYTES "
        "and\n"
        "defines=\"N=4\" are passed on.",
        options};
    int code = options_read(&c, &argc, argv);
    if (code < 0)
        code = engine_apply(&c, &set.engine);
    if (code >= 0)
        return code;
    const bool prompt = argc == 0 && !set.file && isatty(STDIN_FILENO);
    const bool data_on_stdout = set.output && strcmp(set.output, "-") == 0;
    if (data_on_stdout && (set.json || set.explain || set.verify || isatty(STDOUT_FILENO))) {
        say(&c, "-o - writes bytes to standard output: %s",
            isatty(STDOUT_FILENO) ? "send it to a file or a pipe, not to a terminal"
                                  : "--json, --explain and --verify write there too");
        return EXIT_USAGE;
    }
    const calc_options calc_set = {.explains = set.explain,
                                   .eager = set.time || prompt,
                                   .last_lazy = !prompt,
                                   .history = prompt,
                                   .full = set.full,
                                   .stopped = prompt ? interactive_stopped : interrupt_asked,
                                   .out = data_on_stdout ? stderr : stdout};
    blocks_bar bar = {0};
    if (!set.quiet && ig_team_rank() == 0) {
        progress_begin(&bar.bar, false);
        ig_set_progress(show_blocks, &bar);
    }
    if (!prompt && (argc > 1 || set.file || (argc == 1 && strcmp(argv[0], "-") != 0)))
        interrupt_cancel(); /* not while it waits for standard input */
    session s = {&c, &set, calc_new(&calc_set), NULL};
    code = run_session(&s, argc, argv);
    calc_free(s.calc);
    return code;
}
