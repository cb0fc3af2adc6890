/* Stand-ins for cuBLASLt and cuDNN, as one library: plain loops over f32 in the fake driver's "device memory",
 * which is host memory. The work is queued in the stream. Other dtypes are rejected.
 *
 * FAKE_LIBRARY_REFUSE=1: no algorithm is found. FAKE_LIBRARY_FAIL=1: the calls that compute fail. */
#ifndef FAKECUDA_LIBRARIES_H
#define FAKECUDA_LIBRARIES_H

#include "engine/backend/cuda/api.h"

#define EXPORT __attribute__((visibility("default")))

enum { REFUSED = 15, BROKEN = 13 };

bool is_set(const char *name);
/* Queues run(data) in the stream; the data is copied. */
bool queue_call(CUstream stream, void (*run)(const void *data), const void *data, size_t bytes);

/* For tests, by dlsym. The n-th call of cuDNN from now on fails, with `always` each n-th; 0: none. Returns the number
 * of calls since the previous fake_dnn_fail. */
typedef long fake_dnn_fail_fn(long n, bool always);
/* Live handles and descriptors of cuDNN. */
typedef long fake_dnn_objects_fn(void);

#endif
