/* Memory in whole huge pages, for large blocks of a device that computes in the host's memory. It is neither counted
 * nor limited here; the pool of the device does both. */
#ifndef BASE_PAGES_H
#define BASE_PAGES_H

#include <stddef.h>

/* NULL, without an error, if there is no memory. */
void *pages_get(size_t bytes);
void pages_free(void *block);

#endif
