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
/* True if a path names an HDF5 file (.h5, .hdf5), or a dataset in one. */
bool hdf5_is_path(const char *path);
/* A new file with one dataset, of the name after the file's, or "data". It appears, in place of an old one, when it is
 * finished. */
ig_store *hdf5_store_create(const char *path, ig_ints shape, ig_dtype dtype, ig_ints chunk);
ig_status hdf5_store_finish(ig_store *s);

#endif
