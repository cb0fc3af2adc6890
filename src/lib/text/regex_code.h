/* The program of a regular expression: what regex_parse.c and regex_class.c make and regex.c runs. */
#ifndef TEXT_REGEX_CODE_H
#define TEXT_REGEX_CODE_H

#include "lib/text/regex.h"

typedef enum opcode {
    OP_RUNE,   /* x is the code point */
    OP_FOLD,   /* the same in any case; x is in lower case */
    OP_CLASS,  /* x is the class */
    OP_ANY,    /* all but a newline */
    OP_SPLIT,  /* goes on at x; if that fails, at y */
    OP_JUMP,   /* goes on at x */
    OP_ATOMIC, /* the program behind it, up to its OP_MATCH; then goes on at x */
    OP_AHEAD,  /* the same, and consumes nothing */
    OP_NOT_AHEAD,
    OP_BEHIND, /* the same for at most y code points that end here */
    OP_NOT_BEHIND,
    OP_HERE,     /* where the lookbehind that is being matched must end */
    OP_BOUNDARY, /* of a word */
    OP_NOT_BOUNDARY,
    OP_BEGIN, /* of the text or of a line */
    OP_END,
    OP_TEXT_BEGIN,
    OP_TEXT_END,
    OP_MATCH
} opcode;

typedef struct instruction {
    opcode op;
    uint32_t x, y;
} instruction;

/* ITEM_CLASS_WORD is \w within a class, which lacks the superscripts and fractions of Latin-1. What a class has: a range, or all code points of some categories, or spaces or word characters. */
typedef struct item {
    enum { ITEM_RANGE, ITEM_CATEGORIES, ITEM_SPACE, ITEM_WORD, ITEM_CLASS_WORD, ITEM_CLASS } kind;
    bool negated;
    uint32_t low, high; /* low: the bit set of categories; or the class */
} item;

typedef struct rune_class {
    item *items;
    int n;
    bool negated, folded;
    int also;          /* a class that must have the code point too; -1: none */
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

/* A pattern that is being parsed: [at, end) is left of it. After a failure nothing is added any more. */
typedef struct compiler {
    regex *r;
    const uint32_t *at, *end;
    const char *pattern;
    size_t bytes;
    bool folded;
    bool failed;
    int depth;
} compiler;

/* Fails with a message that has the pattern and says why. */
void compiler_refuse(compiler *k, const char *why);
/* Whether there is more of the pattern; whether c is next; and takes a word if it is next. */
bool compiler_more(const compiler *k);
bool compiler_next_is(const compiler *k, uint32_t c);
bool compiler_take(compiler *k, const char *word);

/* A class of a pattern by its index: a new one, an item for it, and its table for ASCII when it is complete. */
int compiler_class_new(compiler *k);
void compiler_class_add(compiler *k, int class, item i);
void compiler_class_finish(compiler *k, int class);
/* Parses a class behind its '['; returns its index. */
int compiler_class(compiler *k);
/* Parses an escape behind its backslash: a class (true, in out) or one code point (false, in out->low). */
bool compiler_escape(compiler *k, item *out);

/* ---- matching ------------------------------------------------------------------------------- */

/* The code point in lower case, for comparisons in any case. */
uint32_t regex_fold(uint32_t c);

/* Whether class i has a code point; regex_class_test does not use its table for ASCII. */
bool regex_class_has(const regex *r, uint32_t i, uint32_t c);
bool regex_class_test(const regex *r, uint32_t i, uint32_t c);

#endif
