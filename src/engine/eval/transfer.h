/* Data that moves between devices. This is the only place where bytes do. The engine's lock is held. */
#ifndef ENGINE_TRANSFER_H
#define ENGINE_TRANSFER_H

#include "engine/backend/backend.h"

/* True if the device can use the buffer as it is. */
bool transfer_is_on(const buffer *b, const backend *dev);
/* True if an array of the device stays in this buffer: the device can use it, or it is host memory because
 * the device has no buffers of that size and the fallback policy allows it. */
bool transfer_stays(const buffer *b, const backend *dev);
/* Memory for an array of the device: a buffer of the device, or host memory as above; NULL on failure. */
buffer *transfer_alloc(const backend *dev, size_t bytes);
/* `bytes` of a buffer from offset on, in a new buffer that the device can use; NULL on failure. */
buffer *transfer_copy(buffer *from, size_t offset, size_t bytes, const backend *dev);
/* The bytes of a buffer of a device that uses host memory, as a host buffer over the same memory, when the device
 * has done its work. NULL if it failed, which sets an error, or if the device has memory of its own. */
buffer *transfer_share(buffer *from, size_t offset, size_t bytes);
/* The same bytes in host memory. */
ig_status transfer_read(buffer *from, size_t offset, void *to, size_t bytes);
/* The other way; host memory is not kept. */
ig_status transfer_write(buffer *to, size_t offset, const void *from, size_t bytes);
/* Brings the data of an evaluated root to the device. */
ig_status transfer_root(ig_array *root, const backend *dev);

#endif
