/* The calculator at a terminal: reads lines, answers questions about ops and variables, completes names.
 *
 * Ctrl-C cancels the line that is typed or the computation that runs. Variables do not change. */
#include "calc/interactive.h"

#include "cli.h"
#include "progress.h"
#include "prompt.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Ctrl-C ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t interrupts; /* since the line was entered */
static volatile sig_atomic_t computes;

static void on_interrupt(int number)
{
    static const char patience[] =
        "\ningot eval: it stops after this step; Ctrl-\\ ends the program\n";
    (void)number;
    interrupts++;
    ig_cancel();
    prompt_interrupt();
    if (computes && interrupts == 2 && write(STDERR_FILENO, patience, sizeof patience - 1) < 0)
        return;
}

bool interactive_stopped(void) { return interrupts != 0; }

/* ---- long texts ------------------------------------------------------------------------------ */

static bool in_path(const char *program)
{
    const char *path = getenv("PATH");
    bool found = false;
    while (path && *path && !found) {
        const size_t n = strcspn(path, ":");
        str file = {0};
        str_printf(&file, "%.*s/%s", (int)n, path, program);
        found = access(file.s, X_OK) == 0;
        str_free(&file);
        path += n + (path[n] == ':');
    }
    return found;
}

/* The program that shows texts longer than the terminal; NULL if there is none. */
static const char *find_pager(void)
{
    const char *pager = getenv("PAGER"), *terminal = getenv("TERM");
    if (pager)
        return *pager ? pager : NULL;
    if (!terminal || strcmp(terminal, "dumb") == 0)
        return NULL;
    return in_path("less") ? "less" : in_path("more") ? "more" : NULL;
}

static int terminal_lines(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

/* Shows the text with the pager; false if it could not be run. */
static bool show_paged(const char *pager, const str *t)
{
    fflush(stdout);
    setenv("LESS", "FRX", 0);
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* the pager may end before it has read all */
    FILE *out = popen(pager, "w");
    if (out)
        fwrite(t->s, 1, t->n, out);
    const int status = out ? pclose(out) : -1;
    signal(SIGPIPE, before);
    return status >= 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

/* Prints the text, which is not empty; releases it. */
static void show_text(str *t)
{
    int lines = 1;
    if (t->s[t->n - 1] != '\n')
        str_puts(t, "\n");
    for (size_t i = 0; i < t->n; i++)
        lines += t->s[i] == '\n';
    const char *pager = lines > terminal_lines() ? find_pager() : NULL;
    if (!pager || !show_paged(pager, t))
        text_print(stdout, t->s);
    fflush(stdout);
    str_free(t);
}

/* ---- questions ------------------------------------------------------------------------------- */

static uint64_t value_bytes(const value *v)
{
    uint64_t bytes = 0;
    if (v->kind == V_ARRAY)
        bytes = (uint64_t)ig_size(v->u.array) * ig_dtype_bytes(ig_dtype_of(v->u.array));
    for (int i = 0; value_has_parts(v) && i < v->u.items.n; i++)
        bytes += value_bytes(&v->u.items.v[i]);
    return bytes;
}

static void describe_variable(str *t, const char *name, int width, const value *v)
{
    const uint64_t bytes = value_bytes(v);
    str_printf(t, "%-*s  ", width, name);
    print_brief(t, v);
    if (bytes) {
        str_puts(t, "  ");
        str_size(t, bytes);
    }
    str_puts(t, "\n");
}

static void list_variables(const calc *c)
{
    str t = {0};
    const char *name;
    const value *v;
    int width = 0;
    for (int i = 0; (name = calc_name_at(c, i, &v)); i++)
        width = (int)strlen(name) > width ? (int)strlen(name) : width;
    for (int i = 0; (name = calc_name_at(c, i, &v)); i++)
        describe_variable(&t, name, width, v);
    if (!t.n)
        str_puts(&t, "there are no variables yet; x = 2.0 makes one");
    show_text(&t);
}

static void describe_name(const calc *c, const char *name)
{
    str t = {0};
    const char *variable;
    const value *v;
    for (int i = 0; (variable = calc_name_at(c, i, &v)); i++)
        if (strcmp(variable, name) == 0) {
            describe_variable(&t, name, 0, v);
            show_text(&t);
            return;
        }
    if (!*name)
        ops_list(&t);
    else if (!ops_describe(&t, name))
        ops_nearest(&t, name);
    show_text(&t);
}

/* The name in a question: "help NAME", "help(NAME)", "NAME?", "?NAME". Returns a new text, "" for "help" alone; NULL if
 * the line is not a question. */
static char *question_name(const char *line)
{
    size_t n = strlen(line);
    const bool marked = n > 1 && (line[0] == '?' || line[n - 1] == '?');
    if (marked && line[0] == '?')
        line++, n--;
    else if (marked)
        n--;
    else if (strncmp(line, "help", 4) == 0 && strchr(" (", line[4]))
        line += 4, n -= 4;
    else
        return NULL;
    while (n && strchr(" (", *line))
        line++, n--;
    while (n && strchr(" )", line[n - 1]))
        n--;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)line[i]) && line[i] != '_')
            return NULL;
    char *name = heap_string(line);
    name[n] = 0;
    return name;
}

