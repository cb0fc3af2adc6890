/* ingot run: runs a CUDA C kernel. Reads the source, makes the arguments, launches the kernel on each named
 * device, and compares the results; run/results.c prints or writes them. A file with a main function is a
 * whole program: see cuda/program.c. */
#include "cuda/compare.h"
#include "cuda/compile.h"
#include "run/session.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE_MOST = 16 << 20 };

/* ---- options ---- */

static bool option_word(const char *s, void *to)
{
    words *w = to;
    w->v = heap_resize(w->v, sizeof *w->v * (size_t)(w->n + 1));
    w->v[w->n++] = s;
    return true;
}

/* "N", "NxM", "N,M,K". */
static bool option_shape(const char *s, void *to)
{
    shape *out = to;
    *out = (shape){{1, 1, 1}};
    for (int i = 0; i < 3; i++) {
        char *end;
        errno = 0;
        const unsigned long n = isdigit((unsigned char)*s) ? strtoul(s, &end, 10) : 0;
        if (errno || n < 1 || n > INT32_MAX)
            return false;
        out->n[i] = (uint32_t)n;
        if (!*end)
            return true;
        if (*end != 'x' && *end != ',')
            return false;
        s = end + 1;
    }
    return false;
}

static bool option_tolerance(const char *s, void *to)
{
    char *end;
    const double x = strtod(s, &end);
    *(double *)to = x;
    return end != s && !*end && x >= 0 && x < 1;
}

/* Reports the library's error. The compiler's messages begin with their own file and line. */
static int failed(const session *s)
{
    static const int codes[] = {[IG_ERR_DEVICE] = EXIT_FAILED,
                                [IG_ERR_ARGUMENT] = EXIT_USAGE,
                                [IG_ERR_DTYPE] = EXIT_USAGE,
                                [IG_ERR_FORMAT] = EXIT_INPUT};
    ig_status status = IG_OK;
    const char *message = ig_error(&status);
    const size_t n = message ? strlen(message) : 0;
    fflush(stdout);
    if (status == IG_ERR_FORMAT && n)
        text_printf(stderr, "%s%s", message, message[n - 1] == '\n' ? "" : "\n");
    else
        say(s->command, "%s", message ? message : "failed without a reason");
    const bool known = (size_t)status < sizeof codes / sizeof *codes && codes[status];
    return known ? codes[status] : exit_for((int)status);
}

/* ---- the kernel ---- */

static int no_kernel(const session *s, const char *name)
{
    const int n = ig_module_count(s->module);
    nearest search = nearest_to(name ? name : "");
    str hint = {0};
    for (int i = 0; i < n && name; i++)
        nearest_offer(&search, ig_module_at(s->module, i)->name);
    str_did_you_mean(&hint, &search);
    for (int i = 0; i < n && !search.best; i++)
        str_printf(&hint, "%s%s", i ? ", " : "; there are ", ig_module_at(s->module, i)->name);
    if (n == 0)
        str_puts(&hint,
                 "; name a template's kernel with its arguments: --kernel 'tile<float, 16>'");
    if (name)
        say(s->command, "%s has no kernel '%s'%s", s->file, name, hint.s ? hint.s : "");
    else
        say(s->command, "%s %s%s", s->file,
            n ? "has several kernels; choose one with --kernel" : "has no kernel",
            hint.s ? hint.s : "");
    str_free(&hint);
    return EXIT_USAGE;
}

static int find_kernel(session *s)
{
    const char *name = s->set->kernel;
    if (!name && ig_module_count(s->module) == 1)
        s->kernel = ig_module_at(s->module, 0);
    else if (name)
        s->kernel = ig_module_find(s->module, name);
    return s->kernel ? -1 : no_kernel(s, name);
}

static int compile(session *s)
{
    const settings *set = s->set;
    size_t n;
    char *source = str_read_file(s->file, SOURCE_MOST, &n);
    if (!source) {
        say(s->command, "%s: %s", s->file, strerror(errno));
        return EXIT_INPUT;
    }
    const bool instance = set->kernel && strchr(set->kernel, '<');
    const ig_module_options options = {.defines = set->defines.v,
                                       .n_defines = set->defines.n,
                                       .folders = set->folders.v,
                                       .n_folders = set->folders.n,
                                       .instances = &set->kernel,
                                       .n_instances = instance};
    s->module = ig_module_new(s->file, source, &options);
    free(source);
    if (s->module)
        return find_kernel(s);
    return failed(s);
}

