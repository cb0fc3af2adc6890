/* ingot verify: checks the devices of this machine. Runs every op x dtype x layout (verify/) and reports the largest
 * errors by class. For the first failing case of an op it prints a command that reproduces it. With --graphs it runs
 * random graphs instead (verify/graphs.h). */
#include "calc/calc.h"
#include "cli.h"
#include "support.h"
#include "progress.h"
#include "verify/graphs.h"
#include "verify/model.h"
#include "verify/session.h"
#include "verify/verify.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The work of the session, for callbacks that ask whether to stop. */
static work *running;

static bool stop_asked(void) { return interrupt_asked() || (running && work_stopped(running)); }

/* ---- options -------------------------------------------------------------------------------- */

/* Adds the device of that name; if it is NULL, all default devices. */
static void take_devices(session *s, const char *name)
{
    for (int i = 0; i < ig_device_count() && s->n_device < DEVICES_MOST; i++) {
        ig_device_info d = {0};
        if (ig_device_get(i, &d) == IG_OK &&
            (name ? d.runs_arrays && strcmp(d.name, name) == 0 : device_by_default(&d)))
            s->device[s->n_device++] = d;
    }
}

/* Prints the library's message about a device that cannot be used, and suggests a similar name. */
static int no_device(const session *s, const char *name)
{
    str hint = {0};
    nearest search = nearest_to(name);
    ig_status code = IG_OK;
    const char *why = ig_error(&code);
    ig_device_info d = {0};
    for (int i = 0; code == IG_ERR_DEVICE && i < ig_device_count(); i++)
        if (ig_device_get(i, &d) == IG_OK && d.runs_arrays)
            nearest_offer(&search, d.name);
    str_did_you_mean(&hint, &search);
    say(s->command, "%s%s", why ? why : "that device computes nothing", hint.s ? hint.s : "");
    str_free(&hint);
    return EXIT_ABSENT;
}

/* The first device in the list is the reference. */
static int split_reference(session *s)
{
    if (s->n_device < 2) {
        say(s->command, "--same compares devices: name at least two, such as cpu,%s",
            s->n_device && strcmp(s->device[0].name, "cpu") != 0 ? s->device[0].name : "opencl:0");
        return EXIT_USAGE;
    }
    s->reference = s->device[0];
    s->n_device--;
    memmove(s->device, s->device + 1, (size_t)s->n_device * sizeof *s->device);
    return -1;
}

static int read_devices(session *s)
{
    int code = -1;
    const char *names = s->set->same ? s->set->same : s->set->devices;
    if (!names) {
        take_devices(s, NULL);
        return code;
    }
    char *list = heap_string(names), *rest = list;
    for (char *word; code < 0 && (word = strsep(&rest, ","));) {
        const int before = s->n_device;
        if (ig_set_device(word) == IG_OK)
            take_devices(s, ig_device());
        if (s->n_device == before)
            code = no_device(s, word);
    }
    free(list);
    return code < 0 && s->set->same ? split_reference(s) : code;
}

static int no_dtype(const session *s, const char *name)
{
    str hint = {0};
    nearest search = nearest_to(name);
    for (ig_dtype d = IG_BOOL; d <= IG_F64; d++) {
        nearest_offer(&search, ig_dtype_name(d));
        nearest_offer(&search, ig_dtype_std_name(d));
    }
    str_did_you_mean(&hint, &search);
    say(s->command, "unknown dtype '%s'%s", name, hint.s ? hint.s : "");
    str_free(&hint);
    return EXIT_USAGE;
}

static int read_dtypes(session *s)
{
    int code = -1;
    char *list = s->set->dtype ? heap_string(s->set->dtype) : NULL, *rest = list;
    for (char *word; code < 0 && rest && (word = strsep(&rest, ","));) {
        const ig_dtype d = ig_dtype_parse(word);
        s->scope.dtypes |= d ? 1u << d : 0;
        if (!d) {
            code = no_dtype(s, word);
        } else if (d > IG_F64) {
            say(s->command,
                "there are no cases of %s: complex numbers are verified in --graphs only",
                ig_dtype_name(d));
            code = EXIT_USAGE;
        }
    }
    free(list);
    return code;
}