static bool is_word(const char *line, const char *word)
{
    const size_t n = strlen(word);
    return strncmp(line, word, n) == 0 && (!line[n] || strcmp(line + n, "()") == 0);
}

/* ---- completion ------------------------------------------------------------------------------ */

/* The text that is completed. The text before the name stays. */
typedef struct partial {
    const char *line;
    int start; /* of the text that is replaced */
    int name;  /* where the name begins */
    int end;
} partial;

static void offer(const partial *p, const char *name, const char *after)
{
    const size_t n = (size_t)(p->end - p->name);
    if (strncmp(name, p->line + p->name, n) != 0 || strlen(name) < n)
        return;
    str t = {0};
    str_add(&t, p->line + p->start, (size_t)(p->name - p->start));
    str_printf(&t, "%s%s", name, after);
    prompt_offer(t.s);
    str_free(&t);
}

/* The name before the last open bracket of line[0 .. end): the function whose arguments are typed. *n is its length.
 * NULL if no bracket is open, or if there is no name before it. */
static const char *function_at(const char *line, int end, int *n)
{
    int depth = 0;
    for (int i = end - 1; i >= 0; i--) {
        depth += line[i] == ')' ? 1 : line[i] == '(' ? -1 : 0;
        if (depth >= 0)
            continue;
        int from = i;
        while (from > 0 && (isalnum((unsigned char)line[from - 1]) || line[from - 1] == '_'))
            from--;
        *n = i - from;
        return *n ? line + from : NULL;
    }
    return NULL;
}

/* The parameters of the op that is called, as keywords. */
static void offer_keywords(const partial *p)
{
    int n;
    const char *function = function_at(p->line, p->name, &n);
    for (int i = 0; function && i < ig_op_count(); i++) {
        const ig_op *op = ig_op_at(i);
        for (int k = 0; strlen(op->name) == (size_t)n &&
                        memcmp(op->name, function, (size_t)n) == 0 && k < op->n_params;
             k++)
            offer(p, op->params[k].name, "=");
    }
}

/* True if a function takes a file of this name: kernels are .cu files, load and save know some suffixes. */
static bool takes_file(const char *function, int n, const char *file)
{
    static const struct {
        const char *function, *endings;
    } rows[] = {{"kernel", ".cu .cuh "},
                {"load", ".npy .npz .safetensors .gguf .csv .tsv .txt "},
                {"save", ".npy .npz .safetensors .csv .tsv .txt "}};
    const char *dot = strrchr(file, '.');
    for (size_t i = 0; function && i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].function) == (size_t)n &&
            memcmp(rows[i].function, function, (size_t)n) == 0) {
            const char *at = dot ? strstr(rows[i].endings, dot) : NULL;
            return at && at[strlen(dot)] == ' ';
        }
    return true;
}

/* Offers files whose path begins with line[quote + 1 .. end): those that the function takes, and all folders. */
static void offer_files(const partial *p, int quote)
{
    int n_function = 0;
    const char *function = function_at(p->line, quote, &n_function);
    str folder = {0}, path = {0};
    int name = p->end;
    while (name > quote + 1 && p->line[name - 1] != '/')
        name--;
    str_add(&folder, p->line + quote + 1, (size_t)(name - quote - 1));
    const partial file = {p->line, p->start, name < p->start ? p->start : name, p->end};
    const int skipped = file.name - name; /* bytes of the file's name before the replaced text */
    DIR *dir = opendir(folder.n ? folder.s : ".");
    const struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        const char *s = entry->d_name;
        struct stat info;
        if (strncmp(s, p->line + name, (size_t)(p->end - name)) != 0 ||
            (*s == '.' && p->end == name))
            continue;
        path.n = 0;
        str_printf(&path, "%s%s", folder.n ? folder.s : "", s);
        const bool is_folder = stat(path.s, &info) == 0 && S_ISDIR(info.st_mode);
        if (is_folder || takes_file(function, n_function, s))
            offer(&file, s + skipped, is_folder ? "/" : "");
    }
    if (dir)
        closedir(dir);
    str_free(&folder);
    str_free(&path);
}

