/* Functions that open the other kinds of stores. Each returns NULL on failure. */
#ifndef STORE_OPEN_H
#define STORE_OPEN_H

#include "ingot/store.h"

/* An .npy file; a folder of .npy files. */
ig_store *npy_store_open(const char *path);
ig_store *npy_folder_open(const char *path);
/* A table as text: .csv, .tsv, .txt. */
ig_store *table_store_open(const char *path);
/* A dataset of an HDF5 file; name may be empty if the file has only one. */
ig_store *hdf5_store_open(const char *path, const char *name);

#endif
