/* One input: a CUDA source is rewritten and compiled with its device code as text; C and C++ sources go to the host's
 * compiler as they are, with our headers in place of CUDA's. */
#include "nvcc/nvcc.h"

#include "cuda/explain.h"
#include "cuda/folder.h"
#include "cuda/layout.h"
#include "cuda/process.h"
#include "cuda/rewrite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGES_MOST_BYTES = 16 << 20 };

/* In the child: the compiler's messages go to a file, in English and with quotes that explain_missing reads. */
static bool prepare_messages(const void *path)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    setenv("LC_ALL", "C", 1);
    return file >= 0 && dup2(file, STDERR_FILENO) >= 0 && close(file) == 0;
}

/* Prints the messages. Those of a compiler that failed for lack of a part of CUDA are one line for each part. */
static void show_messages(const char *path, bool failed)
{
    size_t bytes;
    str why = {0};
    char *text = str_read_file(path, MESSAGES_MOST_BYTES, &bytes);
    if (text)
        text_print(stderr, failed && explain_missing(text, &why) ? why.s : text);
    str_free(&why);
    free(text);
}

static int run(nvcc_job *j, const word_list *w, const char *messages)
{
    if (j->says_commands)
        nvcc_say_command(j, (const char *const *)w->at);
    if (j->dry)
        return -1;
    const process c = {.path = w->at[0],
                       .argv = w->at,
                       .own_group = true,
                       .prepare = messages ? prepare_messages : NULL,
                       .context = messages};
    const int ended = process_run(&c);
    if (messages)
        show_messages(messages, ended != 0);
    if (process_interrupted())
        return EXIT_INTERRUPTED;
    if (ended < 0)
        return folder_cannot(j->c, "run", w->at[0]);
    return ended == 0 ? -1 : EXIT_FAILED;
}

int nvcc_run(nvcc_job *j, const word_list *w) { return run(j, w, NULL); }

/* ---- rules for make ---- */

/* Adds a path as make reads it. */
static void add_path(str *out, const char *path)
{
    for (; *path; path++) {
        if (strchr(" #", *path))
            str_puts(out, "\\");
        str_add(out, path, 1);
        if (*path == '$')
            str_puts(out, "$");
    }
}

/* The file name without its folder and ending. */
static void add_stem(str *out, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    str_add(out, name, dot ? (size_t)(dot - name) : strlen(name));
}

static void rule_file(const nvcc_job *j, const nvcc_input *in, str *out)
{
    const char *object = in->object ? in->object : in->word;
    const char *dot = strrchr(object, '.');
    if (j->rule_file)
        str_puts(out, j->rule_file);
    else
        str_printf(out, "%.*s.d", dot ? (int)(dot - object) : (int)strlen(object), object);
}

static int write_rules(const nvcc_job *j, const nvcc_input *in, const rewrite_job *text)
{
    str t = {0}, path = {0};
    int code = -1;
    if (j->rule_target) {
        str_puts(&t, j->rule_target);
    } else if (in->object) {
        add_path(&t, in->object);
    } else {
        add_stem(&t, in->word);
        str_puts(&t, ".o");
    }
    str_puts(&t, " :");
    for (int pass = 0; pass < 2; pass++) /* the source first */
        for (int i = 0; i < text->n_files; i++)
            if (text->files[i].is_unit == !pass) {
                str_puts(&t, " ");
                add_path(&t, text->files[i].path);
            }
    str_puts(&t, "\n");
    for (int i = 0; i < text->n_files && j->rules_phony; i++)
        if (!text->files[i].is_unit) {
            add_path(&t, text->files[i].path);
            str_puts(&t, ":\n");
        }
    if (j->mode == NVCC_DEPENDENCIES && !j->rule_file && !j->output) {
        fputs(t.s, stdout);
    } else {
        if (j->mode == NVCC_DEPENDENCIES && !j->rule_file)
            str_puts(&path, j->output);
        else
            rule_file(j, in, &path);
        FILE *f = fopen(path.s, "w");
        if (!f || fwrite(t.s, 1, t.n, f) != t.n || fclose(f) != 0)
            code = folder_cannot(j->c, "write", path.s);
    }
    str_free(&t);
    str_free(&path);
    return code;
}

