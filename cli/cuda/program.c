/* ingot run, for whole programs: rewrite (cli/cuda), compile with c++, link with libingot, run.
 *
 * A compiled program is kept in the cache under all that it was made of: the rewritten text, our headers,
 * the options, the compiler and the library. */
#include "cuda/program.h"

#include "cuda/headers.h"
#include "cuda/rewrite.h"
#include "cuda/scan.h"
#include "base/cache.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#define SHARED_NAME "libingot.dylib"
#else
#define SHARED_NAME "libingot.so"
#endif

enum { SOURCE_MOST_BYTES = 64 << 20, SIGNAL_CODE = 128 };

static const cache programs = {"programs", UINT64_C(256) << 20};

/* What a run works on. */
typedef struct job {
    const command *c;
    const program_options *o;
    rewrite_job text;
    str folder;                 /* of all that is written; goes at the end */
    str program;                /* the executable in it */
    str compiler, library, key; /* paths; what the program depends on */
    str report, printed;        /* paths: what was found, and stdout if it is wanted */
} job;

bool program_has_main(const char *path)
{
    size_t bytes;
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) /* a pipe is read once */
        return false;
    char *text = str_read_file(path, SOURCE_MOST_BYTES, &bytes);
    if (!text)
        return false;
    scan s = scan_text(text, bytes);
    bool found = false;
    for (int i = 0; i + 1 < s.n && !found; i++)
        found = !s.at[i].directive && scan_is(&s.at[i], "main") && s.at[i + 1].mark == '(';
    scan_free(&s);
    free(text);
    return found;
}

/* ---- what is on the machine ---- */

/* Sets path to where a program is; false: nowhere. */
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

static bool find_compiler(job *j)
{
    static const char *const names[] = {"c++", "g++", "clang++"};
    const char *chosen = getenv("CXX");
    if (chosen && *chosen)
        return find_program(chosen, &j->compiler);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (find_program(names[i], &j->compiler))
            return true;
    return false;
}

/* The folder of this command, with a slash. */
static void own_folder(str *out)
{
    char path[PATH_MAX] = "";
#ifdef __APPLE__
    uint32_t room = sizeof path;
    if (_NSGetExecutablePath(path, &room) != 0)
        path[0] = 0;
#else
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    path[n > 0 ? n : 0] = 0;
#endif
    const char *slash = strrchr(path, '/');
    str_add(out, path, slash ? (size_t)(slash + 1 - path) : 0);
}

static bool find_library(job *j)
{
    static const char *const places[] = {"", "../lib/", "../lib64/"};
    static const char *const names[] = {SHARED_NAME, "libingot.a"};
    str folder = {0};
    bool found = false;
    own_folder(&folder);
    for (size_t i = 0; i < 6 && !found; i++) {
        str_free(&j->library);
        str_printf(&j->library, "%s%s%s", folder.s ? folder.s : "", places[i / 2], names[i % 2]);
        found = access(j->library.s, R_OK) == 0;
    }
    str_free(&folder);
    return found;
}

/* ---- the key ---- */

static void key_text(str *key, const char *text, size_t bytes)
{
    str_printf(key, "%zu:", bytes);
    str_add(key, text, bytes);
}

/* A file by what tells that it changed. */
static void key_file(str *key, const char *path)
{
    struct stat s = {0};
    stat(path, &s);
    str_printf(key, "%s %lld %lld\n", path, (long long)s.st_size, (long long)s.st_mtime);
}

static void key_list(str *key, const char *const *list)
{
    for (; *list; list++)
        key_text(key, *list, strlen(*list));
    str_puts(key, ".\n");
}

static void make_key(job *j)
{
    str_printf(&j->key, "1 %s\n", ig_version());
    key_file(&j->key, j->compiler.s);
    key_file(&j->key, j->library.s);
    key_list(&j->key, j->o->folders);
    key_list(&j->key, j->o->defines);
    key_list(&j->key, j->o->libraries);
    for (int i = 0; cuda_header_at(i).name; i++)
        key_text(&j->key, cuda_header_at(i).text, cuda_header_at(i).bytes);
    for (int i = 0; i < j->text.n_files; i++)
        key_text(&j->key, j->text.files[i].text.s, j->text.files[i].text.n);
}

/* ---- files ---- */

static int cannot(const job *j, const char *what, const char *path)
{
    say(j->c, "cannot %s '%s': %s", what, path, strerror(errno));
    return EXIT_FAILED;
}