/* ---- launches ---- */

/* The device of that name that can run kernels, or the first device of that kind ("opencl"). Returns NULL
 * after reporting that there is none. */
static const char *find_device(const session *s, const char *name)
{
    const size_t n = strlen(name);
    ig_device_info info = {0};
    str all = {0};
    /* The first is the CPU. ig_device_count loads all drivers, which takes longer than most kernels. */
    for (int i = 0; i == 0 || i < ig_device_count(); i++) {
        if (ig_device_get(i, &info) != IG_OK || !info.runs_kernels)
            continue;
        if (strncmp(info.name, name, n) == 0 && (!info.name[n] || info.name[n] == ':')) {
            str_free(&all);
            return info.name;
        }
        str_printf(&all, "%s%s", all.n ? ", " : "", info.name);
    }
    say(s->command, "there is no device '%s' that runs kernels; there are: %s", name,
        all.s ? all.s : "none");
    str_free(&all);
    return NULL;
}

static void add_printed(void *context, const char *text, size_t bytes)
{
    str_add(context, text, bytes);
}

/* Launches repeatedly and collects the times that the device reports. The kernel's output is discarded. */
static bool time_launches(const session *s, ig_launch l, answer *a)
{
    ig_array **spare = heap_get(sizeof *spare * (size_t)(s->kernel->n_written + 1));
    bool fine = true;
    str nowhere = {0};
    double seconds = 0;
    l.context = &nowhere;
    l.print = add_printed;
    l.seconds = &seconds;
    a->time = timing_begin();
    while (fine && timing_wants(&a->time)) {
        ig_scope_begin();
        fine = ig_module_launch(s->module, s->kernel->name, &l, spare) == IG_OK;
        ig_scope_end();
        nowhere.n = 0;
        timing_add(&a->time, seconds);
    }
    str_free(&nowhere);
    free(spare);
    return fine;
}

/* The first launch, with the check and the profile. */
static ig_status launch_first(session *s, ig_launch l, answer *a)
{
    const bool watched = a == s->answers;
    l.check = watched && s->set->check;
    l.findings = l.check ? &s->findings : NULL;
    l.profile = watched && s->set->profile ? &s->profile : NULL;
    return ig_module_launch(s->module, s->kernel->name, &l, a->results);
}

static int launch(session *s, const char *device, answer *a)
{
    const settings *set = s->set;
    ig_launch l = {.device = find_device(s, device),
                   .shared_bytes = (size_t)set->shared_bytes,
                   .args = s->args.v,
                   .n_args = s->args.n,
                   .seconds = &a->seconds};
    memcpy(l.grid, set->grid.n, sizeof l.grid);
    memcpy(l.block, set->block.n, sizeof l.block);
    if (!l.device)
        return EXIT_ABSENT;
    a->device = l.device;
    a->results = heap_get(sizeof *a->results * (size_t)(s->kernel->n_written + 1));
    a->apart = heap_get(sizeof *a->apart * (size_t)(s->kernel->n_written + 1));
    if (set->json) {
        l.print = add_printed;
        l.context = &a->printed;
    }
    if (launch_first(s, l, a) != IG_OK)
        return run_findings_fail(s->findings) ? EXIT_FAILED : failed(s);
    const char *warnings = ig_module_warnings(s->module, s->kernel->name, l.device);
    if (warnings)
        text_print(stderr, warnings);
    for (int i = 0; i < s->kernel->n_written; i++)
        a->apart[i] = run_compare(s->answers[0].results[i], a->results[i]);
    return set->time && !time_launches(s, l, a) ? failed(s) : -1;
}

/* ---- the verb ---- */

static int run_devices(session *s, char *names)
{
    int code = -1, n = 1;
    for (const char *p = names; *p; p++)
        n += *p == ',';
    s->answers = heap_get(sizeof *s->answers * (size_t)n);
    char *rest = NULL;
    for (char *name = strtok_r(names, ",", &rest); name && code < 0;
         name = strtok_r(NULL, ",", &rest))
        code = launch(s, name, &s->answers[s->n_answers++]);
    if (run_findings_fail(s->findings))
        return run_tell_mistakes(s);
    return code < 0 ? run_tell(s) : code;
}

