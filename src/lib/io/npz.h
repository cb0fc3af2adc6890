/* The npz format: a zip archive whose members are arrays in npy format, "NAME.npy" each.
 *
 * An archive consists of the members, each after a local header, then the directory, which lists them all,
 * then the end record, which has the position of the directory. The zip64 records hold 64-bit numbers that
 * do not fit in the older records. All numbers are little-endian.
 */
#ifndef IO_NPZ_H
#define IO_NPZ_H

#include "lib/io/file.h"

enum {
    ZIP_LOCAL = 0x04034b50, /* the magic number of each record */
    ZIP_DIRECTORY = 0x02014b50,
    ZIP_END = 0x06054b50,
    ZIP_END_64 = 0x06064b50,
    ZIP_LOCATOR_64 = 0x07064b50,

    ZIP_LOCAL_BYTES = 30, /* the size of each record, without names and extra fields */
    ZIP_DIRECTORY_BYTES = 46,
    ZIP_END_BYTES = 22,
    ZIP_END_64_BYTES = 56,
    ZIP_LOCATOR_64_BYTES = 20,

    ZIP_ENCRYPTED = 1, /* flags of a member */
    ZIP_UTF8 = 0x800,
    ZIP_STORED = 0, /* methods of compression */
    ZIP_DEFLATED = 8,
    ZIP_EXTRA_64 = 1 /* the extra field with 64-bit sizes and offset */
};

#define NPZ_SUFFIX ".npy"

/* True if a file with these first bytes is a zip archive. */
bool npz_begins(const unsigned char *bytes, size_t n);

/* Reads all arrays of an open file into the set, which is empty. */
ig_status npz_read(struct io_file *file, ig_tensors *set);

#endif