/* Where the string that is open at the end began; -1 if none is open. */
static int open_quote(const char *line, int end)
{
    int quote = -1;
    for (int i = 0; i < end; i++) {
        if (quote >= 0 && line[i] == '\\')
            i++;
        else if (quote >= 0 && line[i] == line[quote])
            quote = -1;
        else if (quote < 0 && (line[i] == '"' || line[i] == '\''))
            quote = i;
    }
    return quote;
}

static void complete(void *ctx, const char *line, int start, int end)
{
    static const char *const words[] = {"help", "vars", "exit"};
    const calc *c = ctx;
    partial p = {line, start, end, end};
    const char *name;
    const value *v;
    const int quote = open_quote(line, end);
    if (quote >= 0) {
        offer_files(&p, quote);
        return;
    }
    while (p.name > start && (isalnum((unsigned char)line[p.name - 1]) || line[p.name - 1] == '_'))
        p.name--;
    const bool member = p.name > 0 && line[p.name - 1] == '.';
    for (int i = 0; i < ig_op_count(); i++)
        offer(&p, ig_op_at(i)->name, "(");
    for (int i = 0; member && (name = calc_attribute_at(i)); i++)
        offer(&p, name, "");
    if (member)
        return;
    offer_keywords(&p);
    for (int i = 0; calc_builtin_at(i); i++)
        offer(&p, calc_builtin_at(i)->name, "(");
    for (int i = 0; (name = calc_name_at(c, i, &v)); i++)
        offer(&p, name, "");
    for (int i = 0; (name = calc_constant_at(i)); i++)
        offer(&p, name, "");
    for (size_t i = 0; p.name == 0 && i < sizeof words / sizeof *words; i++)
        offer(&p, words[i], "");
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Runs the lines typed so far; true if more lines are needed first. */
static bool run_lines(const interactive *p, const char *source, bool last)
{
    value v = {0};
    bool fine = calc_parse(p->calc, source);
    if (!fine && calc_mistake(p->calc)->unfinished && !last)
        return true;
    const bool any = fine && calc_more(p->calc);
    interrupts = 0;
    computes = true;
    while (fine && calc_more(p->calc) && !interrupts)
        fine = calc_step(p->calc, &v);
    if (!fine)
        p->report(p->ctx);
    else if (calc_more(p->calc))
        fputs("ingot eval: cancelled\n", stderr);
    else if (any && !calc_assigned(p->calc)) {
        p->show(p->ctx, &v);
        calc_remember(p->calc, &v);
    }
    computes = false;
    fflush(stdout);
    return false;
}

/* Answers a question or a command of the prompt; false if the line is neither. *ends: the user wants to leave. */
static bool answer(const interactive *p, const char *line, bool *ends)
{
    *ends = is_word(line, "exit") || is_word(line, "quit");
    if (is_word(line, "vars")) {
        list_variables(p->calc);
        return true;
    }
    char *name = question_name(line);
    if (name)
        describe_name(p->calc, name);
    free(name);
    return name || *ends;
}

static char *trimmed(const char *line)
{
    str t = {0};
    str_puts(&t, line + strspn(line, " \t"));
    str_trim(&t);
    return t.s;
}

/* True if the first line ends with ':', like the header of a loop or a function whose body follows. */
static bool opens_block(const char *text)
{
    size_t n = strcspn(text, "\n");
    while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
        n--;
    return n && text[n - 1] == ':';
}

void interactive_run(const interactive *p)
{
    str typed = {0};
    char *line = NULL;
    prompt_status status;
    bool ends = false;
    prompt_begin(complete, p->calc);
    interrupt_divert(on_interrupt);
    printf("ingot %s: type an expression. 'help' lists the ops, 'softmax?' describes one, 'vars' "
           "lists\n"
           "variables, _ is the last result.%s Ctrl-C cancels, Ctrl-D ends.\n",
           ig_version(), prompt_edits() ? " Tab completes," : "");
    while (!ends && (status = prompt_read(typed.n ? "... " : "> ", &line)) != PROMPT_END) {
        if (status == PROMPT_INTERRUPTED) {
            putchar('\n');
            str_free(&typed);
            continue;
        }
        char *words = trimmed(line);
        if (typed.n || !answer(p, words, &ends)) {
            str_printf(&typed, "%s\n", line);
            /* An empty line ends an unfinished statement, and a block. */
            const bool goes_on = opens_block(typed.s) && *words;
            if (!goes_on && !run_lines(p, typed.s, !*words))
                str_free(&typed);
        }
        free(words);
        free(line);
    }
    if (!ends)
        putchar('\n');
    prompt_end();
    str_free(&typed);
}
