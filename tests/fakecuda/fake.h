/* A stand-in for the CUDA driver and for NVRTC, as one library: "device memory" is host memory, and kernels run
 * as lane code of a private copy of Ingot, so results are real. Commands are queued and run when the caller waits, as
 * late as a real driver may run them. Tests can make the library fail; it counts live objects.
 *
 * A test finds these functions by dlsym. For a command, the environment sets the same: FAKE_CUDA_DEVICES (how many
 * GPUs; 1), FAKE_CUDA_MEMORY (bytes of each), FAKE_CUDA_CORES (processors of each; 4), FAKE_CUDA_LOSE (the n-th wait
 * finds that a kernel failed), FAKE_CUDA_LOG (a file that receives the name of each call), FAKE_CUDA_IDLE (from the
 * n-th launch on, kernels compute nothing: 1 for profiles of the host, more for a defect), FAKE_CUDA_ATTEND (a factor of the
 * sums of attention's weights, as a literal of CUDA C: a defect). */
#ifndef FAKECUDA_FAKE_H
#define FAKECUDA_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The n-th call from now on fails: once, or with `always` it and all later calls, as when the device is lost. 0: no
 * call fails. */
typedef void fake_fail_fn(long n, bool always);
/* The n-th wait from now on reports that a kernel read an illegal address; all later calls fail with the same error. 0:
 * never, and a lost device works again, as in a new process. */
typedef void fake_lose_fn(long n);
/* Bytes of memory of each device. */
typedef void fake_memory_fn(uint64_t bytes);
/* Calls since fake_fail; live objects; programs compiled so far; kernels launched outside of graphs; graphs launched;
 * parameters of graphs set; copies between devices; the most programs compiled at the same time. */
typedef enum fake_what {
    FAKE_CALLS,
    FAKE_OBJECTS,
    FAKE_COMPILED,
    FAKE_LAUNCHES,
    FAKE_GRAPHS,
    FAKE_UPDATES,
    FAKE_PEER_COPIES,
    FAKE_TOGETHER,
    FAKE_COUNTS
} fake_what;
typedef long fake_count_fn(fake_what what);
struct CUstream_st;
/* For stand-ins of libraries: queues a call of run with a copy of the data, like a launch; in a capture it becomes a
 * node. False if out of memory. */
typedef bool fake_call_fn(struct CUstream_st *stream, void (*run)(const void *data),
                          const void *data, size_t bytes);

fake_fail_fn fake_fail;
fake_lose_fn fake_lose;
fake_memory_fn fake_memory;
fake_count_fn fake_count;
fake_call_fn fake_call;

#endif
