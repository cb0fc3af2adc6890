/* The words of a command line for nvcc: options by the table of options.def, and inputs by their endings. */
#include "nvcc/nvcc.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST_BYTES = 16 << 20, NESTED_MOST = 8 };

typedef enum takes { TAKE_NOTHING, TAKE_VALUE, TAKE_JOINED } takes;
typedef enum action {
    DO_FLAG,
    DO_TEXT,
    DO_LIST,
    DO_OPTIONS, /* DO_LIST for words of another program */
    DO_HOST,
    DO_DEVICE,
    DO_MODE,
    DO_LINKED,     /* a mode, and device code is linked across files */
    DO_USER_RULES, /* a mode, and rules without system headers */
    DO_BOTH_RULES, /* rules beside objects, without system headers */
    DO_LINK,       /* an option of the linker, in the order of the inputs */
    DO_LIBRARY,
    DO_LINKER,
    DO_FILE, /* more options */
    DO_RDC,
    DO_DRY,
    DO_ANSWER,
    DO_TOOLKIT,
    DO_IGNORE,
    DO_REFUSE
} action;

typedef struct row {
    const char *names;
    takes takes;
    action action;
    size_t where; /* the offset of a member, or a number */
    const char *text;
} row;

static const row rows[] = {
#define AT(member) offsetof(nvcc_job, member)
#define ROW(names, takes, action, where, text) {names, TAKE_##takes, DO_##action, where, text},
#include "nvcc/options.def"
#undef ROW
#undef AT
};
enum { ROWS = sizeof rows / sizeof *rows };

/* ---- the table ---- */

static bool names_have(const char *names, const char *word, size_t bytes)
{
    for (const char *n = names; *n; n += strspn(n, " ")) {
        const size_t length = strcspn(n, " ");
        if (length == bytes && memcmp(n, word, bytes) == 0)
            return true;
        n += length;
    }
    return false;
}

/* The row of a word, and its value if the word has one: "-arch=sm_70", "-O3". */
static const row *find_row(const char *word, const char **value)
{
    const size_t bytes = strcspn(word, "=");
    *value = word[bytes] ? word + bytes + 1 : NULL;
    for (int i = 0; i < ROWS; i++)
        if (names_have(rows[i].names, word, bytes))
            return &rows[i];
    for (int i = 0; i < ROWS && word[1] != '-'; i++)
        if (rows[i].takes == TAKE_JOINED && names_have(rows[i].names, word, 2)) {
            *value = word + 2 + (word[2] == '=');
            return &rows[i];
        }
    return NULL;
}

void nvcc_list_options(str *t)
{
    for (int i = 0; i < ROWS; i++) {
        const row *r = &rows[i];
        if (r->action == DO_ANSWER || r->action == DO_TOOLKIT)
            continue;
        str_printf(t, "  %s%s\n      %s%s\n", r->names, r->takes == TAKE_NOTHING ? "" : " VALUE",
                   r->action == DO_IGNORE   ? "accepted without effect: "
                   : r->action == DO_REFUSE ? "refused: "
                                            : "",
                   r->text);
    }
}

/* ---- actions ---- */

/* Adds the items between commas; a backslash or quotes keep a comma. */
static void add_items(word_list *list, const char *value)
{
    str item = {0};
    char quote = 0;
    for (const char *p = value;; p++) {
        if (!*p || (*p == ',' && !quote)) {
            if (item.n)
                word_add(list, "%s", item.s);
            str_free(&item);
            if (!*p)
                return;
        } else if (*p == '\\' && p[1] == ',') {
            str_add(&item, ++p, 1);
        } else if (quote && *p == quote) {
            quote = 0;
        } else if (!quote && (*p == '"' || *p == '\'') && (p == value || p[-1] == ',')) {
            quote = *p;
        } else {
            str_add(&item, p, 1);
        }
    }
}

static void add_input(nvcc_job *j, const char *word, nvcc_kind kind)
{
    j->inputs = heap_resize(j->inputs, (size_t)(j->n_inputs + 1) * sizeof *j->inputs);
    j->inputs[j->n_inputs++] = (nvcc_input){.word = heap_string(word), .kind = kind};
}

static void add_each(nvcc_job *j, const char *format, const char *value)
{
    word_list items = {0};
    add_items(&items, value);
    for (int i = 0; i < items.n; i++) {
        str word = {0};
        str_printf(&word, format, items.at[i]);
        add_input(j, word.s, INPUT_LINKED);
        str_free(&word);
    }
    word_list_free(&items);
}

/* CUDA's own libraries. Those that Ingot has are part of libingot; the others are left out, and a program that calls
 * them was refused when it was compiled. */
