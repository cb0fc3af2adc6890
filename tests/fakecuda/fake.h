/* A stand-in for the CUDA driver and for NVRTC, as one library: "device memory" is host memory, and kernels run
 * as lane code of a private copy of Ingot, so results are real. Commands are queued and run when somebody waits,
 * as late as a real driver may. The library can be told to fail, and counts what is alive.
 *
 * A test finds these functions by dlsym. The environment sets the same things for a command:
 * FAKE_CUDA_DEVICES (how many GPUs; 1), FAKE_CUDA_MEMORY (bytes of each), FAKE_CUDA_CORES (processors of each; 4),
 * FAKE_CUDA_LOSE (the n-th wait finds
 * that a kernel failed), FAKE_CUDA_LOG (a file that receives the name of each call), FAKE_CUDA_IDLE (from the n-th launch on, kernels
 * compute nothing: 1 for profiles of the host, more for a defect). */
#ifndef FAKECUDA_FAKE_H
#define FAKECUDA_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The n-th call from now on fails, once or, as when the device is lost, from there on always; 0: none does. */
typedef void fake_fail_fn(long n, bool always);
/* The n-th wait from now on finds that a kernel read an illegal address; all later calls fail with it. 0: never,
 * and a device that was lost works again, as for a new process. */
typedef void fake_lose_fn(long n);
/* Bytes of memory of each device. */
typedef void fake_memory_fn(uint64_t bytes);
/* Calls since fake_fail; objects that are alive; programs that were ever compiled; kernels that were ever
 * launched alone; graphs that were ever launched; parameters of graphs that were ever set; copies from one
 * device to another; the most programs that were ever compiled at a time. */
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
/* For stand-ins of libraries: queues a call of run with a copy of the data, as a launch would be; in a capture it becomes a node.
 * False if there is no memory. */
typedef bool fake_call_fn(struct CUstream_st *stream, void (*run)(const void *data),
                          const void *data, size_t bytes);

fake_fail_fn fake_fail;
fake_lose_fn fake_lose;
fake_memory_fn fake_memory;
fake_count_fn fake_count;
fake_call_fn fake_call;

#endif