/* ---- CUDA ---- */

/* Folders as absolute paths, since the program may start in another folder. CUDA's own are left out. */
static void add_folders(const word_list *from, word_list *to)
{
    for (int i = 0; i < from->n; i++) {
        char *real = realpath(from->at[i], NULL);
        if (compile_takes_folder(from->at[i]))
            word_add(to, "%s", real ? real : from->at[i]);
        free(real);
    }
}

static void host_words(const nvcc_job *j, word_list *w)
{
    words_add(w, (char *[]){NULL});
    for (int i = 0; i < j->host.n; i++)
        word_add(w, "%s", j->host.at[i]);
    for (int i = 0; i < j->undefines.n; i++)
        word_add(w, "-U%s", j->undefines.at[i]);
}

static int compile_text(nvcc_job *j, const program_options *o, const rewrite_job *text,
                        const nvcc_input *in, bool with_layouts)
{
    int code = -1;
    const rewritten *unit = NULL;
    for (int i = 0; code < 0 && i < text->n_files; i++) {
        const rewritten *file = &text->files[i];
        str all = {0};
        str_add(&all, file->text.s, file->text.n);
        unit = file->is_unit ? file : unit;
        if (file->is_unit && with_layouts)
            layout_add(o, file->path, &all);
        code = folder_write(j->c, j->folder.s, file->name, all.s, all.n, 0600);
        str_free(&all);
    }
    return code >= 0 ? code
                     : compile_object(j->c, o, &j->tools, text, j->folder.s, unit,
                                      j->mode == NVCC_CPP ? "-E" : "-c", in->object);
}

/* Writes the device code as a file that a program loads. */
static int write_image(const nvcc_job *j, const rewrite_job *text, const nvcc_input *in)
{
    int i = 0;
    while (!text->files[i].is_unit)
        i++;
    const str *image = &text->files[i].text;
    FILE *f = fopen(in->object, "w");
    const bool fine = f && fwrite(image->s, 1, image->n, f) == image->n;
    return (f && fclose(f) != 0) || !fine ? folder_cannot(j->c, "write", in->object) : -1;
}

static int compile_cuda(nvcc_job *j, nvcc_input *in)
{
    const char *sources[] = {in->word, NULL};
    static const char *const nothing[] = {NULL};
    word_list folders = {0}, host = {0}, defines = {0}, device = {0};
    add_folders(&j->folders, &folders);
    add_folders(&j->systems, &folders);
    words_add(&folders, (char *[]){NULL});
    host_words(j, &host);
    for (int i = 0; i < j->defines.n; i++)
        word_add(&defines, "%s", j->defines.at[i]);
    for (int i = 0; i < j->device.n; i++)
        word_add(&device, "%s", j->device.at[i]);
#define LIST(w) ((w).n ? (const char *const *)(w).at : nothing)
    const program_options o = {.sources = sources,
                               .folders = LIST(folders),
                               .defines = LIST(defines),
                               .flags = LIST(host),
                               .device_flags = LIST(device),
                               .libraries = nothing,
                               .args = nothing};
#undef LIST
    rewrite_job text = {.folders = o.folders,
                        .defines = o.defines,
                        .options = o.device_flags,
                        .is_portable = true,
                        .is_image = nvcc_writes_image(j),
                        .is_linked = j->linked,
                        .all_cuda = true};
    const char *words[] = {
        "ingot-device", "-arch compute_70", in->word, "-o", in->object ? in->object : "-", NULL};
    int code = -1;
    if (j->says_commands)
        nvcc_say_command(j, words);
    if (rewrite_add(&text, in->word) < 0) {
        folder_cannot(j->c, "read", in->word);
        code = EXIT_INPUT;
    }
    if (code < 0 && nvcc_writes_image(j) && !j->dry) {
        code = write_image(j, &text, in);
    } else if (code < 0 && j->mode != NVCC_DEPENDENCIES && !j->dry) {
        code = compile_text(j, &o, &text, in, true);
        if (code == COMPILE_AGAIN)
            code = compile_text(j, &o, &text, in, false);
    }
    if (code < 0 && !j->dry && (j->writes_rules || j->mode == NVCC_DEPENDENCIES))
        code = write_rules(j, in, &text);
    rewrite_free(&text);
    word_list_free(&folders);
    word_list_free(&host);
    word_list_free(&defines);
    word_list_free(&device);
    return code;
}