/* The ops in a list of names; all ops without a list. */
static int read_ops(session *s)
{
    const char *bad = NULL;
    s->op = heap_get((size_t)ig_op_count() * sizeof *s->op);
    for (int i = 0; i < ig_op_count() && !s->set->op; i++)
        s->op[s->n_op++] = ig_op_at(i);
    char *list = s->set->op ? heap_string(s->set->op) : NULL, *rest = list;
    for (char *word; !bad && rest && (word = strsep(&rest, ","));) {
        const ig_op *op = ig_op_find(word);
        bool known = false;
        for (int k = 0; k < s->n_op && op; k++)
            known = known || s->op[k] == op;
        if (op && !known)
            s->op[s->n_op++] = op;
        bad = op ? NULL : word;
    }
    if (bad) {
        str t = {0};
        ops_nearest(&t, bad);
        say(s->command, "%s", t.s);
        str_free(&t);
    }
    free(list);
    return bad ? EXIT_USAGE : -1;
}

static int read_scope(session *s)
{
    const settings *set = s->set;
    s->scope = (verify_scope){
        .name = set->name, .quick = set->quick, .seed = set->seed, .stop = stop_asked};
    const int code = read_dtypes(s);
    if (code >= 0)
        return code;
    if (set->name && !set->graphs &&
        (!set->op || strchr(set->op, ',') || !set->dtype || strchr(set->dtype, ','))) {
        say(s->command, "--case names a case of one op and dtype: give --op and --dtype, too");
        return EXIT_USAGE;
    }
    return read_ops(s);
}

/* ---- running -------------------------------------------------------------------------------- */

/* True if the device may flush subnormal numbers and does. Some devices report that they may, but do not flush. */
static bool device_flushes(const ig_device_info *d)
{
    const float small = 0x1p-130F;
    float got = 0;
    if (!d->flushes_subnormals)
        return false;
    ig_scope_begin();
    ig_array *x = ig_from_data(&small, IG_SHAPE(1), IG_F32);
    const bool kept = ig_read(ig_multiply(ig_add(x, x), ig_float(1)), &got, sizeof got) == IG_OK &&
                      got == 2 * small;
    ig_error(NULL);
    ig_scope_end();
    return !kept;
}

/* Makes d the current device. */
static bool begin_device(session *s, int d)
{
    if (s->opened == d)
        return true;
    if (ig_set_device(s->device[d].name) != IG_OK)
        return false;
    s->opened = d;
    s->scope.reference = s->reference.name;
    s->scope.flushes = device_flushes(&s->device[d]);
    s->scope.batches = strcmp(s->device[d].kind, "gpu") == 0;
    return true;
}

static bool unit_name(const void *context, int unit, char name[UNIT_NAME])
{
    const session *s = context;
    const ig_dtype d = (ig_dtype)(unit % DTYPES);
    if (s->set->graphs) {
        graphs_name(s->set->graphs, s->set->name, unit, name);
        return true;
    }
    snprintf(name, UNIT_NAME, "%s %s", s->op[unit / DTYPES]->name, ig_dtype_name(d));
    return d >= IG_BOOL && (s->scope.dtypes == 0 || dtype_in(d, s->scope.dtypes));
}

static graphs_scope scope_of_graphs(const session *s, int d)
{
    static char list[256];
    const char *device = s->device[d].name;
    snprintf(list, sizeof list, "%s,%s", device, strcmp(device, "cpu") == 0 ? "gang" : "cpu");
    return (graphs_scope){.seed = s->set->seed,
                          .device = device,
                          .reference = s->reference.name,
                          .list = list,
                          .math = s->set->engine.math,
                          .flushes = s->scope.flushes,
                          .blocks = s->set->blocks,
                          .stop = stop_asked};
}

static bool check_graphs(session *s, int d, int unit, unit_report *r)
{
    const graphs_scope scope = scope_of_graphs(s, d);
    int64_t end, i = graphs_first(s->set->graphs, s->set->name, unit, &end);
    for (; i < end && !stop_asked(); i++) {
        char name[CASE_NAME];
        snprintf(name, sizeof name, "%lld", (long long)i);
        work_case(running, d, unit, name);
        graphs_check(&scope, i, r);
    }
    return !stop_asked();
}

static bool check_unit(void *context, int d, int unit, unit_report *r)
{
    session *s = context;
    if (!begin_device(s, d)) {
        const char *text = ig_error(NULL);
        r->seen = (tally){.cases = 1, .failed = 1};
        r->first.text = heap_string(text ? text : "the device cannot be used");
        return true;
    }
    if (s->set->graphs)
        return check_graphs(s, d, unit, r);
    op_report op;
    verify_scope scope = s->scope;
    scope.dtypes = BIT(unit % DTYPES);
    const bool whole = verify_op(s->op[unit / DTYPES], &scope, &op) && !stop_asked();
    *r = (unit_report){.seen = verify_total(&op), .first = op.first};
    return whole;
}

