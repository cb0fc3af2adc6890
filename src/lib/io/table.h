/* Tables as text: .csv, .tsv and .txt files. */
#ifndef IO_TABLE_H
#define IO_TABLE_H

#include "lib/io/file.h"

/* The separator of the fields in a file of that name: ',', '\t' or ' '; 0: it is not a table. */
char table_separator(const char *path);

/* Reads an array from an open file; NULL on failure. */
ig_array *table_read(struct io_file *file, char separator);
ig_status table_write(struct io_file *file, ig_array *x, char separator);

#endif
