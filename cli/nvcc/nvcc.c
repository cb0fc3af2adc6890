/* ingot nvcc: builds CUDA programs with the command line of nvcc. The programs run on the device that IG_DEVICE names. */
#include "nvcc/nvcc.h"

#include "cuda/folder.h"
#include "cuda/process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names of outputs ---- */

static bool is_source(const nvcc_input *in) { return in->kind != INPUT_LINKED; }

static int count_sources(const nvcc_job *j)
{
    int n = 0;
    for (int i = 0; i < j->n_inputs; i++)
        n += is_source(&j->inputs[i]);
    return n;
}

/* Whether each source has an output of its own. */
static bool writes_each(const nvcc_job *j)
{
    return j->mode == NVCC_OBJECTS || j->mode == NVCC_CPP || nvcc_writes_image(j);
}

/* The object of an input: what -o says, or its name with .o in -odir, or a file in the temporary folder. */
static void name_object(nvcc_job *j, int i)
{
    nvcc_input *in = &j->inputs[i];
    const char *slash = strrchr(in->word, '/'), *name = slash ? slash + 1 : in->word;
    const char *dot = strrchr(name, '.');
    const int n = dot ? (int)(dot - name) : (int)strlen(name);
    static const char *const endings[] = {"ptx", "cubin", "fatbin"};
    const bool image = nvcc_writes_image(j), stays = writes_each(j);
    str t = {0};
    if (stays && j->output)
        str_puts(&t, j->output);
    else if (stays)
        str_printf(&t, "%s%s%.*s.%s", j->output_folder ? j->output_folder : "",
                   j->output_folder ? "/" : "", n, name,
                   j->mode == NVCC_CPP ? "cu.cpp.ii"
                   : image             ? endings[j->mode - NVCC_PTX]
                                       : "o");
    else
        str_printf(&t, "%s/%d_%.*s.o", j->folder.s, i, n, name);
    in->object = t.s;
}

/* ---- links and archives ---- */

/* Adds objects and libraries in the order of the command line. */
static void add_inputs(const nvcc_job *j, bool libraries, word_list *w)
{
    for (int i = 0; i < j->n_inputs; i++) {
        const nvcc_input *in = &j->inputs[i];
        if (is_source(in))
            word_add(w, "%s", in->object);
        else if (libraries || *in->word != '-')
            word_add(w, "%s", in->word);
    }
}

/* Adds the runtime as -cudart asks. In a toolkit folder it has CUDA's names, which CMake reads from this command; it is
 * static there, because CMake adds no path for a shared library. */
static void add_runtime(const nvcc_job *j, word_list *w)
{
    const char *kind = j->library ? j->library : nvcc_toolkit() ? "static" : "shared";
    const char *library = j->tools.library.s, *slash = strrchr(library, '/');
    const bool is_static = strcmp(kind, "static") == 0;
    if (strcmp(kind, "none") == 0)
        return;
    if (nvcc_toolkit()) {
        words_add(w, (char *[]){"-lcudadevrt", NULL});
        if (is_static)
            words_add(w, (char *[]){"-lcudart_static", "-lrt", "-lpthread", "-ldl", "-lm", NULL});
    } else if (is_static) {
        str archive = {0};
        str_printf(&archive, "%.*s/libingot.a", (int)(slash - library), library);
        word_add(w, "%s", archive.s);
        words_add(w, (char *[]){"-pthread", "-lm", "-ldl", NULL});
        str_free(&archive);
    }
    if (!is_static)
        compile_add_libraries(&j->tools, w);
}

static int link_program(nvcc_job *j, const char *output)
{
    word_list w = {0};
    words_add(&w, j->tools.words.at);
    for (int i = 0; i < j->host.n; i++)
        word_add(&w, "%s", j->host.at[i]);
    if (j->shared)
        word_add(&w, "%s", "-shared");
    words_add(&w, (char *[]){"-o", (char *)output, NULL});
    if (nvcc_toolkit()) /* before folders of the command line, which may have NVIDIA's libraries */
        word_add(&w, "-L%s/lib64", nvcc_toolkit());
    add_inputs(j, true, &w);
    add_runtime(j, &w);
    const int code = nvcc_run(j, &w);
    word_list_free(&w);
    return code;
}

static int archive(nvcc_job *j)
{
    word_list w = {0};
    const char *chosen = j->archive_command ? j->archive_command : getenv("AR");
    if (!compiler_words(chosen && *chosen ? chosen : "ar", &w)) {
        say(j->c, "there is no '%s', which makes archives", chosen && *chosen ? chosen : "ar");
        return EXIT_ABSENT;
    }
    const char *output = j->output ? j->output : "a.a";
    word_add(&w, "%s", "rcs");
    for (int i = 0; i < j->archiver.n; i++)
        word_add(&w, "%s", j->archiver.at[i]);
    word_add(&w, "%s", output);
    add_inputs(j, false, &w);
    if (!j->dry)
        unlink(output);
    const int code = nvcc_run(j, &w);
    word_list_free(&w);
    return code;
}

/* Writes an object without contents. */
static int link_device(nvcc_job *j)
{
    word_list w = {0};
    words_add(&w, j->tools.words.at);
    for (int i = 0; i < j->host.n; i++)
        word_add(&w, "%s", j->host.at[i]);
    words_add(&w, (char *[]){"-x", "c++", "-c", "/dev/null", "-o",
                             (char *)(j->output ? j->output : "a_dlink.o"), NULL});
    const int code = nvcc_run(j, &w);
    word_list_free(&w);
    return code;
}

