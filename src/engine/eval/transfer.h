/* Transfers of data between devices. No other file copies data between devices. The engine's lock is held. */
#ifndef ENGINE_TRANSFER_H
#define ENGINE_TRANSFER_H

#include "engine/backend/backend.h"

/* True if the device can use the buffer as it is. */
bool transfer_is_on(const buffer *b, const backend *dev);
/* True if an array of the device may stay in this buffer: the device can use it, or it is host memory because
 * the device has no buffers of that size and the fallback policy allows it. */
bool transfer_stays(const buffer *b, const backend *dev);
/* Memory for an array of the device: a buffer of the device, or host memory as above; NULL on failure. */
buffer *transfer_alloc(const backend *dev, size_t bytes);
/* Copies `bytes` of a buffer, starting at offset, to a new buffer that the device can use; NULL on failure. */
buffer *transfer_copy(buffer *from, size_t offset, size_t bytes, const backend *dev);
/* A host buffer over the memory of a device's buffer, without a copy; waits for the device. Returns NULL if the device
 * failed, which sets an error, or if it does not use host memory. */
buffer *transfer_share(buffer *from, size_t offset, size_t bytes);
/* Copies bytes of a buffer to host memory. */
ig_status transfer_read(buffer *from, size_t offset, void *to, size_t bytes);
/* Copies host memory to a buffer; the host memory is not used after the call. */
ig_status transfer_write(buffer *to, size_t offset, const void *from, size_t bytes);
/* Copies the data of an evaluated root to the device, unless it is there. */
ig_status transfer_root(ig_array *root, const backend *dev);

#endif
