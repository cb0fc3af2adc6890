/* ingot run for whole programs: rewrite (cli/cuda), compile with c++, link with libingot, run.
 *
 * A compiled program is kept in the cache. Its key is everything that it was built from: the rewritten text,
 * our headers, the options, the compiler and the library. All files are written into one temporary folder,
 * which is always removed when the run ends. */
#include "cuda/program.h"

#include "cuda/process.h"
#include "cuda/compile.h"
#include "cuda/folder.h"
#include "cuda/headers.h"
#include "cuda/layout.h"
#include "cuda/rewrite.h"
#include "base/cache.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SOURCE_MOST_BYTES = 64 << 20 };

static const cache programs = {"programs", UINT64_C(256) << 20};

/* One run. */
typedef struct job {
    const command *c;
    const program_options *o;
    rewrite_job text;
    compiler tools;
    str folder;          /* the temporary folder */
    str program;         /* the executable in it */
    str key;             /* of the cache */
    str report, printed; /* paths: the runtime's report, and stdout if it is captured */
} job;

bool program_has_main(const char *path)
{
    size_t bytes;
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) /* a pipe can be read only once */
        return false;
    char *text = str_read_file(path, SOURCE_MOST_BYTES, &bytes);
    if (!text)
        return false;
    const bool found = rewrite_has_main(text, bytes);
    free(text);
    return found;
}

/* ---- the key ---- */

static void key_text(str *key, const char *text, size_t bytes)
{
    str_printf(key, "%zu:", bytes);
    str_add(key, text, bytes);
}

/* Adds a file's size and modification time to the key. */
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
    str_printf(&j->key, "2 %s\n", ig_version());
    key_file(&j->key, j->tools.words.at[0]);
    key_file(&j->key, j->tools.library.s);
    key_list(&j->key, (const char *const *)j->tools.words.at);
    key_list(&j->key, j->o->flags);
    key_list(&j->key, j->o->device_flags);
    key_list(&j->key, j->o->folders);
    key_list(&j->key, j->o->defines);
    key_list(&j->key, j->o->libraries);
    for (size_t i = 0; j->text.for_nvrtc && i < 2; i++) { /* the folders of CUDA's libraries */
        const char *home = getenv(i ? "CUDA_PATH" : "CUDA_HOME");
        key_text(&j->key, home ? home : "", home ? strlen(home) : 0);
    }
    for (int i = 0; cuda_header_at(i).name; i++)
        key_text(&j->key, cuda_header_at(i).text, cuda_header_at(i).bytes);
    for (int i = 0; i < j->text.n_files; i++)
        key_text(&j->key, j->text.files[i].text.s, j->text.files[i].text.n);
}

static int make_folder(job *j)
{
    const int code = folder_make(j->c, &j->folder);
    if (code >= 0)
        return code;
    str_printf(&j->program, "%s/program", j->folder.s);
    str_printf(&j->report, "%s/report", j->folder.s);
    str_printf(&j->printed, "%s/printed", j->folder.s);
    return -1;
}

/* ---- processes ---- */

