/* Names that other libraries use, from aliases.def: of functions, of parameters, of results. Advice for others, from
 * advice.def. */
#include "engine/ops/aliases.h"
#include "engine/ops/builders.h"
#include <string.h>

/* OP_##op: an alias of an op that is not in the table does not compile. */
static const ig_alias aliases[] = {
#define ALIAS(name, op) {name, &#op[0 * OP_##op], NULL, NULL},
#define DEFINE(name, params, expression) {name, NULL, params, expression},
#include "engine/ops/aliases.def"
};
enum { ALIASES = sizeof aliases / sizeof *aliases };

static const struct {
    op_id op;
    const char *names;
} results[] = {
#define RESULTS(op, names) {OP_##op, names},
#include "engine/ops/aliases.def"
};

static const struct {
    const char *keyword, *param;
} keywords[] = {
#define KEYWORD(keyword, param) {#keyword, #param},
#include "engine/ops/aliases.def"
};

int ig_alias_count(void) { return ALIASES; }

const ig_alias *ig_alias_at(int i) { return i >= 0 && i < ALIASES ? &aliases[i] : NULL; }

const ig_alias *ig_alias_find(const char *name)
{
    for (int i = 0; name && i < ALIASES; i++)
        if (strcmp(aliases[i].name, name) == 0)
            return &aliases[i];
    return NULL;
}

static const ig_advice advice[] = {
#define ADVICE(module, names, text) {module, names, text},
#include "engine/ops/advice.def"
};
enum { ADVICE_ROWS = sizeof advice / sizeof *advice };

int ig_advice_count(void) { return ADVICE_ROWS; }

const ig_advice *ig_advice_at(int i) { return i >= 0 && i < ADVICE_ROWS ? &advice[i] : NULL; }

/* True if a word of length n is the name, or its beginning before a "*" at the end, or its end after a "*". */
static bool is_word(const char *word, size_t n, const char *name)
{
    const size_t length = strlen(name);
    if (word[n - 1] == '*')
        return length >= n - 1 && memcmp(word, name, n - 1) == 0;
    if (word[0] == '*')
        return length >= n - 1 && memcmp(word + 1, name + length - (n - 1), n - 1) == 0;
    return length == n && memcmp(word, name, n) == 0;
}

/* True if the names, with spaces between them, contain the name. */
static bool is_among(const char *names, const char *name)
{
    for (size_t n; *names; names += n + (names[n] == ' ')) {
        n = strcspn(names, " ");
        if (n && is_word(names, n, name))
            return true;
    }
    return false;
}

static const ig_advice *advice_in(const char *module, size_t length, const char *name)
{
    for (int i = 0; *name && i < ADVICE_ROWS; i++)
        if (strlen(advice[i].module) == length && memcmp(advice[i].module, module, length) == 0 &&
            is_among(advice[i].names, name))
            return &advice[i];
    return NULL;
}

const ig_advice *ig_advice_find(const char *name)
{
    const char *dot = name ? strrchr(name, '.') : NULL;
    const ig_advice *found = dot ? advice_in(name, (size_t)(dot - name), dot + 1) : NULL;
    return found || !name ? found : advice_in("", 0, dot ? dot + 1 : name);
}

const char *alias_results(op_id op)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        if (results[i].op == op)
            return results[i].names;
    return NULL;
}

static const ig_param *param_named(const ig_op *op, const char *name)
{
    for (int i = 0; i < op->n_params; i++)
        if (strcmp(op->params[i].name, name) == 0)
            return &op->params[i];
    return NULL;
}

/* "first" is the first parameter of the op, whatever its name is. */
static const ig_param *param_of_keyword(const ig_op *op, const char *param)
{
    const bool first = strcmp(param, "first") == 0 && op->n_params > 0;
    return first ? &op->params[0] : param_named(op, param);
}

const ig_param *ig_op_param(const ig_op *op, const char *name)
{
    const ig_param *p = op && name ? param_named(op, name) : NULL;
    for (size_t i = 0; op && name && !p && i < sizeof keywords / sizeof *keywords; i++)
        if (strcmp(keywords[i].keyword, name) == 0)
            p = param_of_keyword(op, keywords[i].param);
    return p;
}
