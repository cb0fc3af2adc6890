/* Places: where the objects of a store lie, by key ("c/0/1"). A place is a folder, or an address of a server.
 *
 * Keys are relative, and no part of one is empty, "." or "..". Links inside a folder are not followed, so no object
 * outside it is read or written.
 */
#ifndef STORE_PLACE_H
#define STORE_PLACE_H

#include "lib/store/store.h"

enum { PLACE_KEY_BYTES = 4096 };

typedef struct place place;

/* An object that is open for reading. Its content does not change if it is replaced while it is open. */
typedef struct object {
    place *place;
    struct io_file file; /* for messages; its descriptor, if it is a file */
    int64_t bytes;       /* its size; -1 if unknown */
    char key[PLACE_KEY_BYTES];
} object;

typedef struct piece {
    const void *at;
    size_t bytes;
} piece;

/* Opens a place; path needs not exist yet if `create` is true, and is then made. NULL on failure. */
place *place_open(const char *path, bool create);
/* The same for a folder in a place, by its key. */
place *place_open_inside(const place *p, const char *key);
void place_close(place *p); /* NULL is allowed */
bool place_is_folder(const place *p);
const char *place_path(const place *p);

/* Sets the name of an object for messages. */
void place_name(const place *p, const char *verb, const char *key, struct io_file *file);
/* True if a key names something inside the place. */
bool place_key_valid(const char *key);

/* Opens an object. *found is false, with IG_OK, if there is none. Call object_close after found. */
ig_status object_open(place *p, const char *key, object *o, bool *found);
void object_close(object *o);
/* Reads `bytes` bytes at an offset; a negative one counts from the end. Fails if the object is shorter. *found is false,
 * with IG_OK, if the place learns only now that there is no such object. */
ig_status object_read(object *o, int64_t offset, size_t bytes, void *to, bool *found);
/* Reads the whole object, which must not have more than `most` bytes. */
ig_status object_read_all(object *o, size_t most, spare *to, size_t *got, bool *found);

/* Reads a small object as text, which ends with a zero byte. *text is NULL, with IG_OK, if there is none; release it with
 * memory_free. */
ig_status place_text(place *p, const char *key, char **text, size_t *bytes);

/* Writes an object as a whole or not at all. Folders are made as needed. */
ig_status place_put(place *p, const char *key, const piece *pieces, int n);
ig_status place_has(place *p, const char *key, bool *has);
/* Deletes an object, or a folder with all objects in it. One that does not exist is not an error. */
ig_status place_remove(place *p, const char *key);
/* Removes the temporary files of writers that were killed: in the place and its folders of chunks. The files of living
 * writers stay. */
void place_clean(const place *p);
/* Calls fn for each entry of a folder of the place ("" is the place itself), in no order. */
typedef ig_status (*place_visit)(void *ctx, const char *name, bool folder);
ig_status place_list(place *p, const char *key, place_visit fn, void *ctx);

#endif