/* Opens the devices in one of several processes, which share the cores. */
static bool open_devices(void *context)
{
    session *s = context;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int share = (int)(cores / s->set->jobs);
    return (s->set->engine.threads || ig_set_threads(share > 1 ? share : 1) == IG_OK) &&
           read_devices(s) < 0;
}

static bool show_progress(void *context, int d, double share, int unit)
{
    session *s = context;
    char name[UNIT_NAME] = "";
    if (unit >= 0)
        unit_name(s, unit, name);
    progress_show(&s->bar, s->device[d].name, share, name);
    return interrupt_asked();
}

enum { WEIGHTS = 6 };

/* A rough order of the units' time: contractions have the largest kernels, and composites the most. */
static int weight(const ig_op *op)
{
    static const char *const heavy[WEIGHTS] = {"move",   "index",     "elementwise",
                                               "reduce", "composite", "contract"};
    for (int i = 0; i < WEIGHTS; i++)
        if (strcmp(op->cls, heavy[i]) == 0)
            return i;
    return 0;
}

/* A single process checks units in the order of ops and dtypes. Several processes start with the longest units, so that
 * none runs alone at the end. Among units of equal weight, float dtypes come first, because they may have gradients. */
static void order_units(session *s)
{
    int n = 0;
    if (s->set->graphs || s->set->jobs == 1)
        return;
    s->order = heap_get((size_t)s->n_unit * sizeof *s->order);
    for (int rank = WEIGHTS - 1; rank >= 0; rank--)
        for (int d = DTYPES - 1; d >= 0; d--)
            for (int k = 0; k < s->n_op; k++)
                if (weight(s->op[k]) == rank)
                    s->order[n++] = k * DTYPES + d;
}

/* Starts the worker processes before this process opens a driver. */
static int start_work(session *s)
{
    s->n_unit = s->set->graphs ? graphs_units(s->set->graphs, s->set->name) : s->n_op * DTYPES;
    order_units(s);
    const work_options o = {.n_unit = s->n_unit,
                            .most_devices = DEVICES_MOST,
                            .most_failed = s->set->graphs ? GRAPHS_FAILED_MOST : 0,
                            .order = s->order,
                            .name = unit_name,
                            .jobs = s->set->jobs,
                            .record = s->set->record,
                            .open = open_devices,
                            .check = check_unit,
                            .context = s};
    (s->set->graphs ? interrupt_cancel : interrupt_watch)(); /* a graph may take long */
    const bool fine = work_new(&o, &running);
    s->work = running;
    if (fine)
        return -1;
    say(s->command, "there is no memory for the work, or no process can be started");
    return EXIT_FAILED;
}

/* Everything that results depend on, except op and dtype: device, reference, math, problems, seed. */
static void str_key(const session *s, int d, str *t)
{
    str_printf(t, "%s/%s/%s/%s%s%s/%llu", s->device[d].name,
               s->reference.name ? s->reference.name : "exact", math_name(),
               s->set->graphs  ? "graphs"
               : s->set->quick ? "quick"
                               : "full",
               s->set->name ? "/" : "", s->set->name ? s->set->name : "",
               (unsigned long long)s->set->seed);
}

/* Merges the units of op k on device d into one report. False if no unit was started. */
static bool take_report(const session *s, int d, int k, op_report *r)
{
    bool begun = false;
    *r = (op_report){.op = s->op[k]};
    for (ig_dtype t = IG_BOOL; t <= IG_F64; t++) {
        unit_report u;
        begun = work_report(s->work, d, k * DTYPES + (int)t, &u) || begun;
        r->by_dtype[t] = u.seen;
        if (!u.first.text || r->first.text)
            continue;
        r->first = u.first;
        r->first.dtype = t;
        r->first.text = heap_string(u.first.text);
    }
    return begun;
}

/* Collects the reports of all ops; after an interruption, up to the last op that was started. */
static void take_reports(session *s)
{
    const int n = s->n_device * s->n_op;
    s->report = heap_get((size_t)n * sizeof *s->report);
    for (int i = 0; i < n; i++) {
        const bool begun = take_report(s, i / s->n_op, i % s->n_op, &s->report[i]);
        if (begun || !s->interrupted)
            s->n_report = i + 1;
    }
}