static int run_built(nvcc_job *j, const char *program)
{
    word_list w = {0};
    word_add(&w, strchr(program, '/') ? "%s" : "./%s", program);
    for (int i = 0; i < j->run_args.n; i++)
        word_add(&w, "%s", j->run_args.at[i]);
    const process p = {.path = w.at[0], .argv = w.at};
    const int code = j->dry ? 0 : process_run(&p);
    word_list_free(&w);
    return code < 0 ? folder_cannot(j->c, "run", program) : code;
}

/* ---- the build ---- */

static int check(const nvcc_job *j)
{
    const int n = count_sources(j);
    const bool one = writes_each(j) || j->mode == NVCC_PREPROCESS || j->mode == NVCC_DEPENDENCIES;
    if (!j->n_inputs || (one && !n)) {
        say(j->c, "name a source file; see 'ingot nvcc --help'");
        return EXIT_USAGE;
    }
    if (one && n > 1 && j->output) {
        say(j->c, "one file '%s' cannot have the results of %d sources; leave out -o or use -odir",
            j->output, n);
        return EXIT_USAGE;
    }
    if (j->rule_file && n > 1) {
        say(j->c, "one file '%s' cannot have the rules of %d sources; leave out -MF", j->rule_file,
            n);
        return EXIT_USAGE;
    }
    return -1;
}

static int build(nvcc_job *j)
{
    const bool compiles =
        j->mode != NVCC_PREPROCESS && j->mode != NVCC_DEPENDENCIES && j->mode != NVCC_DEVICE_LINK;
    const char *output = j->output ? j->output : "a.out";
    int code = folder_make(j->c, &j->folder);
    if (code < 0)
        code = folder_write_headers(j->c, j->folder.s, false);
    for (int i = 0; code < 0 && i < j->n_inputs && j->mode != NVCC_DEVICE_LINK; i++) {
        if (!is_source(&j->inputs[i]))
            continue;
        if (compiles)
            name_object(j, i);
        code = nvcc_compile(j, &j->inputs[i]);
    }
    if (code < 0 && (j->mode == NVCC_LINK || j->mode == NVCC_RUN))
        code = link_program(j, output);
    else if (code < 0 && j->mode == NVCC_ARCHIVE)
        code = archive(j);
    else if (code < 0 && j->mode == NVCC_DEVICE_LINK)
        code = link_device(j);
    if (code < 0 && j->mode == NVCC_RUN)
        code = run_built(j, output);
    if (j->folder.s)
        folder_remove(j->folder.s);
    return code < 0 ? EXIT_FINE : code;
}

/* The compiler that -ccbin, NVCC_CCBIN or CXX names. The C compiler of a pair means its C++ compiler, since nvcc links
 * with that. */
static int find_compiler(nvcc_job *j)
{
    static const char *const pairs[][2] = {{"gcc", "g++"}, {"clang", "clang++"}, {"cc", "c++"}};
    const char *given = j->compiler ? j->compiler : getenv("NVCC_CCBIN");
    if (!given || !*given)
        return compiler_find(j->c, &j->tools);
    str chosen = {0};
    const char *slash = strrchr(given, '/'), *name = slash ? slash + 1 : given;
    const char *cpp = NULL;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !cpp; i++)
        if (strncmp(name, pairs[i][0], strlen(pairs[i][0])) == 0 &&
            (!name[strlen(pairs[i][0])] || name[strlen(pairs[i][0])] == '-'))
            cpp = pairs[i][1];
    str_printf(&chosen, "%.*s%s", (int)(name - given), given, cpp ? cpp : name);
    if (cpp)
        str_puts(&chosen, name + strcspn(name, "-"));
    if (!*name) /* a folder */
        str_puts(&chosen, "g++");
    const int code =
        compiler_find_chosen(j->c, chosen.s, j->compiler ? "-ccbin" : "NVCC_CCBIN", &j->tools);
    str_free(&chosen);
    return code;
}

static int answer(const nvcc_job *j)
{
    char *help[] = {"nvcc", "--help", NULL};
    int words = 2;
    if (j->answer == NVCC_SAYS_VERSION)
        nvcc_say_version();
    else if (j->answer == NVCC_SAYS_ARCHITECTURES)
        puts("compute_70");
    else
        return options_read(j->c, &words, help);
    return EXIT_FINE;
}

int verb_nvcc(int argc, char **argv)
{
    str about = {0};
    const option options[] = {{0}};
    str_puts(
        &about,
        "Compiles and links CUDA programs as nvcc does, with its options. The programs run on\n"
        "the device that IG_DEVICE names (cpu); their device code is text in them, which the\n"
        "device's compiler gets when they start.\n\n"
        "  make NVCC='ingot nvcc'\n"
        "  ingot nvcc -O3 -o program main.cu kernels.cu host.cpp\n"
        "  ingot nvcc --toolkit DIR    writes a folder that build tools take for CUDA's:\n"
        "  cmake -DCMAKE_CUDA_COMPILER=DIR/bin/nvcc ...; CUDA_HOME=DIR python setup.py ...\n\n"
        "options:\n");
    nvcc_list_options(&about);
    const command c = {"nvcc", "[options] FILE...", about.s, options};
    nvcc_job j = {.c = &c};
    char *none[] = {argv[0], NULL};
    int words = 1;
    int code = options_read(&c, &words, none); /* for the manual and completions */
    if (code < 0)
        code = nvcc_read(&j, argc - 1, argv + 1);
    if (code < 0 && j.answer)
        code = answer(&j);
    if (code < 0)
        code = find_compiler(&j);
    if (code < 0 && j.toolkit)
        code = nvcc_write_toolkit(&j);
    if (code < 0 && j.says_commands)
        nvcc_say_environment(&j);
    if (code < 0)
        code = check(&j);
    if (code < 0) {
        process_guard_begin();
        code = build(&j);
        process_guard_end();
    }
    nvcc_free(&j);
    str_free(&about);
    return code;
}
