/* Compiling: C files are compiled one by one into objects; all C++ and CUDA files and the link take one
 * command. The compiler's messages go to a file until it has ended. If a program needs a missing part of
 * CUDA, one line replaces all the messages that follow from it. */
#include "cuda/compile.h"

#include "bench/child.h"
#include "cuda/process.h"
#include "cuda/explain.h"
#include "cuda/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __APPLE__
#define SHARED_NAME "libingot.dylib"
#else
#define SHARED_NAME "libingot.so"
#endif

enum { MESSAGES_MOST_BYTES = 16 << 20 };

void word_add(word_list *w, const char *format, const char *text)
{
    str word = {0};
    w->at = heap_resize(w->at, (size_t)(w->n + 2) * sizeof *w->at);
    str_printf(&word, format, text);
    w->at[w->n++] = word.s;
    w->at[w->n] = NULL;
}

void words_add(word_list *w, char *const *words)
{
    for (; *words; words++)
        word_add(w, "%s", *words);
}

void word_list_free(word_list *w)
{
    for (int i = 0; i < w->n; i++)
        free(w->at[i]);
    free(w->at);
    *w = (word_list){0};
}

/* ---- finding the tools ---- */

/* Sets path to the path of a program; false if it is not found. */
static bool find_program(const char *name, str *path)
{
    const char *at = getenv("PATH");
    str_free(path);
    if (strchr(name, '/')) {
        str_puts(path, name);
        return access(name, X_OK) == 0;
    }
    while (at && *at) {
        const size_t n = strcspn(at, ":");
        str_free(path);
        str_printf(path, "%.*s/%s", (int)n, at, name);
        if (access(path->s, X_OK) == 0)
            return true;
        at += n + (at[n] == ':');
    }
    return false;
}

bool compiler_words(const char *chosen, word_list *words)
{
    str path = {0};
    bool found = false;
    char *copy = heap_string(chosen), *rest = NULL;
    word_list_free(words);
    for (char *word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
        if (!words->n)
            found = find_program(word, &path);
        word_add(words, "%s", words->n ? word : path.s);
    }
    free(copy);
    str_free(&path);
    return found;
}

static bool find_library(str *library)
{
    static const char *const places[] = {"", "../lib/", "../lib64/"};
    static const char *const names[] = {SHARED_NAME, "libingot.a"};
    char *self = child_self();
    const char *slash = self ? strrchr(self, '/') : NULL;
    bool found = false;
    for (size_t i = 0; i < 6 && !found; i++) {
        str_free(library);
        str_printf(library, "%.*s%s%s", slash ? (int)(slash + 1 - self) : 0, self ? self : "",
                   places[i / 2], names[i % 2]);
        found = access(library->s, R_OK) == 0;
    }
    free(self);
    return found;
}

const char *compiler_setting(const char *name)
{
    const char *s = getenv(name);
    s = s ? s + strspn(s, " \t") : "";
    const size_t n = strcspn(s, " \t");
    size_t base = n;
    while (base && s[base - 1] != '/')
        base--;
    const char *second = s + n + strspn(s + n, " \t");
    const bool first = n - base == 4 && strncmp(s + base, "nvcc", 4) == 0;
    const bool ours = strcspn(second, " \t") == 4 && strncmp(second, "nvcc", 4) == 0;
    return *s && !first && !ours ? s : NULL;
}

int compiler_find(const command *c, compiler *out)
{
    return compiler_find_chosen(c, compiler_setting("CXX"), "CXX", out);
}

int compiler_find_chosen(const command *c, const char *chosen, const char *setting, compiler *out)
{
    const bool is_chosen = chosen && chosen[strspn(chosen, " \t")];
    if (is_chosen ? !compiler_words(chosen, &out->words)
                  : !compiler_words("c++", &out->words) && !compiler_words("g++", &out->words) &&
                        !compiler_words("clang++", &out->words)) {
        str named = {0};
        str_printf(&named, is_chosen ? " '%s' (%s)" : "%s%s", is_chosen ? chosen : "",
                   is_chosen ? setting : "");
        say(c,
            "there is no C++ compiler%s: the host code of a program needs one; install it (Debian: "
            "apt-get install g++; macOS: xcode-select --install)%s",
            named.s, strcmp(c->name, "run") == 0 ? ", or run one kernel with --kernel" : "");
        str_free(&named);
        return EXIT_ABSENT;
    }
    if (!find_library(&out->library)) {
        say(c, "libingot is neither in the folder of this command nor in ../lib, and programs are "
               "linked "
               "with it; build it with 'make', or install it with 'make install'");
        return EXIT_ABSENT;
    }
    return -1;
}