static int run_all(session *s)
{
    const double begin = clock_s();
    str key[DEVICES_MOST] = {{0}};
    char *keys[DEVICES_MOST];
    const char *wrong = NULL;
    for (int d = 0; d < s->n_device; d++) {
        str_key(s, d, &key[d]);
        keys[d] = key[d].s;
    }
    progress_begin(&s->bar, s->set->json);
    s->interrupted = !work_run(s->work, keys, s->n_device, show_progress, &wrong);
    progress_clear();
    for (int d = 0; d < s->n_device; d++)
        str_free(&key[d]);
    if (wrong) {
        say(s->command, "%s: %s", s->set->record, wrong);
        return EXIT_INPUT;
    }
    if (!s->set->graphs)
        take_reports(s);
    s->seconds = clock_s() - begin;
    if (s->set->jobs > 1 && s->n_device)
        begin_device(s, s->n_device - 1); /* the report describes this device */
    const tally all = s->set->graphs ? graphs_total(s->work, s->n_device) : session_total(s);
    if (s->set->name && !s->set->graphs && all.cases == 0 && !s->interrupted) {
        say(s->command, "%s %s has no case '%s'%s", s->set->op, s->set->dtype, s->set->name,
            s->set->quick ? "" : "; was it one of --quick?");
        return EXIT_USAGE;
    }
    return all.failed ? EXIT_FAILED : s->interrupted ? EXIT_INTERRUPTED : EXIT_FINE;
}

/* ---- the verb ------------------------------------------------------------------------------- */

static void session_free(session *s)
{
    for (int i = 0; i < s->n_report; i++)
        verify_free(&s->report[i]);
    running = NULL;
    work_free(s->work);
    free(s->report);
    free(s->order);
    free(s->op);
}

/* Verifies a text model on the session's devices. */
static int verify_text(session *s)
{
    const char *names[sizeof s->device / sizeof *s->device];
    const int code = read_devices(s);
    for (int i = 0; i < s->n_device; i++)
        names[i] = s->device[i].name;
    return code >= 0 ? code
                     : verify_model(s->command, s->set->model, names, s->n_device, s->set->json);
}

static int verify(const command *c, const settings *set)
{
    session s = {.command = c, .set = set, .opened = -1};
    if (set->model)
        return verify_text(&s);
    int code = read_scope(&s);
    if (code < 0 && !set->list)
        code = start_work(&s);
    if (code < 0)
        code = read_devices(&s);
    if (code < 0 && set->list) {
        const graphs_scope scope = scope_of_graphs(&s, 0);
        graphs_list(&scope, set->graphs);
        code = EXIT_FINE;
    } else if (code < 0) {
        code = run_all(&s);
        if (code != EXIT_USAGE && code != EXIT_INPUT)
            (set->graphs ? session_show_graphs : set->json ? session_show_json : session_show)(&s);
    }
    session_free(&s);
    return code;
}

static int check_settings(const command *c, const settings *set)
{
    const bool parallel = set->jobs > 1;
    const char *other = set->op      ? "--op"
                        : set->dtype ? "--dtype"
                        : set->quick ? "--quick"
                        : set->model ? "--model"
                                     : NULL;
    if (set->graphs && other) {
        say(c, "random graphs have all ops and dtypes; leave %s out", other);
        return EXIT_USAGE;
    }
    if ((set->blocks || set->list) && !set->graphs) {
        say(c, "%s is for random graphs; add --graphs N", set->list ? "--list" : "--blocks");
        return EXIT_USAGE;
    }
    const char *wrong = parallel && (set->engine.trace || interrupt_traced())
                            ? "a timeline is of one process"
                        : set->jobs > JOBS_MOST                   ? "--jobs takes 256 at most"
                        : set->model && (parallel || set->record) ? "a model is checked as a whole"
                                                                  : NULL;
    if (wrong)
        say(c, "%s%s", wrong, set->jobs > JOBS_MOST ? "" : "; leave --jobs and --record out");
    return wrong ? EXIT_USAGE : -1;
}

