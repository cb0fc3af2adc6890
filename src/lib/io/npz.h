/* The npz format: a zip archive whose members are arrays in npy format, "NAME.npy" each.
 *
 * An archive is the members, each after a local header, then the directory, which lists them all, then
 * the end record, which says where the directory is. The zip64 records hold the numbers of 64 bits for
 * which the older records have no room. All numbers are little-endian.
 */
#ifndef IO_NPZ_H
#define IO_NPZ_H

#include "lib/io/file.h"

enum {
    ZIP_LOCAL = 0x04034b50, /* what each record begins with */
    ZIP_DIRECTORY = 0x02014b50,
    ZIP_END = 0x06054b50,
    ZIP_END_64 = 0x06064b50,
    ZIP_LOCATOR_64 = 0x07064b50,

    ZIP_LOCAL_BYTES = 30, /* how long each record is, without names and extra fields */
    ZIP_DIRECTORY_BYTES = 46,
    ZIP_END_BYTES = 22,
    ZIP_END_64_BYTES = 56,
    ZIP_LOCATOR_64_BYTES = 20,

    ZIP_ENCRYPTED = 1, /* flags of a member */
    ZIP_UTF8 = 0x800,
    ZIP_STORED = 0, /* methods of compression */
    ZIP_DEFLATED = 8,
    ZIP_EXTRA_64 = 1 /* the extra field with sizes and offset of 64 bits */
};

#define NPZ_SUFFIX ".npy"

/* True if a file with these first bytes is a zip archive. */
bool npz_begins(const unsigned char *bytes, size_t n);

/* Reads all arrays of an open file into the set, which is empty. */
ig_status npz_read(struct io_file *file, ig_tensors *set);

#endif
