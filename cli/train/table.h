/* Tables of samples: .csv and .tsv files with columns of numbers and of texts.
 *
 * A column of texts becomes one feature for each of its categories (one-hot). The encoding is part of a checkpoint, so that
 * 'ingot predict' reads new tables in the same way. */
#ifndef CLI_TRAIN_TABLE_H
#define CLI_TRAIN_TABLE_H

#include "train/names.h"

#include <ingot.h>

/* A column of features. */
typedef struct feature {
    char *name;           /* "" if the table has no header */
    name_list categories; /* sorted; none: the column has numbers */
} feature;

/* How the rows of a table become samples. {0}: the samples are not from a table. */
typedef struct encoding {
    feature *at;
    int64_t n;
} encoding;

void encoding_free(encoding *e);
/* Each feature as a line "column [name, category, ...]". */
void encoding_write(const encoding *e, str *t);
/* Adds a feature from the text after "column". False if it is malformed. */
bool encoding_read(encoding *e, const char *text);

bool table_is(const char *path);

/* Reads a table with classes or targets in the column of this name (NULL: the last one). Sets *x (rows, features), *y (rows,)
 * and the encoding. A target of texts becomes class numbers, with their names in *classes; it is refused if `numbers`.
 * Returns false on failure: the library's error says why. A scope is open. */
bool table_learn(const char *path, const char *target, bool numbers, encoding *e, ig_array **x,
                 ig_array **y, name_list *classes);

/* The samples of a table for a trained network: columns are found by name if the table has a header; others are ignored. NULL
 * on failure. */
ig_array *table_samples(const char *path, const encoding *e);

#endif
