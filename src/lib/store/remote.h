/* Objects on servers: http://, https:// and s3://, by libcurl, which is found at run time. Read-only.
 *
 * A request is repeated a few times, after growing pauses, if the server is busy or the connection breaks. One that
 * transfers nothing for a while is ended. Only HTTP and HTTPS are used, also after redirections, and never HTTP after
 * HTTPS.
 */
#ifndef STORE_REMOTE_H
#define STORE_REMOTE_H

#include "lib/store/store.h"

typedef struct remote remote;

/* True for addresses that remote_open takes. */
bool remote_is_address(const char *path);
/* NULL on failure. */
remote *remote_open(const char *path);
void remote_close(remote *r); /* NULL is allowed */

/* Reads `bytes` bytes of an object at an offset; a negative one counts from the end. *found is false, with IG_OK, if the
 * server has no such object. */
ig_status remote_read(remote *r, const struct io_file *file, const char *key, int64_t offset,
                      size_t bytes, void *to, bool *found);
/* Reads the whole object, of at most `most` bytes. */
ig_status remote_read_all(remote *r, const struct io_file *file, const char *key, size_t most,
                          spare *to, size_t *got, bool *found);
ig_status remote_has(remote *r, const struct io_file *file, const char *key, bool *found);

#endif