int verb_verify(int argc, char **argv)
{
    settings set = {.jobs = 1};
    const option options[] = {
        {"--device", 0, "DEVICE", option_text, &set.devices,
         "these, with commas between them (all that compute, except OpenCL on the CPU)"},
        {"--same", 0, "DEVICES", option_text, &set.same,
         "compares bit by bit with the first of these devices instead: cpu,opencl:0"},
        {"--model", 0, "DIR", option_text, &set.model,
         "a text model instead of ops, against f64 on the CPU"},
        FALLBACK_OPTION(set.engine),
        {"--op", 0, "OP", option_text, &set.op, "one op, or several with commas between them"},
        {"--dtype", 0, "DTYPE", option_text, &set.dtype, "these dtypes: f32, or f32,i32"},
        {"--case", 0, "CASE", option_text, &set.name, "one case, by the name that a failure has"},
        FLAG("--quick", &set.quick, "fewer and smaller cases: some seconds"),
        {"--graphs", 0, "N", option_count, &set.graphs,
         "N random graphs instead of ops; a failing one is shown as a command"},
        FLAG("--blocks", &set.blocks, "with --graphs: also reads the inputs in small blocks"),
        FLAG("--list", &set.list, "with --graphs: shows what the graphs have, and checks nothing"),
        {"--seed", 0, "N", option_seed, &set.seed, "other random numbers (0)"},
        {"--jobs", 'j', "N", option_threads, &set.jobs,
         "processes that check at the same time (1)"},
        {"--record", 0, "FILE", option_text, &set.record,
         "adds what was seen to FILE, and checks nothing that passed there before"},
        FLAG("--json", &set.json, "as JSON, schema 1"),
        {"--threads", 0, "N", option_threads, &set.engine.threads, "threads of the CPU device"},
        {"--memory-limit", 0, "SIZE", option_memory, &set.engine.memory_limit,
         "bytes that arrays may hold (512MiB, 4GiB)"},
        MATH_OPTION(set.engine),
        {"--trace", 0, "FILE", option_text, &set.engine.trace,
         "writes a timeline for ui.perfetto.dev"},
        {0}};
    const command c = {
        "verify", "[options]",
        "Computes every op, in every dtype and memory layout that it takes, on the "
        "devices of this\nmachine, and holds each result against an exact one or its "
        "bound. Exit code 1: one is wrong.\n\n"
        "--same evaluates the cases and their gradients on several devices. Their bits must be "
        "those\n"
        "of the first one; contractions add in the CPU's order (--math same).\n\n"
        "--model compares a text model (see ingot embed) on the devices with f64 on the CPU, and\n"
        "names the first layer that is out of bounds, the head being the last.\n\n"
        "--graphs compares random graphs of 5 to 40 ops with the same graphs evaluated operation "
        "by\n"
        "operation, bit by bit, and each operation with float64 on the CPU. With --same, the "
        "first\n"
        "device is checked in this way, and the others must have its bits. A graph that fails is "
        "made\n"
        "as small as possible and printed as an 'ingot eval' command. --case N repeats graph N.\n"
        "The bits must stay the same when leaves are donated, when the graph is compiled, and "
        "with\n"
        "--blocks when it is evaluated in blocks, by several devices, or by the ranks of mpirun. "
        "--list\n"
        "shows how many graphs have each op, dtype and way, and why others are left out.\n\n"
        "With --record, a run that was interrupted goes on where it stopped. Remove the file when "
        "the\n"
        "library or the driver has changed.\n\n"
        "  ingot verify --quick\n"
        "  ingot verify --op exp --dtype f32\n"
        "  ingot verify --same cpu,opencl:0 --op matmul\n"
        "  ingot verify --graphs 1000 --device cpu,gang --jobs 4",
        options};
    int code = options_read(&c, &argc, argv);
    if (code < 0 && argc > 0) {
        say(&c, "unexpected '%s'; see 'ingot verify --help'", argv[0]);
        code = EXIT_USAGE;
    }
    if (code < 0 && set.same && set.devices) {
        say(&c, "--same names the devices; leave --device out");
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = check_settings(&c, &set);
    if (code < 0 && LDBL_MANT_DIG < 64 && !set.same && !set.graphs)
        say(&c,
            "i64, u64 and f64 are left out: long double has %d bits here, too few for exact "
            "results of 64 bits",
            LDBL_MANT_DIG);
    if (code < 0 && set.same && !set.engine.math)
        ig_set_math(IG_MATH_SAME);
    if (code < 0)
        code = engine_apply(&c, &set.engine);
    return code < 0 ? verify(&c, &set) : code;
}
