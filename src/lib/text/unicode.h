/* Unicode for tokenizers: character properties, case, decomposition and composition.
 *
 * The data comes from utf8proc, which is loaded with dlopen when the first tokenizer is made. The reference
 * implementation of tokenizers uses tables of other Unicode versions, and some of its results depend on them. unicode.c
 * and the .def files list the differences.
 */
#ifndef TEXT_UNICODE_H
#define TEXT_UNICODE_H

#include "ingot.h"

enum {
    UNICODE_SPACE = 1,       /* White_Space */
    UNICODE_PUNCTUATION = 2, /* category P, and ASCII symbols */
    UNICODE_CONTROL = 4,     /* Cc, Cf, Co: removed by BERT */
    UNICODE_NONSPACING = 8,  /* Mn */
    UNICODE_MARK = 16,       /* M */
    UNICODE_LETTER = 32,     /* L */
    UNICODE_NUMBER = 64,     /* N */
    UNICODE_WORD = 128, /* word characters: letters, marks, decimal digits, connectors, joiners */
    UNICODE_IDEOGRAPH = 256, /* CJK, as BERT defines it */
    UNICODE_REGEX_WORD =
        512, /* \w of regular expressions: letters, marks, decimal digits, connectors */
    UNICODE_STABLE = 1024,   /* equals its lower case and NFD, has class 0, is not Mn */
    UNICODE_UNDIVIDED = 2048 /* has no decomposition in the older tables */
};

enum { UNICODE_LAST = 0x10ffff, UNICODE_EXPANDED = 20 /* the longest decomposition */ };

/* Loads utf8proc, once. IG_ERR_UNSUPPORTED if it is not installed; the message names the package to install. All
 * functions below need it, except unicode_read and unicode_write. */
ig_status unicode_load(void);

/* The properties of a code point: bits of the first enum. */
unsigned unicode_flags(uint32_t c);

/* The general category, with utf8proc's numbers: Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So
 * Zs Zl Zp Cc Cf Cs Co. */
int unicode_category(uint32_t c);

/* Writes the lower case of c to out; returns its number of code points, 1 or 2. */
int unicode_lower(uint32_t c, uint32_t out[2]);

/* The upper case of c if it is one code point; otherwise c. */
uint32_t unicode_upper(uint32_t c);

/* Writes the full decomposition of c, canonical or compatibility; returns its length. */
int unicode_decompose(uint32_t c, bool compatible, uint32_t out[UNICODE_EXPANDED]);

/* The canonical combining class. */
int unicode_class(uint32_t c);

/* The composition of two code points; 0 if there is none. */
uint32_t unicode_compose(uint32_t a, uint32_t b);

/* True if there is a grapheme boundary between a and b. *state is 0 at the beginning of a text. */
bool unicode_boundary(uint32_t a, uint32_t b, int32_t *state);

/* Reads one code point from at least one byte, and returns the number of bytes consumed. Invalid UTF-8 gives U+FFFD for
 * each maximal part of a valid sequence, as Python's errors="replace" does. */
size_t unicode_read(const unsigned char *at, size_t bytes, uint32_t *c);

/* Writes c as UTF-8; returns the number of bytes. */
size_t unicode_write(uint32_t c, unsigned char out[4]);

#endif