/* Writes a new file into the job's folder. */
static int put(const job *j, const char *name, const void *bytes, size_t n, mode_t mode)
{
    str path = {0};
    str_printf(&path, "%s/%s", j->folder.s, name);
    char *slash = strrchr(path.s + j->folder.n + 1, '/');
    if (slash) { /* cooperative_groups/reduce.h */
        *slash = 0;
        mkdir(path.s, 0700);
        *slash = '/';
    }
    const int file = open(path.s, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    bool fine = file >= 0;
    for (size_t done = 0; fine && done < n;) {
        const ssize_t wrote = write(file, (const char *)bytes + done, n - done);
        fine = wrote > 0 || (wrote < 0 && errno == EINTR);
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    if (file >= 0)
        fine = close(file) == 0 && fine;
    const int code = fine ? -1 : cannot(j, "write", path.s);
    str_free(&path);
    return code;
}

static int make_folder(job *j)
{
    const char *where = getenv("TMPDIR");
    str_printf(&j->folder, "%s/ingot-run-XXXXXX", where && *where ? where : "/tmp");
    if (!mkdtemp(j->folder.s)) {
        const int code = cannot(j, "make the folder", j->folder.s);
        str_free(&j->folder);
        return code;
    }
    str_printf(&j->program, "%s/program", j->folder.s);
    str_printf(&j->report, "%s/report", j->folder.s);
    str_printf(&j->printed, "%s/printed", j->folder.s);
    return -1;
}

static void remove_folder(const job *j)
{
    if (!j->folder.s)
        return;
    str path = {0};
    unlink(j->report.s);
    unlink(j->printed.s);
    for (int i = 0; cuda_header_at(i).name || i < j->text.n_files; i++) {
        const char *names[] = {cuda_header_at(i).name,
                               i < j->text.n_files ? j->text.files[i].name : NULL};
        for (int k = 0; k < 2; k++) {
            str_free(&path);
            str_printf(&path, "%s/%s", j->folder.s, names[k] ? names[k] : "program");
            unlink(path.s);
            char *slash = strrchr(path.s + j->folder.n + 1, '/');
            if (slash) {
                *slash = 0;
                rmdir(path.s); /* the last of its files does it */
            }
        }
    }
    str_free(&path);
    rmdir(j->folder.s);
}

/* ---- processes ---- */

/* In the child: what the program's runtime is to know. False: with errno set. */
static bool prepare_child(const job *j)
{
    const program_options *o = j->o;
    char threads[16], watch[40];
    snprintf(threads, sizeof threads, "%d", o->threads);
    snprintf(watch, sizeof watch, "%s%s%s", o->check ? "check " : "", o->profile ? "profile " : "",
             o->json ? "quiet" : "");
    if (o->device)
        setenv("IG_CUDA_DEVICE", o->device, 1);
    if (o->threads)
        setenv("IG_NUM_THREADS", threads, 1);
    if (o->check || o->profile)
        setenv("IG_CUDA_WATCH", watch, 1);
    setenv("IG_CUDA_REPORT", j->report.s, 1);
    const int file = o->json ? open(j->printed.s, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    return !o->json || (file >= 0 && dup2(file, STDOUT_FILENO) >= 0 && close(file) == 0);
}

/* Runs the program at path to its end; returns its exit code, or -1 with errno set. While it runs, Ctrl-C
 * is its. j is NULL for programs that are not the user's. */
static int run_child(const char *path, char *const *argv, const job *j)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
    fflush(stdout);
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    const pid_t child = fork();
    if (child == 0) {
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGQUIT, &quit, NULL);
        if (!j || prepare_child(j))
            execv(path, argv);
        text_printf(stderr, "ingot run: cannot run '%s': %s\n", path, strerror(errno));
        _exit(126);
    }
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    if (child < 0)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNAL_CODE + WTERMSIG(status);
}

/* A growing list of words for a child; ends with NULL. */
typedef struct words {
    char **at;
    int n;
} words;

static void add_word(words *w, const char *format, const char *text)
{
    str word = {0};
    w->at = heap_resize(w->at, (size_t)(w->n + 2) * sizeof *w->at);
    str_printf(&word, format, text);
    w->at[w->n++] = word.s;
    w->at[w->n] = NULL;
}

static void free_words(words *w)
{
    for (int i = 0; i < w->n; i++)
        free(w->at[i]);
    free(w->at);
}

/* ---- compile and run ---- */

static void compile_words(const job *j, words *w)
{
    static const char *const flags[] = {"-std=gnu++17", "-O1", "-w", "-fsigned-char",
                                        "-pthread",     "-x",  "c++"};
    const char *slash = strrchr(j->library.s, '/');
    str folder = {0};
    str_add(&folder, j->library.s, (size_t)(slash - j->library.s));
    add_word(w, "%s", j->compiler.s);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        add_word(w, "%s", flags[i]);
    add_word(w, "-I%s", j->folder.s);
    for (int i = 0; j->o->folders[i]; i++)
        add_word(w, "-I%s", j->o->folders[i]);
    for (int i = 0; j->o->defines[i]; i++)
        add_word(w, "-D%s", j->o->defines[i]);
    for (int i = 0; i < j->text.n_files; i++)
        if (j->text.files[i].is_unit) {
            str path = {0};
            str_printf(&path, "%s/%s", j->folder.s, j->text.files[i].name);
            add_word(w, "%s", path.s);
            str_free(&path);
        }
    add_word(w, "%s", "-x");
    add_word(w, "%s", "none");
    add_word(w, "%s", j->library.s);
    add_word(w, "-Wl,-rpath,%s", folder.s);
    for (int i = 0; j->o->libraries[i]; i++)
        add_word(w, "-l%s", j->o->libraries[i]);
    add_word(w, "%s", "-lm");
    add_word(w, "%s", "-ldl");
    add_word(w, "%s", "-o");
    add_word(w, "%s", j->program.s);
    str_free(&folder);
}

static int count(const char *const *list)
{
    int n = 0;
    while (list[n])
        n++;
    return n;
}

/* The library knows by name what CUDA has beside itself, of which a C++ compiler only misses a file. */
static void tell_foreign(const job *j)
{
    const ig_module_options options = {.defines = j->o->defines,
                                       .n_defines = count(j->o->defines),
                                       .folders = j->o->folders,
                                       .n_folders = count(j->o->folders)};
    for (int i = 0; j->o->sources[i]; i++) {
        size_t bytes;
        char *text = str_read_file(j->o->sources[i], SOURCE_MOST_BYTES, &bytes);
        ig_module *m = text ? ig_module_new(j->o->sources[i], text, &options) : NULL;
        const char *why = m ? NULL : ig_error(NULL);
        if (why && strstr(why, "[IG-LIB]"))
            text_printf(stderr, "%s\n", why);
        ig_module_free(m);
        free(text);
    }
}

/* Compiles into j->program; -1, or the exit code. */
static int compile(job *j)
{
    words w = {0};
    int code = -1;
    for (int i = 0; code < 0 && cuda_header_at(i).name; i++) {
        const cuda_header h = cuda_header_at(i);
        code = put(j, h.name, h.text, h.bytes, 0600);
    }
    for (int i = 0; code < 0 && i < j->text.n_files; i++)
        code =
            put(j, j->text.files[i].name, j->text.files[i].text.s, j->text.files[i].text.n, 0600);
    if (code >= 0)
        return code;
    compile_words(j, &w);
    const int ended = run_child(j->compiler.s, w.at, NULL);
    free_words(&w);
    if (ended < 0)
        return cannot(j, "run", j->compiler.s);
    if (ended > 0) {
        say(j->c, "'%s' did not compile: see above", j->o->sources[0]);
        tell_foreign(j);
        return ended == SIGNAL_CODE + SIGINT ? EXIT_INTERRUPTED : EXIT_INPUT;
    }
    size_t bytes;
    char *made = str_read_file(j->program.s, (size_t)programs.max_bytes, &bytes);
    if (made)
        cache_put(&programs, j->key.s, j->key.n, made, bytes);
    free(made);
    return -1;
}

static int build(job *j)
{
    void *kept;
    size_t bytes;
    make_key(j);
    int code = make_folder(j);
    if (code >= 0)
        return code;
    if (!cache_get(&programs, j->key.s, j->key.n, &kept, &bytes))
        return compile(j);
    code = put(j, "program", kept, bytes, 0700);
    memory_free(kept);
    return code;
}

/* ---- what was found ---- */

/* The lines of the report that begin with one of the letters, as items of JSON; how many there are. */
static int add_lines(str *t, const char *report, const char *letters)
{
    int n = 0;
    for (const char *line = report; *line; line += strcspn(line, "\n") + 1) {
        const size_t bytes = strcspn(line, "\n");
        if (!line[bytes])
            break; /* cut off */
        if (!strchr(letters, *line))
            continue;
        if (t) {
            str_puts(t, n ? ", " : "");
            str_add(t, line + 1, bytes - 1);
        }
        n++;
    }
    return n;
}

static void json_told(const job *j, const char *report, int code)
{
    size_t bytes;
    char *printed = str_read_file(j->printed.s, SOURCE_MOST_BYTES, &bytes);
    str t = {0};
    str_puts(&t, "{\"schema\": 1, \"file\": ");
    json_string(&t, j->o->sources[0]);
    str_printf(&t, ", \"exit\": %d, ", code);
    if (j->o->check) {
        str_puts(&t, "\"findings\": [");
        add_lines(&t, report, "FN");
        str_puts(&t, "], ");
    }
    if (j->o->profile) {
        str_puts(&t, "\"profiles\": [");
        add_lines(&t, report, "P");
        str_puts(&t, "], ");
    }
    str_puts(&t, "\"printed\": ");
    json_string(&t, printed ? printed : "");
    str_puts(&t, "}\n");
    text_print(stdout, t.s);
    str_free(&t);
    free(printed);
}

/* What the whole run exits with, after the JSON was written if it is wanted. code is the program's: one
 * that looks at no error ends well although a kernel was not built, and did nothing. */
static int program_told(const job *j, int code)
{
    size_t bytes;
    char *report = str_read_file(j->report.s, SOURCE_MOST_BYTES, &bytes);
    const char *all = report ? report : "";
    const bool watched = j->o->check || j->o->profile;
    if (j->o->json)
        json_told(j, all, code);
    if (watched && *all && !add_lines(NULL, all, "E"))
        say(j->c,
            "the program did not come to its end (%s %d): what is only known there is missing",
            code > SIGNAL_CODE ? "signal" : "exit code",
            code > SIGNAL_CODE ? code - SIGNAL_CODE : code);
    const bool mistakes = add_lines(NULL, all, "F") > 0;
    const int unbuilt = add_lines(NULL, all, "B")   ? EXIT_INPUT
                        : add_lines(NULL, all, "U") ? EXIT_ABSENT
                                                    : EXIT_FINE;
    free(report);
    return mistakes ? EXIT_FAILED : code ? code : unbuilt;
}

static int start(const job *j)
{
    words w = {0};
    str name = {0}; /* what it would be called if it were compiled by hand */
    const char *dot = strrchr(j->o->sources[0], '.');
    str_add(&name, j->o->sources[0], dot ? (size_t)(dot - j->o->sources[0]) : 0);
    add_word(&w, "%s", name.n ? name.s : "program");
    str_free(&name);
    for (int i = 0; j->o->args[i]; i++)
        add_word(&w, "%s", j->o->args[i]);
    const int code = run_child(j->program.s, w.at, j);
    free_words(&w);
    if (code < 0)
        return cannot(j, "run", j->program.s);
    return program_told(j, code);
}

static bool is_ours(const char *name)
{
    for (int i = 0; cuda_header_at(i).name; i++)
        if (strcmp(cuda_header_at(i).name, name) == 0)
            return true;
    return false;
}

static int prepare(job *j)
{
    const bool watched = j->o->check || j->o->profile;
    if (watched && j->o->device && strcmp(j->o->device, "cpu") != 0) {
        say(j->c, "device '%s' cannot %s kernels; run it on 'cpu'", j->o->device,
            j->o->check ? "check" : "profile");
        return EXIT_ABSENT;
    }
    for (int i = 0; j->o->sources[i]; i++)
        if (rewrite_add(&j->text, j->o->sources[i]) < 0) {
            cannot(j, "read", j->o->sources[i]);
            return EXIT_INPUT;
        }
    if (!find_compiler(j)) {
        const char *chosen = getenv("CXX");
        say(j->c,
            "%s%s: a program's host side is C++; install one (Debian: apt-get install g++; "
            "macOS: xcode-select --install), or run one kernel with --kernel",
            chosen && *chosen ? "there is no C++ compiler " : "there is no C++ compiler",
            chosen && *chosen ? chosen : "");
        return EXIT_ABSENT;
    }
    if (!find_library(j)) {
        say(j->c, "libingot is neither beside this command nor in ../lib: programs are linked with "
                  "it; build it with 'make', or install it with 'make install'");
        return EXIT_ABSENT;
    }
    return -1;
}

int run_program(const command *c, const program_options *o)
{
    job j = {
        .c = c, .o = o, .text = {.folders = o->folders, .defines = o->defines, .is_ours = is_ours}};
    int code = prepare(&j);
    if (code < 0)
        code = build(&j);
    if (code < 0)
        code = start(&j);
    remove_folder(&j);
    rewrite_free(&j.text);
    str_free(&j.folder);
    str_free(&j.program);
    str_free(&j.compiler);
    str_free(&j.library);
    str_free(&j.key);
    str_free(&j.report);
    str_free(&j.printed);
    return code;
}