static void session_end(session *s)
{
    for (int i = 0; i < s->n_answers; i++) {
        free(s->answers[i].results);
        free(s->answers[i].apart);
        str_free(&s->answers[i].printed);
        timing_free(&s->answers[i].time);
    }
    free(s->answers);
    ig_free(s->findings);
    ig_free(s->profile);
    run_args_free(&s->args);
    ig_module_free(s->module);
}

static int run(const command *c, const settings *set, const char *file)
{
    session s = {.command = c, .set = set, .file = file};
    str devices = {0};
    str_puts(&devices, set->engine.device ? set->engine.device : "cpu");
    if (set->compare)
        str_printf(&devices, ",%s", set->compare);
    engine_options engine = set->engine;
    engine.device = NULL; /* the CPU computes the arguments */
    int code = engine_apply(c, &engine);
    ig_scope_begin();
    if (code < 0)
        code = compile(&s);
    if (code < 0)
        code = run_args_read(c, s.kernel, &set->args, set->seed, &s.args);
    if (code < 0)
        code = run_devices(&s, devices.s);
    session_end(&s);
    ig_scope_end();
    str_free(&devices);
    return code;
}

/* The list, terminated by NULL. */
static const char *const *ended(words *w)
{
    option_word(NULL, w);
    w->n--;
    return w->v;
}

static bool is_source(const char *path)
{
    static const char *const endings[] = {".cu", ".cpp", ".cc", ".cxx", ".c"};
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return false;
}

/* The number of words after "--". They are never sources. */
static int words_after_dashes(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return argc - i - 1;
    return 0;
}

/* The number of leading words that are sources. The first one always is. */
static int count_sources(int argc, char **argv)
{
    int n = argc > 0;
    while (n < argc && is_source(argv[n]))
        n++;
    return n;
}

static bool is_program(int argc, char **argv)
{
    const int n = count_sources(argc, argv);
    for (int i = 0; i < n; i++)
        if (program_has_main(argv[i]))
            return true;
    return false;
}

/* The folders of -I, except CUDA's own: Ingot's headers replace those. */
static words own_folders(const words *all)
{
    words kept = {0};
    for (int i = 0; i < all->n; i++)
        if (compile_takes_folder(all->v[i]))
            option_word(all->v[i], &kept);
    return kept;
}

/* Runs a whole program. Its sources are the first words, its arguments the others; the last n_after follow "--". */
static int run_whole(const command *c, settings *set, int argc, int n_after, char **argv)
{
    words sources = {0}, args = {0}, folders = own_folders(&set->folders);
    if (set->time || set->outs.n || set->args.n) {
        say(c,
            "'%s' is a whole program, which makes its own arguments; --arg, --output and --time "
            "need "
            "a kernel: name one with --kernel",
            argv[0]);
        free(folders.v);
        return EXIT_USAGE;
    }
    if (set->compare && (set->json || set->check || set->profile)) {
        say(c,
            "--compare runs the program on two devices; leave out --json, --check and --profile");
        free(folders.v);
        return EXIT_USAGE;
    }
    const int n_sources = count_sources(argc - n_after, argv);
    for (int i = 0; i < argc; i++)
        option_word(argv[i], i < n_sources ? &sources : &args);
    const program_options o = {.sources = ended(&sources),
                               .folders = ended(&folders),
                               .defines = ended(&set->defines),
                               .libraries = ended(&set->libraries),
                               .flags = ended(&set->flags),
                               .device_flags = ended(&set->device_flags),
                               .args = ended(&args),
                               .device = set->engine.device,
                               .compare = set->compare,
                               .tolerance = set->tolerance,
                               .threads = set->engine.threads,
                               .check = set->check,
                               .profile = set->profile,
                               .json = set->json};
    const int code = set->compare ? program_compare(c, &o) : run_program(c, &o);
    free(sources.v);
    free(folders.v);
    free(args.v);
    return code;
}

