/* An Apple GPU as a backend, through Metal.
 *
 * Memory is unified: a buffer's data is host memory that the GPU uses too, so nothing is copied between them. The host
 * touches a buffer only after all commands that use it have completed.
 *
 * Launches are encoded one after another into the open command buffer, a batch. Batches are numbered. A batch is
 * committed in three cases: its launches are expected to take METAL_BATCH_SECONDS, as measured on previous batches; it
 * uses many bytes; or a caller waits. The system stops a command buffer that runs for seconds. At most
 * METAL_IN_FLIGHT batches are committed and not completed.
 *
 * A buffer stores the number of the last batch that uses it, and of the last one that may have written it. If a batch
 * fails, it and all later batches are marked: buffers that they wrote are poisoned.
 *
 * The device's lock guards the fields after it. Every entry point has an autorelease pool. */
#ifndef METAL_METAL_H
#define METAL_METAL_H

#include "engine/backend/backend.h"
#include "engine/backend/driver.h"
#include "engine/backend/metal/objc.h"

enum {
    METAL_IN_FLIGHT = 4,
    METAL_BUFFERS = 31,      /* parameters of a kernel that are buffers */
    METAL_BYTES_MOST = 4096, /* of an argument that is passed by value */
    METAL_PAGE = 16384,
    METAL_LAUNCHES_FIRST = 8, /* per batch, until the time of a launch is known */
    METAL_LAUNCHES_MOST = 256
};
#define METAL_BATCH_SECONDS 0.05

typedef enum metal_encoder { METAL_NONE, METAL_COMPUTE, METAL_BLIT } metal_encoder;

/* Products of MPSMatrixMultiplication: the setting IG_MPS, and measured times. Products are in classes by dtype, f32 or
 * f16, and number of multiplications. The times of each class are kept in the cache. */
enum { METAL_CLASSES = 4 };
typedef enum mps_mode { MPS_MEASURED, MPS_OFF, MPS_ON, MPS_MEASURE, MPS_MODES } mps_mode;
typedef struct mps_times {
    int64_t native_ns, kernel_ns; /* 0: not measured */
} mps_times;

/* A command buffer. */
typedef struct metal_batch {
    id commands;
    uint64_t number;
    int launches;
    uint64_t bytes; /* total size of the buffers that it uses */
    flight names;
} metal_batch;

/* A block of the pool. A block larger than Metal's largest buffer is mapped by us and seen through windows. A window
 * is a Metal buffer over two steps of the block; windows begin one step apart. So from each byte, at least one step is
 * reachable through one window. Metal does not know that windows overlap: a launch that uses one runs in a separate
 * batch. */
typedef struct metal_block {
    id object;
    void *data;
    size_t bytes;
    uint64_t used; /* number of the last batch that uses it */
    int n_windows;
    id windows[];
} metal_block;

typedef struct metal_device {
    driver_device base; /* its numbers are of batches */
    id device;
    char model[96], family[16], features[192], note[160];
    uint64_t memory; /* bytes of the machine */
    mps_mode mps;

    void *autorelease;
    id queue;         /* NULL: not open */
    metal_batch open; /* commands is NULL: none */
    id encoder;       /* of the open batch */
    metal_encoder kind;
    metal_batch flight[METAL_IN_FLIGHT]; /* oldest first */
    int n_flight;
    uint64_t completed;                    /* number of the last batch that has completed */
    double launch_seconds;                 /* measured time of a launch; 0: unknown */
    mps_times mps_times[2][METAL_CLASSES]; /* f32, f16 */
} metal_device;

static inline metal_device *metal_device_of(const backend *dev)
{
    return (metal_device *)driver_of(dev);
}

/* buffer.handle */
typedef struct metal_memory {
    driver_memory base; /* its numbers are batch numbers */
    id object;          /* NULL: there are windows */
    size_t start;       /* offset of the buffer in the object */
} metal_memory;

typedef struct metal_kernel {
    driver_kernel base;
    metal_device *dev;
    id pipeline;
} metal_kernel;

/* ---- device.c ---- */

/* Entries of struct driver. */
ig_status metal_use(const backend *dev);
void metal_begin(const backend *dev);
void metal_end(const backend *dev);
extern device_search metal_search;
/* The text of an NSError, or `otherwise`. Valid until the pool ends. */
const char *metal_error_text(id error, const char *otherwise);

/* ---- queue.c: called with the lock ---- */

/* An encoder of the open batch, for one more command; `what` names the command. */
ig_status metal_encode(metal_device *d, metal_encoder kind, const char *what, id *encoder);
/* The open batch itself, without an encoder, for a library that makes its own encoders. */
ig_status metal_encode_library(metal_device *d, const char *what, id *commands);
/* Records that the open batch uses this buffer. */
void metal_uses(buffer *b, bool writes);
/* Commits the open batch if it is large enough. */
ig_status metal_batch_check(metal_device *d);
/* Waits for all batches up to this number, and fails if one of them failed. */
ig_status metal_settle(metal_device *d, uint64_t number);
/* The same for all batches. *seconds (may be NULL) receives the time of the last batch on the GPU. */
ig_status metal_settle_all(metal_device *d, double *seconds);

/* ---- memory.c ---- */

extern const struct driver metal_driver;
buffer *metal_wrap(const backend *dev, buffer *from, size_t offset, size_t bytes);
extern const pool_driver metal_pool;
/* True if the buffer is larger than Metal's largest buffer, and therefore has windows. */
bool metal_is_windowed(const buffer *b);
/* The Metal object that has a byte of the buffer; *at is the offset in it. */
id metal_place(const buffer *b, size_t offset, size_t *at);

/* ---- mps.c ---- */

/* Reads IG_MPS and the times in the cache; adds the products that MPS runs to d->features. False if the value of IG_MPS
 * is invalid. */
bool mps_look(metal_device *d);
extern const backend_native metal_native_programs;

/* ---- build.c, launch.c ---- */

ig_status metal_kernel_build(const backend *dev, const kernel_image *image, kernel_code **out);
void metal_kernel_discard(kernel_code *code);
ig_status metal_kernel_launch(kernel_code *code, const kernel_launch *l);

#endif
