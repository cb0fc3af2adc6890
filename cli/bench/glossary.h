/* The works in plain words: for headlines, and for readers who have never seen their names. */
#ifndef CLI_BENCH_GLOSSARY_H
#define CLI_BENCH_GLOSSARY_H

#include "str.h"

typedef struct work_words {
    const char *name;
    const char *does;  /* "multiply matrices": completes "it takes 2 times as long to" */
    const char *about; /* one sentence: what is computed, and what a size means */
} work_words;

/* The entry of a work; NULL if this version does not know the name. */
const work_words *work_words_of(const char *name);
/* Adds what a work does: "multiply matrices", or for third "multiplies matrices". For an unknown name
 * "do NAME". */
void work_does(str *t, const char *name, bool third);

#endif