int verb_run(int argc, char **argv)
{
    settings set = {.grid = {{1, 1, 1}}, .block = {{1, 1, 1}}, .tolerance = 1e-5};
    const option options[] = {
        {"--kernel", 'k', "NAME", option_text, &set.kernel,
         "the kernel to run; a template with its arguments: 'tile<float, 16>'"},
        {"--grid", 'g', "N[xN[xN]]", option_shape, &set.grid, "number of blocks (1)"},
        {"--block", 'b', "N[xN[xN]]", option_shape, &set.block, "threads per block (1)"},
        {"--arg", 'a', "NAME=VALUE", option_word, &set.args,
         "an argument: an expression of eval, normal:f32[SHAPE] (or uniform, zeros, ones, arange), "
         "a .npy file, or of a struct or vector '{1, .y = 2}'"},
        {"--shared", 0, "SIZE", option_bytes, &set.shared_bytes,
         "bytes of dynamic shared memory (0)"},
        {"--output", 'o', "[NAME=]FILE", option_word, &set.outs,
         "writes an array that the kernel wrote to an npy file"},
        FLAG("--print", &set.print, "prints the results also with --output or --time"),
        FLAG("--full", &set.full, "prints long arrays in full"),
        FLAG("--time", &set.time,
             "launches repeatedly for half a second and prints the median time"),
        FLAG("--check", &set.check,
             "finds accesses out of bounds, races, divergent barriers and other mistakes"),
        FLAG("--profile", &set.profile, "prints the cost of each source line"),
        {"--ulp", 0, "N", option_count, &set.ulp,
         "largest allowed difference between devices, in units in the last place (0)"},
        {"--compare", 0, "DEVICES", option_text, &set.compare,
         "also runs on these devices and compares what the kernel wrote or the program printed"},
        {"--tolerance", 0, "X", option_tolerance, &set.tolerance,
         "largest allowed relative difference of numbers that a program printed with decimals "
         "(1e-5)"},
        {"--seed", 0, "N", option_seed, &set.seed, "seed of normal: and uniform: (0)"},
        {"--define", 'D', "NAME[=TEXT]", option_word, &set.defines, "defines a macro"},
        {"--include", 'I', "DIR", option_word, &set.folders,
         "adds a folder for includes; it is searched before Ingot's own headers"},
        {"--library", 'l', "NAME", option_word, &set.libraries, "links a program with a library"},
        {"--compiler-option", 'X', "OPTION", option_word, &set.flags,
         "an option for the C++ compiler; -fopenmp, -O3, -std=c++20 and -Xcompiler work as in "
         "nvcc"},
        FLAG("--json", &set.json, "prints JSON, schema 1"),
        ENGINE_OPTIONS_ON(set.engine, "DEVICES",
                          "the devices that run it, separated by commas (cpu)"),
        {0}};
    const command c = {
        "run", "[options] FILE... [--] [ARGUMENT...]",
        "Runs one kernel of a CUDA C file and prints the arrays that it wrote. With several\n"
        "devices (--device cpu,opencl) the results are compared: exit code 1 if they differ.\n"
        "Files with a main function are a whole program: they are compiled with the C++ compiler\n"
        "(CXX, or c++) and run with the arguments. The exit code is the program's. On an NVIDIA\n"
        "GPU (--device cuda) NVRTC compiles the kernels as they are written.\n"
        "For programs, --check also finds mistakes in copies, freed memory and leaks; it reports\n"
        "them on stderr and exits with 1. --profile sums up all launches. --json includes the\n"
        "program's output.\n\n"
        "  ingot run program.cu more.cu -- 1000 --fast\n"
        "  ingot run --device cuda --compare cpu program.cu\n"
        "  ingot run saxpy.cu --grid 4 --block 256 --arg n=1000 --arg a=2 \\\n"
        "      --arg 'x=arange(1000.0)' --arg y=ones:f32[1000]",
        options};
    run_take_flags(&c, &argc, argv, &set.flags, &set.device_flags);
    const int n_after = words_after_dashes(argc, argv);
    int code = options_read(&c, &argc, argv);
    if (code < 0 && !set.kernel && is_program(argc - n_after, argv)) {
        code = run_whole(&c, &set, argc, n_after, argv);
    } else if (code < 0 && argc != 1) {
        say(&c, argc ? "no file has a main function, and a kernel is run from one file; see "
                       "'ingot run --help'"
                     : "name a file; see 'ingot run --help'");
        code = EXIT_USAGE;
    }
    if (code < 0)
        code = run(&c, &set, argv[0]);
    free(set.args.v);
    free(set.defines.v);
    free(set.folders.v);
    free(set.libraries.v);
    free(set.flags.v);
    free(set.device_flags.v);
    free(set.outs.v);
    return code;
}
