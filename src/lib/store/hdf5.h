/* Datasets of HDF5 files: the parts that reading (hdf5.c) and writing (hdf5_write.c) share. */
#ifndef STORE_HDF5_H
#define STORE_HDF5_H

#include "lib/store/store.h"

#include <pthread.h>

typedef int64_t hid;     /* of version 1.10 and later */
typedef uint64_t length; /* hsize_t */

struct hdf5_functions {
    bool found;
    int (*begin)(void);
    int (*version)(unsigned *major, unsigned *minor, unsigned *release);
    int (*silence)(hid stack, void *function, void *data);
    hid (*file_open)(const char *name, unsigned flags, hid list);
    int (*file_close)(hid file);
    int64_t (*file_name)(hid object, char *name, size_t size);
    int64_t (*link_name)(hid at, const char *group, int index, int order, length n, char *name,
                         size_t size, hid list);
    hid (*data_open)(hid at, const char *name, hid list);
    int (*data_close)(hid data);
    hid (*data_space)(hid data);
    hid (*data_type)(hid data);
    hid (*data_plan)(hid data);
    int (*data_read)(hid data, hid type, hid memory, hid file, hid list, void *out);
    int (*space_class)(hid space);
    int (*space_ndims)(hid space);
    int (*space_dims)(hid space, length *dims, length *most);
    hid (*space_make)(int rank, const length *dims, const length *most);
    int (*space_select)(hid space, int how, const length *start, const length *stride,
                        const length *count, const length *block);
    int (*space_close)(hid space);
    int (*type_class)(hid type);
    size_t (*type_size)(hid type);
    int (*type_order)(hid type);
    int (*type_sign)(hid type);
    size_t (*type_precision)(hid type);
    int (*type_fields)(hid type, size_t *sign, size_t *exponent, size_t *exponent_size,
                       size_t *mantissa, size_t *size);
    size_t (*type_bias)(hid type);
    int (*type_norm)(hid type);
    int (*type_members)(hid type);
    hid (*type_member)(hid type, unsigned i);
    size_t (*type_member_offset)(hid type, unsigned i);
    int (*type_member_value)(hid type, unsigned i, void *value);
    int (*type_close)(hid type);
    int (*plan_layout)(hid plan);
    int (*plan_chunk)(hid plan, int room, length *dims);
    int (*plan_external)(hid plan);
    int (*plan_close)(hid plan);
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
