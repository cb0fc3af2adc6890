/* The rules of a grammar. The elements of an alternative follow each other and end with ELEMENT_END. */
#ifndef GRAMMAR_RULES_H
#define GRAMMAR_RULES_H

#include "lib/grammar/grammar.h"

enum { ELEMENTS_MOST = 1 << 20 };

typedef struct element {
    enum { ELEMENT_END, ELEMENT_BYTE, ELEMENT_RULE } kind;
    int32_t rule;
    unsigned char low, high; /* of a byte */
} element;

typedef struct rule {
    char *name; /* NULL: a part of another rule */
    int32_t *alternatives;
    int n, room;
    int line, column;    /* where it is used first, or defined */
    bool defined, empty; /* empty: it has the empty text */
} rule;

typedef struct rules {
    element *elements;
    int n_elements, elements_room;
    rule *list;
    int n, room;
} rules;

/* Reads GBNF. *root: the rule that is the text. */
ig_status rules_read(rules *r, ig_text source, int32_t *root);
void rules_free(rules *r);

/* Calls visit with the ranges of bytes of each sequence that encodes characters from low to high in UTF-8. */
ig_status utf8_sequences(uint32_t low, uint32_t high,
                         ig_status (*visit)(void *context, const element *bytes, int n),
                         void *context);
/* Writes a character in UTF-8. Returns the number of bytes. */
int utf8_write(uint32_t c, unsigned char out[4]);

#endif