/* ---- C and C++ ---- */

/* The command of the host's compiler for a file: C files go to CC. */
static int host_command(nvcc_job *j, const nvcc_input *in, word_list *w)
{
    const char *c = compiler_setting("CC");
    const bool is_c = in->kind == INPUT_C;
    if (is_c && !compiler_words(c ? c : "cc", w)) {
        say(j->c, "there is no C compiler '%s' (CC)", c ? c : "cc");
        return EXIT_ABSENT;
    }
    if (!is_c)
        words_add(w, j->tools.words.at);
    for (int i = 0; i < j->host.n; i++)
        if (!is_c || strncmp(j->host.at[i], "-std=", 5) != 0)
            word_add(w, "%s", j->host.at[i]);
    for (int i = 0; i < j->folders.n; i++)
        if (compile_takes_folder(j->folders.at[i]))
            word_add(w, "-I%s", j->folders.at[i]);
    word_add(w, "-I%s", j->folder.s); /* the program's own helper_functions.h comes first */
    for (int i = 0; i < j->systems.n; i++)
        if (compile_takes_folder(j->systems.at[i]))
            word_add(w, "-isystem%s", j->systems.at[i]);
    for (int i = 0; i < j->defines.n; i++)
        word_add(w, "-D%s", j->defines.at[i]);
    for (int i = 0; i < j->undefines.n; i++)
        word_add(w, "-U%s", j->undefines.at[i]);
    if (!is_c)
        word_add(w, "%s", "-D__NVCC__=1");
    return -1;
}

static int compile_host(nvcc_job *j, nvcc_input *in)
{
    word_list w = {0};
    str rules = {0}, messages = {0};
    int code = host_command(j, in, &w);
    if (j->mode == NVCC_DEPENDENCIES)
        word_add(&w, "%s", j->rules_without_system ? "-MM" : "-M");
    else if (j->mode == NVCC_PREPROCESS)
        word_add(&w, "%s", "-E");
    else
        word_add(&w, "%s", "-c");
    if (j->writes_rules) {
        rule_file(j, in, &rules);
        words_add(&w, (char *[]){j->rules_without_system ? "-MMD" : "-MD", "-MF", rules.s, NULL});
    }
    if (j->rule_target)
        words_add(&w, (char *[]){"-MT", (char *)j->rule_target, NULL});
    if (j->rules_phony)
        word_add(&w, "%s", "-MP");
    if (in->kind == INPUT_CUDA)
        words_add(&w, (char *[]){"-D__CUDACC__=1", "-include", "cuda_runtime.h", NULL});
    words_add(&w, (char *[]){"-x", in->kind == INPUT_C ? "c" : "c++", in->word, NULL});
    const char *output = in->object ? in->object : j->output;
    if (output)
        words_add(&w, (char *[]){"-o", (char *)output, NULL});
    str_printf(&messages, "%s/messages", j->folder.s);
    if (code < 0)
        code = run(j, &w, messages.s);
    str_free(&messages);
    str_free(&rules);
    word_list_free(&w);
    return code;
}

int nvcc_compile(nvcc_job *j, nvcc_input *in)
{
    if (access(in->word, R_OK) != 0) {
        folder_cannot(j->c, "read", in->word);
        return EXIT_INPUT;
    }
    if (nvcc_writes_image(j) && in->kind != INPUT_CUDA) {
        say(j->c, "'%s' has no device code: it is not a CUDA file", in->word);
        return EXIT_USAGE;
    }
    return in->kind == INPUT_CUDA && j->mode != NVCC_PREPROCESS ? compile_cuda(j, in)
                                                                : compile_host(j, in);
}
