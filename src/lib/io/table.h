/* Tables as text: .csv, .tsv and .txt files. */
#ifndef IO_TABLE_H
#define IO_TABLE_H

#include "lib/io/file.h"

/* The separator of the fields in a file of that name: ',', '\t' or ' '; 0: it is not a table. */
char table_separator(const char *path);

/* Reads an array from an open file; NULL on failure. */
ig_array *table_read(struct io_file *file, char separator);

/* Where rows of a long file begin. */
struct table_place {
    int64_t at, line; /* the byte, and the number of lines before it */
};
struct table_index {
    int64_t rows, columns, bytes; /* bytes: of the file */
    bool whole;                   /* i64, else f64 */
    char separator;
    int64_t step;               /* rows from one place to the next */
    struct table_place *places; /* the caller frees them, also after a failure */
    size_t n;
};
/* Reads all lines of an open file once, in bounded memory. */
ig_status table_scan(struct io_file *file, char separator, struct table_index *x);
/* Reads a box of the table from the file, which has been opened again: of rows, and of columns if there are several. */
ig_status table_rows(struct io_file *file, const struct table_index *x, const int64_t *start,
                     const int64_t *size, void *data);
ig_status table_write(struct io_file *file, ig_array *x, char separator);

#endif