/* In the child: sets the environment of the program's runtime. False with errno set on failure. */
static bool prepare_child(const void *context)
{
    const job *j = context;
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
    const bool keep = o->json || o->output;
    const int file = keep ? open(j->printed.s, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    return !keep || (file >= 0 && dup2(file, STDOUT_FILENO) >= 0 && close(file) == 0);
}

/* ---- compile and run ---- */

/* Writes the rewritten files and compiles them. */
static int compile_files(job *j, bool check_layouts)
{
    int code = -1;
    for (int i = 0; code < 0 && i < j->text.n_files; i++) {
        const rewritten *file = &j->text.files[i];
        str text = {0};
        str_add(&text, file->text.s, file->text.n);
        if (check_layouts && !j->text.for_nvrtc && file->is_unit && file->uses_cuda && !file->is_c)
            layout_add(j->o, file->path, &text);
        code = folder_write(j->c, j->folder.s, file->name, text.s, text.n, 0600);
        str_free(&text);
    }
    return code >= 0 ? code : compile_program(j->c, j->o, &j->tools, &j->text, j->folder.s);
}

/* Compiles into j->program; -1, or the exit code. */
static int compile(job *j)
{
    int code = folder_write_headers(j->c, j->folder.s, j->text.for_nvrtc);
    if (code < 0)
        code = compile_files(j, true);
    if (code == COMPILE_AGAIN)
        code = compile_files(j, false);
    if (code >= 0)
        return code;
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
    code = folder_write(j->c, j->folder.s, "program", kept, bytes, 0700);
    ig_free(kept);
    return code;
}

/* ---- the report ---- */

/* Adds the report's lines that begin with one of the letters, as JSON items; returns their number. */
static int add_lines(str *t, const char *report, const char *letters)
{
    int n = 0;
    for (const char *line = report; *line; line += strcspn(line, "\n") + 1) {
        const size_t bytes = strcspn(line, "\n");
        if (!line[bytes])
            break; /* a truncated line */
        if (!strchr(letters, *line))
            continue;
        if (t) {
            str_json_raw(t, ""); /* the comma */
            str_add(t, line + 1, bytes - 1);
        }
        n++;
    }
    return n;
}

static void add_json(const job *j, const char *report, int code, str *t)
{
    size_t bytes;
    char *printed = str_read_file(j->printed.s, SOURCE_MOST_BYTES, &bytes);
    str_json(t, "{schema: 1, file: %s, exit: %d", j->o->sources[0], code);
    if (j->o->check) {
        str_json(t, "findings: [");
        add_lines(t, report, "FN");
        str_json(t, "]");
    }
    if (j->o->profile) {
        str_json(t, "profiles: [");
        add_lines(t, report, "P");
        str_json(t, "]");
    }
    str_json(t, "printed: %s}\n", printed ? printed : "");
    free(printed);
}

/* The exit code of the whole run; also adds the JSON if it is requested. code is the program's exit code. A
 * program that ignores errors succeeds even if a kernel could not be built and did not run; the run then
 * fails. */
static int read_report(const job *j, int code, str *json)
{
    size_t bytes;
    char *report = str_read_file(j->report.s, SOURCE_MOST_BYTES, &bytes);
    const char *all = report ? report : "";
    const bool watched = j->o->check || j->o->profile;
    if (j->o->json)
        add_json(j, all, code, json);
    if (watched && *all && !add_lines(NULL, all, "E") && !process_interrupted())
        say(j->c,
            "the program was stopped before its end (%s %d); findings that need its end are "
            "missing",
            code > PROCESS_SIGNAL_CODE ? "signal" : "exit code",
            code > PROCESS_SIGNAL_CODE ? code - PROCESS_SIGNAL_CODE : code);
    const bool mistakes = add_lines(NULL, all, "F") > 0;
    const int unbuilt = add_lines(NULL, all, "B")   ? EXIT_INPUT
                        : add_lines(NULL, all, "U") ? EXIT_ABSENT
                                                    : EXIT_FINE;
    free(report);
    return mistakes ? EXIT_FAILED : code ? code : unbuilt;
}

static int start(const job *j, str *json)
{
    word_list w = {0};
    str name = {0}; /* argv[0]: the name that a compiler would give the program */
    const char *dot = strrchr(j->o->sources[0], '.');
    str_add(&name, j->o->sources[0], dot ? (size_t)(dot - j->o->sources[0]) : 0);
    word_add(&w, "%s", name.n ? name.s : "program");
    str_free(&name);
    for (int i = 0; j->o->args[i]; i++)
        word_add(&w, "%s", j->o->args[i]);
    const process c = {.path = j->program.s, .argv = w.at, .prepare = prepare_child, .context = j};
    const int code = process_run(&c);
    word_list_free(&w);
    if (code < 0)
        return folder_cannot(j->c, "run", j->program.s);
    if (j->o->output) {
        size_t bytes;
        char *printed = str_read_file(j->printed.s, SOURCE_MOST_BYTES, &bytes);
        str_add(j->o->output, printed ? printed : "", printed ? bytes : 0);
        free(printed);
    }
    return read_report(j, code, json);
}

static int prepare(job *j)
{
    const bool watched = j->o->check || j->o->profile;
    if (watched && j->o->device && strcmp(j->o->device, "cpu") != 0) {
        say(j->c, "device '%s' cannot %s kernels; use 'cpu'", j->o->device,
            j->o->check ? "check" : "profile");
        return EXIT_ABSENT;
    }
    for (int i = 0, n = 0; j->o->sources[i]; i++) /* device code of several files is linked */
        j->text.is_linked |= str_ends(j->o->sources[i], ".cu") && n++;
    for (int i = 0; j->o->sources[i]; i++)
        if (rewrite_add(&j->text, j->o->sources[i]) < 0) {
            folder_cannot(j->c, "read", j->o->sources[i]);
            return EXIT_INPUT;
        }
    return compiler_find(j->c, &j->tools);
}

/* The device that "gpu" means: the first GPU. */
static const char *best_gpu(void)
{
    ig_device_info info = {0};
    for (int i = 0; i < ig_device_count(); i++)
        if (ig_device_get(i, &info) == IG_OK && strcmp(info.kind, "gpu") == 0)
            return info.name;
    return NULL;
}

/* True if the program runs on an NVIDIA GPU, where NVRTC compiles its text. */
static bool is_cuda(const program_options *o)
{
    const char *name = o->device ? o->device : getenv("IG_CUDA_DEVICE");
    if (!name || !*name)
        name = getenv("IG_DEVICE");
    if (name && strcmp(name, "gpu") == 0)
        name = best_gpu();
    return name && strncmp(name, "cuda", 4) == 0 && (!name[4] || name[4] == ':');
}

int run_program(const command *c, const program_options *o)
{
    job j = {.c = c,
             .o = o,
             .text = {.folders = o->folders,
                      .defines = o->defines,
                      .options = o->device_flags,
                      .for_nvrtc = is_cuda(o)}};
    str json = {0};
    process_guard_begin();
    int code = prepare(&j);
    if (code < 0)
        code = build(&j);
    if (code < 0)
        code = start(&j, &json);
    if (j.folder.s)
        folder_remove(j.folder.s);
    if (json.n)
        text_print(stdout, json.s);
    process_guard_end();
    str_free(&json);
    rewrite_free(&j.text);
    compiler_free(&j.tools);
    str_free(&j.folder);
    str_free(&j.program);
    str_free(&j.key);
    str_free(&j.report);
    str_free(&j.printed);
    return code;
}