static void add_library(nvcc_job *j, const char *value)
{
    static const char ours[] = "cuda cudart cudart_static cudadevrt nvidia-ml nvrtc";
    static const char theirs[] = "cublas cublasLt cublas_static cublasLt_static cufft cufft_static "
                                 "curand curand_static cusparse "
                                 "cusolver cusparse_static nvToolsExt nppc nppig nvrtc-builtins "
                                 "culibos cupti cudnn";
    word_list items = {0};
    add_items(&items, value);
    for (int i = 0; i < items.n; i++) {
        const size_t n = strlen(items.at[i]);
        str word = {0};
        if (names_have(theirs, items.at[i], n))
            say(j->c, "-l%s is left out: this library of NVIDIA's is not part of Ingot",
                items.at[i]);
        else if (!names_have(ours, items.at[i], n)) {
            str_printf(&word, "-l%s", items.at[i]);
            add_input(j, word.s, INPUT_LINKED);
            str_free(&word);
        }
    }
    word_list_free(&items);
}

static int read_words(nvcc_job *j, int argc, char **argv, int nested);

/* Splits text into words at blanks; quotes and backslashes keep blanks, as in a shell. */
static void split_words(const char *text, word_list *out)
{
    str word = {0};
    bool begun = false;
    char quote = 0;
    for (const char *p = text;; p++) {
        if (!*p || (isspace((unsigned char)*p) && !quote)) {
            if (begun)
                word_add(out, "%s", word.s ? word.s : "");
            str_free(&word);
            begun = false;
            if (!*p)
                return;
        } else if (*p == '\\' && p[1] && quote != '\'') {
            str_add(&word, ++p, 1);
            begun = true;
        } else if (quote ? *p == quote : *p == '"' || *p == '\'') {
            quote = quote ? 0 : *p;
            begun = true;
        } else {
            str_add(&word, p, 1);
            begun = true;
        }
    }
}

static int read_text(nvcc_job *j, const char *text, int nested)
{
    word_list w = {0};
    split_words(text, &w);
    const int code = read_words(j, w.n, w.at, nested);
    /* The job points into the words, so they are kept until the process ends. */
    free(w.at);
    return code;
}

static int read_file(nvcc_job *j, const char *path, int nested)
{
    size_t bytes;
    char *text = nested < NESTED_MOST ? str_read_file(path, FILE_MOST_BYTES, &bytes) : NULL;
    if (!text) {
        say(j->c, "cannot read the options in '%s': %s", path,
            nested < NESTED_MOST ? strerror(errno) : "files of options name each other");
        return EXIT_INPUT;
    }
    const int code = read_text(j, text, nested + 1);
    free(text);
    return code;
}

static int act(nvcc_job *j, const row *r, const char *word, const char *value, int nested)
{
    char *member = (char *)j + r->where;
    switch (r->action) {
    case DO_FLAG: *(bool *)member = true; break;
    case DO_TEXT: *(const char **)member = value; break;
    case DO_LIST:
    case DO_OPTIONS: add_items((word_list *)member, value); break;
    case DO_HOST: word_add(&j->host, "%s", r->text); break;
    case DO_DEVICE:
        word_add(&j->device, value ? "%s=" : "%s", r->text);
        if (value) {
            str t = {0};
            str_printf(&t, "%s=%s", r->text, value);
            free(j->device.at[j->device.n - 1]);
            j->device.at[j->device.n - 1] = t.s;
        }
        break;
    case DO_LINKED:
        j->linked = true;
        j->mode = (nvcc_mode)r->where;
        break;
    case DO_USER_RULES:
        j->rules_without_system = true;
        j->mode = (nvcc_mode)r->where;
        break;
    case DO_MODE: j->mode = (nvcc_mode)r->where; break;
    case DO_BOTH_RULES: j->writes_rules = j->rules_without_system = true; break;
    case DO_LINK: add_each(j, "-L%s", value); break;
    case DO_LIBRARY: add_library(j, value); break;
    case DO_LINKER: add_each(j, "-Wl,%s", value); break;
    case DO_FILE: return read_file(j, value, nested);
    case DO_RDC: j->linked = strcmp(value, "true") == 0; break;
    case DO_DRY: j->dry = j->says_commands = true; break;
    case DO_ANSWER: j->answer = (int)r->where; break;
    case DO_TOOLKIT: j->toolkit = value; break;
    case DO_IGNORE: break;
    case DO_REFUSE: say(j->c, "'%s' is not supported: %s", word, r->text); return EXIT_ABSENT;
    }
    return -1;
}

/* ---- words ---- */

static bool ends_in(const char *path, const char *endings)
{
    const char *dot = strrchr(path, '.');
    return dot && !strchr(dot, '/') && names_have(endings, dot, strlen(dot));
}

