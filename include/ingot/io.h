/* Files of arrays: .npy, .npz, .safetensors; images. */
#ifndef INGOT_IO_H
#define INGOT_IO_H

#include "ingot/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Read and write one array: a text table if the name ends with .csv, .tsv or .txt, a Zarr array if it ends with .zarr, an
 * HDF5 file if it ends with .h5 or .hdf5 (or names a dataset in one: "x.h5/group/name"; see ingot/store.h), else an .npy
 * file. ig_save refuses names with any other suffix. ig_load also reads images, which it knows by their first bytes.
 *
 * .npy: Fortran order and big-endian files can be read; bf16 is stored as "V2".
 *
 * Tables have one row per line, and commas, tabs (.tsv) or blanks (.txt) between numbers. If a field of the first line
 * is not a number, that line is a header and is skipped. Empty lines and lines that begin with '#' are skipped too. An
 * empty field is NaN. The array is i64 if all fields are whole numbers that fit, else f64. Its shape is (rows,
 * columns), or (rows,) if there is one column. Arrays of at most two dimensions can be written, with the shortest
 * digits that read back as the same number.
 *
 * Images: PNG and JPEG, by libpng and libturbojpeg, which are found at run time, and BMP, PNM and TIFF that are not
 * compressed. Gray ones are (height, width), others (height, width, channels): RGB, RGBA, or gray and alpha; u8, or u16
 * for PNG with 16 bits.
 *
 * A file is written under a temporary name in the same folder and then renamed, so a failure leaves the old file
 * unchanged. */
IG_API ig_array *ig_load(const char *path);
IG_API ig_status ig_save(const char *path, ig_array *x);
/* The same image formats from memory. */
IG_API ig_array *ig_image_from_memory(const void *bytes, size_t n);
/* Writes n bytes as a file in the same way. */
IG_API ig_status ig_write_file(const char *path, const void *bytes, size_t n);

/* Writes the shortest decimal that reads back as value in a float dtype to out, which has room for IG_FLOAT_TEXT bytes:
 * "2.0", "1e-05", "nan". Returns its length. Any other dtype counts as IG_F64. */
enum { IG_FLOAT_TEXT = 400 };
IG_API int ig_float_text(double value, ig_dtype dtype, char *out);

/* Reads an idx file, the format of MNIST's images and labels; it must not be compressed. The second
 * function reads the same format from memory, and copies it. */
IG_API ig_array *ig_load_idx(const char *path);
IG_API ig_array *ig_idx_from_memory(const void *bytes, size_t n);

/* A set of named arrays, in order, and of texts by key: parameters and checkpoints, as .safetensors or .npz
 * files. Names and texts are UTF-8. A set must be used by one thread at a time. */
typedef struct ig_tensors ig_tensors;

/* An empty set; NULL on failure. Freeing NULL is allowed. */
IG_API ig_tensors *ig_tensors_new(void);
IG_API void ig_tensors_free(ig_tensors *t);

/* Adds x, or replaces the array of that name. The set keeps a reference to x. */
IG_API ig_status ig_tensors_put(ig_tensors *t, const char *name, ig_array *x);
IG_API int ig_tensors_count(const ig_tensors *t); /* The number of arrays. */
/* The name of the i-th array, valid as long as the set; NULL if there is none. */
IG_API const char *ig_tensors_name(const ig_tensors *t, int i);
/* The array of that name, borrowed from the set; NULL, without an error, if there is none. */
IG_API ig_array *ig_tensors_get(const ig_tensors *t, const char *name);

/* Sets and gets a text (the __metadata__ of safetensors). The text is copied. ig_tensors_text returns NULL if there is
 * none; its result is valid until the text is replaced or the set is freed. */
IG_API ig_status ig_tensors_put_text(ig_tensors *t, const char *key, const char *value);
IG_API const char *ig_tensors_text(const ig_tensors *t, const char *key);

/* Reads a .safetensors file, an .npz archive (stored or deflated) or the tensors of a .gguf file; its first bytes tell
 * which. The arrays belong to the set and to no scope. Those of a .gguf file use the mapped file, as with ig_tensors_map;
 * quantized ones are f32 in a storage format (ingot/storage.h), or unpacked if there is none for their type. Refuses a file
 * that breaks any rule of its format, and an archive with a member that is not an array. NULL on failure. */
IG_API ig_tensors *ig_tensors_load(const char *path);
/* The same for a .safetensors or .gguf file, without a copy: the arrays use the mapped file, which must not change as long as
 * they live. An array is copied if it is not aligned, or if it ends less than 64 bytes before the end of the
 * last page. */
IG_API ig_tensors *ig_tensors_map(const char *path);
/* Evaluates the arrays in one run and writes a .safetensors file, as ig_save does. The file at path is
 * complete at every moment, even if the process is killed or the power fails. */
IG_API ig_status ig_tensors_save(const ig_tensors *t, const char *path);
/* The same as an .npz archive, which numpy.load reads. Its members are not compressed. A set with texts
 * is refused, because the format has no place for them. */
IG_API ig_status ig_tensors_save_npz(const ig_tensors *t, const char *path);

#ifdef __cplusplus
}
#endif

#endif
