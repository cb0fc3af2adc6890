/* Datasets of HDF5 files: the parts that reading (hdf5.c) and writing (hdf5_write.c) share. */
#ifndef STORE_HDF5_H
#define STORE_HDF5_H

#include "lib/store/store.h"

#include <pthread.h>

typedef int64_t hid;     /* of version 1.10 and later */
typedef uint64_t length; /* hsize_t */

struct hdf5_functions {
#define READER(result, name, symbol, parameters) result(*name) parameters;
#define WRITER(result, name, symbol, parameters)
#define NUMBER(name, symbol)
#include "lib/store/hdf5.def"
};
extern struct hdf5_functions hdf5;

/* Values of the library's headers. */
enum { DEFAULT = 0, CLASS_COMPOUND = 6 };

/* Held during calls that write, and while a child is started. */
extern pthread_mutex_t hdf5_lock;

typedef struct hdf5_store {
    ig_store base;
    struct io_file file; /* for messages */
    hid handle, data, type;
    bool swap;
    char *path, *name; /* the file, and the dataset in it */
    char *temp;        /* of a new file: where it is written; else NULL */
} hdf5_store;

extern const char *const hdf5_files[]; /* of the library, up to NULL */
bool hdf5_library_there(void);
/* The error of a library that is missing. */
ig_status hdf5_library_missing(const hdf5_store *s);

/* A store for reading that is not open yet; NULL without memory. */
hdf5_store *hdf5_store_new(const char *verb, const char *path, const char *name);
/* Closes the open handles; false if the library cannot write the data that it has kept. */
bool hdf5_handles_close(hdf5_store *s);
void hdf5_close(ig_store *base); /* of a kind */

#endif
