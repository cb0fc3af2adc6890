/* Grammars: sets of texts, as automata that read bytes.
 *
 *   gbnf.c       GBNF, as rules of elements; checks
 *   utf8.c       classes of characters, as sequences of ranges of bytes
 *   automaton.c  states, made when they are needed
 *   schema.c     JSON schemas, as GBNF
 *
 * A state is a set of positions in the rules, each with the positions to return to. */
#ifndef GRAMMAR_GRAMMAR_H
#define GRAMMAR_GRAMMAR_H

#include "ingot/text.h"

/* Must be used by one thread at a time. */
typedef struct grammar grammar;

/* Reads GBNF; the rule "root" is the text. NULL on failure: the message names line and column. */
grammar *grammar_new(ig_text source);
/* The texts in JSON that a schema allows; its source is JSON. NULL on failure: the message names the place in the schema. */
grammar *grammar_from_schema(ig_text schema);
void grammar_free(grammar *g);
/* The GBNF of a schema; release with memory_free. */
char *schema_to_gbnf(ig_text schema);

/* State 0 is the beginning of a text. grammar_next: the state after one more byte; GRAMMAR_NONE: no text goes on like this,
 * or it failed with an error. */
enum { GRAMMAR_NONE = -1 };
int32_t grammar_next(grammar *g, int32_t state, unsigned char byte);
/* The text may end here; it must end here. */
bool grammar_may_end(const grammar *g, int32_t state);
bool grammar_must_end(const grammar *g, int32_t state);

#endif