void compiler_free(compiler *tools)
{
    word_list_free(&tools->words);
    str_free(&tools->library);
}

/* ---- commands ---- */

/* One build: the common data of its commands. */
typedef struct build {
    const command *c;
    const program_options *o;
    const compiler *tools;
    const rewrite_job *text;
    const char *folder;
    str messages; /* the path of the file with the compiler's output */
    bool is_clang;
    str toolkit; /* CUDA's folder if its libraries are needed; else empty */
} build;

/* CUDA libraries such as cuBLAS work in programs on an NVIDIA GPU, since streams and addresses are the
 * driver's. */
static bool wants_toolkit(const build *b)
{
    for (int i = 0; b->text->for_nvrtc && b->o->libraries[i]; i++)
        if (strncmp(b->o->libraries[i], "cu", 2) == 0 || strncmp(b->o->libraries[i], "nv", 2) == 0)
            return true;
    return false;
}

static void find_toolkit(build *b)
{
    const char *const places[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (size_t i = 0; i < sizeof places / sizeof *places && !b->toolkit.n; i++) {
        str header = {0};
        str_printf(&header, "%s/include/cuda.h", places[i] ? places[i] : "");
        if (places[i] && *places[i] && access(header.s, R_OK) == 0)
            str_puts(&b->toolkit, places[i]);
        str_free(&header);
    }
}

static bool prepare_compiler(const void *context)
{
    const build *b = context;
    const int file = open(b->messages.s, O_WRONLY | O_CREAT | O_APPEND, 0600);
    setenv("TMPDIR", b->folder, 1); /* its temporary files are removed with ours */
    setenv("LC_ALL", "C", 1);       /* ASCII quotes, for explain_missing */
    return file >= 0 && dup2(file, STDERR_FILENO) >= 0 && dup2(file, STDOUT_FILENO) >= 0 &&
           close(file) == 0;
}

static int run_compiler(const build *b, const word_list *w)
{
    const process c = {.path = w->at[0],
                       .argv = w->at,
                       .own_group = true,
                       .prepare = prepare_compiler,
                       .context = b};
    return process_run(&c);
}

/* True if the compiler is clang, which has its own option for functions that lack a return. */
static bool ask_clang(const compiler *tools)
{
    word_list w = {0};
    str printed = {0}, why = {0};
    words_add(&w, tools->words.at);
    word_add(&w, "%s", "--version");
    child_run(w.at, false, &printed, &why);
    const bool is = printed.n && strstr(printed.s, "clang");
    str_free(&printed);
    str_free(&why);
    word_list_free(&w);
    return is;
}

/* Options of all commands: the compiler, our options, then the user's, which take precedence. A
 * function that lacks its return statement returns garbage, as in nvcc's builds, instead of running
 * into the next function. */
static void common_words(const build *b, bool is_c, word_list *w)
{
    static char *const flags[] = {"-std=gnu++17", "-O1", "-w", "-pthread", NULL};
    words_add(w, b->tools->words.at);
    words_add(w, is_c ? flags + 1 : flags);
    if (!b->text->for_nvrtc) /* NVRTC's char has the signedness of the host compiler's */
        word_add(w, "%s", "-fsigned-char");
    if (b->is_clang) {
        word_add(w, "%s", "-fno-strict-return");
    } else {
        words_add(w,
                  (char *[]){"-fsanitize=unreachable", "-fsanitize-undefined-trap-on-error", NULL});
    }
    for (int i = 0; b->o->flags[i]; i++)
        if (!is_c || strncmp(b->o->flags[i], "-std=", 5) != 0)
            word_add(w, "%s", b->o->flags[i]);
    word_add(w, "-I%s", b->folder);
    for (int i = 0; b->o->folders[i]; i++)
        word_add(w, "-I%s", b->o->folders[i]);
    for (int i = 0; b->o->defines[i]; i++)
        word_add(w, "-D%s", b->o->defines[i]);
    if (b->toolkit.n) /* after our folder, for headers that we do not have */
        word_add(w, "-idirafter%s/include", b->toolkit.s);
}

static void add_path(const build *b, const char *name, const char *ending, word_list *w)
{
    str path = {0};
    str_printf(&path, "%s/%s%s", b->folder, name, ending);
    word_add(w, "%s", path.s);
    str_free(&path);
}

static int compile_c(const build *b, const rewritten *file)
{
    word_list w = {0};
    common_words(b, true, &w);
    words_add(&w, (char *[]){"-x", "c", "-c", NULL});
    add_path(b, file->name, "", &w);
    word_add(&w, "%s", "-o");
    add_path(b, file->name, ".o", &w);
    const int ended = run_compiler(b, &w);
    word_list_free(&w);
    return ended;
}

void compile_add_libraries(const compiler *tools, word_list *w)
{
    const char *library = tools->library.s, *slash = strrchr(library, '/');
    str folder = {0};
    str_add(&folder, library, (size_t)(slash - library));
    word_add(w, "%s", library);
    word_add(w, "-Wl,-rpath,%s", folder.s);
    words_add(w, (char *[]){"-pthread", "-lm", "-ldl", NULL});
    str_free(&folder);
}

bool compile_takes_folder(const char *folder)
{
    str header = {0};
    str_printf(&header, "%s/cuda_runtime_api.h", folder);
    const bool is_toolkit = access(header.s, F_OK) == 0;
    str_free(&header);
    return !is_toolkit;
}

static int compile_and_link(const build *b)
{
    word_list w = {0};
    bool has_c = false;
    common_words(b, false, &w);
    for (int i = 0; i < b->text->n_files; i++)
        has_c |= b->text->files[i].is_c;
    if (!has_c)
        word_add(&w, "%s", "-DINGOT_NO_C_FILES");
    words_add(&w, (char *[]){"-x", "c++", NULL});
    for (int i = 0; i < b->text->n_files; i++)
        if (b->text->files[i].is_unit && !b->text->files[i].is_c)
            add_path(b, b->text->files[i].name, "", &w);
    words_add(&w, (char *[]){"-x", "none", NULL});
    for (int i = 0; i < b->text->n_files; i++)
        if (b->text->files[i].is_c)
            add_path(b, b->text->files[i].name, ".o", &w);
    if (b->toolkit.n) {
        word_add(&w, "-L%s/lib64", b->toolkit.s);
        word_add(&w, "-Wl,-rpath,%s/lib64", b->toolkit.s);
    }
    for (int i = 0; b->o->libraries[i]; i++) /* the driver and NVRTC are parts of our library */
        if (strcmp(b->o->libraries[i], "cuda") != 0 && strcmp(b->o->libraries[i], "nvrtc") != 0)
            word_add(&w, "-l%s", b->o->libraries[i]);
    compile_add_libraries(b->tools, &w);
    word_add(&w, "%s", "-o");
    add_path(b, "program", "", &w);
    const int ended = run_compiler(b, &w);
    word_list_free(&w);
    return ended;
}

/* ---- failures ---- */

/* Adds the message about the first library of NVIDIA's that the text includes; false if it includes none. The
 * library's front end knows them by their headers. With `all`, other libraries too. */
static bool find_foreign(const build *b, bool all, str *out)
{
    static const char *const hosts[] = {"MPI,",     "OpenCV,",   "Boost,", "OpenGL,",
                                        "PyTorch,", "pybind11,", "NVTX,"};
    bool found = false;
    for (int i = 0; b->o->sources[i] && !found; i++) {
        ig_error(NULL);
        ig_module *m = layout_module(b->o, b->o->sources[i], false);
        const char *why = m ? NULL : ig_error(NULL);
        for (const char *mark = why; !found && mark && (mark = strstr(mark, "[IG-LIB]")); mark++) {
            const char *line = mark, *name = line;
            while (line > why && line[-1] != '\n')
                line--;
            name = strstr(line, "belongs to ");
            bool is_host = false;
            for (size_t k = 0; name && k < sizeof hosts / sizeof *hosts; k++)
                is_host |= strncmp(name + 11, hosts[k], strlen(hosts[k])) == 0;
            if (is_host && !all)
                continue;
            const char *remedy = strstr(mark, "\n  do:");
            str_add(out, line, (size_t)(mark - line) + strcspn(mark, "\n"));
            if (remedy)
                str_add(out, remedy, 1 + strcspn(remedy + 1, "\n"));
            str_puts(out, "\n");
            found = true;
        }
        ig_module_free(m);
    }
    return found;
}

/* Refuses libraries of NVIDIA's before the compiler runs, which may find their headers. Returns -1, or the exit code. */
static int refuse_foreign(const build *b)
{
    str why = {0};
    const bool found = !b->text->for_nvrtc && find_foreign(b, false, &why);
    if (found)
        text_print(stderr, why.s);
    str_free(&why);
    return found ? EXIT_INPUT : -1;
}

static int explain_failure(const build *b, int ended)
{
    size_t bytes;
    str why = {0};
    char *printed = str_read_file(b->messages.s, MESSAGES_MOST_BYTES, &bytes);
    const char *text = printed ? printed : "";
    int code = EXIT_INPUT;
    if (process_interrupted()) {
        code = EXIT_INTERRUPTED;
    } else if (strstr(text, LAYOUT_NAME ":") && !strstr(text, "static assertion failed") &&
               !strstr(text, "static_assert failed")) {
        code = COMPILE_AGAIN;
    } else if (ended < 0) {
        say(b->c, "cannot run '%s': %s", b->tools->words.at[0], strerror(errno));
        code = EXIT_FAILED;
    } else if (find_foreign(b, true, &why) || explain_missing(text, &why)) {
        text_print(stderr, why.s);
    } else {
        text_print(stderr, text);
        say(b->c, "'%s' did not compile: see above", b->o->sources[0]);
    }
    str_free(&why);
    free(printed);
    return code;
}

static int finish(build *b, int ended)
{
    const int code = ended == 0 && !process_interrupted() ? -1 : explain_failure(b, ended);
    str_free(&b->messages);
    str_free(&b->toolkit);
    return code;
}

static build begin(const command *c, const program_options *o, const compiler *tools,
                   const rewrite_job *text, const char *folder)
{
    build b = {.c = c, .o = o, .tools = tools, .text = text, .folder = folder};
    str_printf(&b.messages, "%s/messages", folder);
    b.is_clang = ask_clang(tools);
    return b;
}

int compile_program(const command *c, const program_options *o, const compiler *tools,
                    const rewrite_job *text, const char *folder)
{
    build b = begin(c, o, tools, text, folder);
    const int code = refuse_foreign(&b);
    if (code >= 0) {
        str_free(&b.messages);
        return code;
    }
    if (wants_toolkit(&b))
        find_toolkit(&b);
    int ended = 0;
    for (int i = 0; ended == 0 && i < text->n_files; i++)
        if (text->files[i].is_c)
            ended = compile_c(&b, &text->files[i]);
    if (ended == 0)
        ended = compile_and_link(&b);
    return finish(&b, ended);
}

int compile_object(const command *c, const program_options *o, const compiler *tools,
                   const rewrite_job *text, const char *folder, const rewritten *file,
                   const char *action, const char *object)
{
    build b = begin(c, o, tools, text, folder);
    word_list w = {0};
    int code = refuse_foreign(&b);
    if (code < 0) {
        common_words(&b, false, &w);
        words_add(&w, (char *[]){"-x", "c++", (char *)action, NULL});
        add_path(&b, file->name, "", &w);
        word_add(&w, "%s", "-o");
        word_add(&w, "%s", object);
        code = finish(&b, run_compiler(&b, &w));
        word_list_free(&w);
        return code;
    }
    str_free(&b.messages);
    return code;
}
