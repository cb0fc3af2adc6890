/* The program of a regular expression: compiled by regex_parse.c and regex_class.c, run by regex.c. */
#ifndef TEXT_REGEX_CODE_H
#define TEXT_REGEX_CODE_H

#include "lib/text/regex.h"

typedef enum opcode {
    OP_RUNE,   /* x is the code point */
    OP_FOLD,   /* the same, ignoring case; x is in lower case */
    OP_CLASS,  /* x is the class */
    OP_ANY,    /* all but a newline */
    OP_SPLIT,  /* continues at x; if that fails, at y */
    OP_JUMP,   /* continues at x */
    OP_ATOMIC, /* runs the program that follows up to its OP_MATCH, then continues at x */
    OP_AHEAD,  /* the same, and consumes nothing */
    OP_NOT_AHEAD,
    OP_BEHIND, /* the same for a match of at most y code points that ends here */
    OP_NOT_BEHIND,
    OP_HERE,     /* the position where the current lookbehind must end */
    OP_BOUNDARY, /* a word boundary */
    OP_NOT_BOUNDARY,
    OP_BEGIN, /* the beginning of the text or of a line */
    OP_END,
    OP_TEXT_BEGIN,
    OP_TEXT_END,
    OP_MATCH
} opcode;

typedef struct instruction {
    opcode op;
    uint32_t x, y;
} instruction;

/* An item of a class: a range, the code points of some categories, spaces, word characters, or another class.
 * ITEM_CLASS_WORD is \w inside a class, which does not include the superscripts and fractions of Latin-1. */
typedef struct item {
    enum { ITEM_RANGE, ITEM_CATEGORIES, ITEM_SPACE, ITEM_WORD, ITEM_CLASS_WORD, ITEM_CLASS } kind;
    bool negated;
    uint32_t low, high; /* low: also the set of categories as bits, or the class index */
} item;

typedef struct rune_class {
    item *items;
    int n;
    bool negated, folded;
    int also;          /* a class that must contain the code point too; -1: none */
    uint32_t ascii[4]; /* the result for ASCII, as bits */
} rune_class;

struct regex {
    instruction *code;
    int n, room;
    rune_class *classes;
    int n_classes;
};

/* ---- parsing -------------------------------------------------------------------------------- */

enum { REGEX_DEPTH_MOST = 40 };

/* A pattern being parsed; [at, end) is still unread. After a failure nothing more is added. */
typedef struct compiler {
    regex *r;
    const uint32_t *at, *end;
    const char *pattern;
    size_t bytes;
    bool folded;
    bool failed;
    int depth;
} compiler;

/* Fails with a message that shows the pattern and the reason. */
void compiler_refuse(compiler *k, const char *why);
/* Is any of the pattern left? Is c next? Takes a word if it is next. */
bool compiler_more(const compiler *k);
bool compiler_next_is(const compiler *k, uint32_t c);
bool compiler_take(compiler *k, const char *word);

/* Adds a class, adds an item to it, and fills its ASCII table when it is complete. Classes are named by their index. */
int compiler_class_new(compiler *k);
void compiler_class_add(compiler *k, int class, item i);
void compiler_class_finish(compiler *k, int class);
/* Parses a class after its '['; returns its index. */
int compiler_class(compiler *k);
/* Parses an escape after its backslash: a class (returns true; in out) or one code point (false; in out->low). */
bool compiler_escape(compiler *k, item *out);

/* ---- matching ------------------------------------------------------------------------------- */

/* The code point in lower case, for comparisons that ignore case. */
uint32_t regex_fold(uint32_t c);

/* True if class i contains the code point. regex_class_test does not use the ASCII table. */
bool regex_class_has(const regex *r, uint32_t i, uint32_t c);
bool regex_class_test(const regex *r, uint32_t i, uint32_t c);

#endif