static int add_file(nvcc_job *j, const char *path)
{
    if (ends_in(path, ".cu"))
        add_input(j, path, INPUT_CUDA);
    else if (ends_in(path, ".c"))
        add_input(j, path, INPUT_C);
    else if (ends_in(path, ".cpp .cc .cxx .C .c++ .CPP"))
        add_input(j, path, INPUT_CPP);
    else if (ends_in(path, ".ptx .cubin .fatbin .ltoir")) {
        say(j->c, "'%s' is code for NVIDIA's processors; compile its source", path);
        return EXIT_ABSENT;
    } else
        add_input(j, path, INPUT_LINKED);
    return -1;
}

/* True for options that are the host compiler's, which nvcc passes on only if it is asked to. */
static bool is_for_host(const nvcc_job *j, const char *word)
{
    return j->forwards || strncmp(word, "-f", 2) == 0 || strncmp(word, "-W", 2) == 0 ||
           strncmp(word, "-m", 2) == 0 || strcmp(word, "-pthread") == 0 ||
           strcmp(word, "-pedantic") == 0 || strcmp(word, "-rdynamic") == 0;
}

static int read_words(nvcc_job *j, int argc, char **argv, int nested)
{
    for (int i = 0, code; i < argc; i++) {
        const char *word = argv[i], *value;
        if (*word == '@' || (word[0] != '-' || !word[1])) {
            code = *word == '@' ? read_file(j, word + 1, nested) : add_file(j, word);
            if (code >= 0)
                return code;
            continue;
        }
        const row *r = find_row(word, &value);
        if (!r && is_for_host(j, word)) {
            word_add(&j->host, "%s", word);
            continue;
        }
        if (!r) {
            say(j->c,
                "unknown option '%s'; options of the host's compiler follow -Xcompiler, see "
                "'ingot nvcc --help'",
                word);
            return EXIT_USAGE;
        }
        if (r->takes == TAKE_NOTHING) {
            value = NULL;
        } else if (!value || !*value) {
            if (i + 1 == argc) {
                say(j->c, "'%s' needs a value", word);
                return EXIT_USAGE;
            }
            value = argv[++i];
        }
        code = act(j, r, word, value, nested);
        if (code >= 0)
            return code;
    }
    return -1;
}

/* ---- the command line ---- */

/* Applies -x to the sources. */
static int set_language(nvcc_job *j)
{
    const char *x = j->language;
    const nvcc_kind kind = x && strcmp(x, "c") == 0    ? INPUT_C
                           : x && strcmp(x, "cu") == 0 ? INPUT_CUDA
                                                       : INPUT_CPP;
    if (!x)
        return -1;
    if (strcmp(x, "cu") != 0 && strcmp(x, "c") != 0 && strcmp(x, "c++") != 0) {
        say(j->c, "'-x %s' is not supported; use cu, c or c++", x);
        return EXIT_USAGE;
    }
    for (int i = 0; i < j->n_inputs; i++) {
        nvcc_input *in = &j->inputs[i];
        if (*in->word != '-' && !ends_in(in->word, ".o .a .so .obj .lib"))
            in->kind = kind;
    }
    return -1;
}

static void set_standard(nvcc_job *j)
{
    static const char old[] = "c++03 c++11 c++14 c++98 gnu++03 gnu++11 gnu++14 gnu++98";
    if (j->optimize) {
        word_add(&j->host, "-O%s", j->optimize);
    }
    if (!j->standard)
        return;
    const bool is_old = names_have(old, j->standard, strlen(j->standard));
    word_add(&j->host, "-std=%s", is_old ? "gnu++17" : j->standard);
    const size_t n = strlen(j->standard);
    word_add(&j->device, "-std=c++%s", is_old || n < 2 ? "17" : j->standard + n - 2);
}

int nvcc_read(nvcc_job *j, int argc, char **argv)
{
    const char *before = getenv("NVCC_PREPEND_FLAGS"), *after = getenv("NVCC_APPEND_FLAGS");
    int code = before ? read_text(j, before, 0) : -1;
    if (code < 0)
        code = read_words(j, argc, argv, 0);
    if (code < 0 && after)
        code = read_text(j, after, 0);
    if (code < 0)
        code = set_language(j);
    if (code < 0)
        set_standard(j);
    return code;
}

void nvcc_free(nvcc_job *j)
{
    word_list *const lists[] = {&j->defines, &j->undefines, &j->folders,  &j->systems,
                                &j->host,    &j->device,    &j->archiver, &j->run_args};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        word_list_free(lists[i]);
    for (int i = 0; i < j->n_inputs; i++) {
        free(j->inputs[i].word);
        free(j->inputs[i].object);
    }
    free(j->inputs);
    str_free(&j->folder);
    compiler_free(&j->tools);
}
