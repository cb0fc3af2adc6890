/* An NVIDIA GPU as a backend, through the CUDA driver.
 *
 * A device is queried when it is found, and opened (its primary context and one stream) by the first buffer or kernel.
 * The stream orders all commands. Freed memory goes to the pool. The lock guards the fields after it.
 *
 * An error that the driver reports while the device works (such as an illegal address) destroys the context. The error
 * is kept, and every later call fails with it. */
#ifndef CUDA_CUDA_H
#define CUDA_CUDA_H

#include "engine/backend/backend.h"
#include "engine/backend/cuda/api.h"
#include "engine/backend/driver.h"

enum { CUDA_STAGING_BYTES = 4 << 20, CUDA_PARAMS_MOST = 544 };

typedef struct cuda_device {
    driver_device base; /* is_lost: see dead */
    CUdevice id;
    char model[128], level[64], features[160];
    int cores, capability; /* capability: 90 for 9.0 */
    bool unknown;          /* the driver did not report all attributes */

    CUcontext context; /* NULL: not open */
    CUstream stream;
    CUstream up, down;              /* for copies that overlap launches; NULL: not used yet */
    void *staging;                  /* pinned host memory */
    CUevent staged;                 /* recorded after the last copy out of staging */
    CUevent given;                  /* for streams of other libraries; NULL: not used yet */
    cublasLtHandle_t lt;            /* NULL: not used yet */
    cudnnHandle_t dnn;              /* the same */
    struct dnn_answer *offers;      /* the plans of cuDNN so far */
    struct solver_state *solver;    /* cuSOLVER and cuBLAS; the same */
    struct fft_answer *transforms;  /* the plans of cuFFT so far */
    uint32_t refused;               /* kinds of nodes whose library has failed: a bit for each */
    int n_native;                   /* programs that run as native code */
    struct cuda_text_kernel *texts; /* handwritten kernels that were used */
    int n_kernels;                  /* loaded kernels */
    int n_graphs;                   /* existing graphs */
    flight flight; /* launches since the last wait, each of which may have failed */
    char dead[2 * FLIGHT_TEXT_BYTES]; /* the error that destroyed the context, if is_lost */
} cuda_device;

static inline cuda_device *cuda_device_of(const backend *dev)
{
    return (cuda_device *)driver_of(dev);
}

/* buffer.handle */
typedef struct cuda_memory {
    driver_memory base;
    CUdeviceptr at;
} cuda_memory;

/* A loaded module, and the number of kernels that use it. */
typedef struct cuda_module {
    CUmodule module;
    int users;
} cuda_module;

typedef struct cuda_kernel {
    driver_kernel base;
    cuda_device *dev;
    cuda_module *module;
    CUfunction function;
    size_t shared_set;
} cuda_kernel;

/* The functions of the driver; valid once a device was found. */
extern cuda_api cu;

/* Locks the device, opens it and makes its context current; not locked on failure. */
static inline ig_status cuda_enter(cuda_device *d) { return driver_enter(&d->base.dev); }
/* The same for a question of the planner: a failure leaves no error, and the answer is no. */
static inline bool cuda_enter_to_ask(cuda_device *d)
{
    const bool waits = ig_failed();
    if (cuda_enter(d) == IG_OK)
        return true;
    if (!waits)
        ig_error(NULL);
    return false;
}
static inline void cuda_leave(cuda_device *d) { driver_leave(&d->base.dev); }
/* Entries of struct driver. */
ig_status cuda_use(const backend *dev);
void cuda_unuse(const backend *dev);
extern device_search cuda_search;
/* Makes the context of an open device current, to release something. Called with the lock; end it with
 * cu.context_pop. */
bool cuda_push(cuda_device *d);
/* Waits for the stream. Called with the lock and the context. */
CUresult cuda_wait(cuda_device *d);
/* IG_OK, or an error that says what failed and why. Called with the lock. */
ig_status cuda_check(cuda_device *d, CUresult status, const char *what);
/* The same for callers that cannot fail: keeps only an error that destroys the context. */
void cuda_note(cuda_device *d, CUresult status, const char *what);

extern const pool_driver cuda_pool;
extern const struct driver cuda_driver;

/* Memory and streams of other libraries (interop.c). */
extern const backend_share cuda_shared;

/* Copies that overlap launches (stream.c). */
extern const backend_stream cuda_streams;

/* Pinned host memory. */
buffer *cuda_alloc_visible(const backend *dev, size_t bytes);

ig_status cuda_kernel_build(const backend *dev, const kernel_image *image, kernel_code **out);
static inline kernel_param bytes_param(size_t bytes)
{
    return (kernel_param){.kind = KERNEL_BYTES, .bytes = bytes};
}

/* A handwritten kernel: texts of kernels/, which are concatenated and passed to NVRTC unchanged. */
typedef struct cuda_text {
    const char *definitions; /* before the texts */
    const char *text[4];     /* identified by their addresses; unused entries are NULL */
    const char *entry;
    const char
        *suffix; /* of the architecture's name: "a" for architecture-specific features; or NULL */
    const kernel_param *params;
    int n_params;
} cuda_text;
/* The kernel, compiled at most once. The device owns it. Called with the engine's lock. */
ig_status cuda_text_kernel(cuda_device *d, const cuda_text *t, cuda_kernel **out);
void cuda_text_release(cuda_device *d);
ig_status cuda_kernels_build(const backend *dev, const kernel_image *images, int n,
                             kernel_code **out);
void cuda_kernel_discard(kernel_code *code);
ig_status cuda_kernel_launch(kernel_code *code, const kernel_launch *l);

/* ---- replay of launches (replay.c) ---- */

typedef struct cuda_replay cuda_replay;
extern const backend_replay cuda_replays;

/* The list of launches that the calling thread records or replays on the device; NULL if there is none. */
cuda_replay *cuda_replay_now(const cuda_device *d);
/* Called before a launch; args has a pointer to each argument. True: the launch is part of a graph; do not launch. */
bool cuda_replay_launch(cuda_replay *r, cuda_kernel *k, const kernel_launch *l, void **args);
/* Called after a launch on the stream. */
void cuda_replay_launched(cuda_replay *r, cuda_kernel *k, const kernel_launch *l, void **args);
/* Called before calls of a library that launch on the device's stream; key is everything that they depend on. True: the
 * calls are part of a graph; do not make them. Called with the lock. */
bool cuda_replay_call(const cuda_device *d, const void *key, size_t bytes);
/* The same for calls that cannot be part of a graph. True: do not make them now; the list is repeated without a graph. */
bool cuda_replay_refuse(const cuda_device *d);

#endif
