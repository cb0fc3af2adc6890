/* The functions that a whole CUDA program calls through the cuda_runtime.h of `ingot run`.
 *
 * These functions are exported, for that header alone: they may change with every version, as the header
 * does, and are no part of ingot.h. Results are numbers of cuda_errors.def. As in CUDA, a failure is also
 * kept until ig_cuda_last_error is asked, and one that a running kernel met stays for good: from then on
 * all calls give it. Work is done in the order of the calls, whatever stream it is given to. */
#ifndef CUDART_IG_CUDA_H
#define CUDART_IG_CUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IG_CUDA_API __attribute__((visibility("default")))

/* A source file with device code. The rewriter defines one in each file that is compiled. */
typedef struct ig_cuda_unit {
    const char *name, *text;
    const char *const *defines, *const *folders; /* each ends with NULL */
    struct ig_cuda_state *state;                 /* the library's; initially NULL */
} ig_cuda_unit;

/* Registers a kernel under the address of its stub; call it before the first launch. name includes template
 * arguments: "tile<float, 16>". Text is copied. */
typedef struct ig_cuda_kernel ig_cuda_kernel;
IG_CUDA_API ig_cuda_kernel *ig_cuda_kernel_add(ig_cuda_unit *unit, const void *stub,
                                               const char *name);
/* Registers a device variable under the address of the host's variable of that name. A managed variable has its
 * value in the host's variable whenever no kernel runs. */
IG_CUDA_API int ig_cuda_variable_add(ig_cuda_unit *unit, void *shadow, const char *name,
                                     size_t bytes, int managed);

/* The source line of the calling thread's next call, for messages. file is a literal. */
IG_CUDA_API void ig_cuda_call_at(const char *file, int line);

/* Sets the shape of the calling thread's next launch. If the result is not 0, the shape is refused, and the
 * launch must be left out. */
IG_CUDA_API int ig_cuda_push(const uint32_t grid[3], const uint32_t block[3], size_t shared_bytes,
                             void *stream);
/* Launches with the shape that was set; args and sizes are those of the n parameters. */
IG_CUDA_API int ig_cuda_launch(ig_cuda_kernel *kernel, void *const *args, const size_t *sizes,
                               int n);
/* Shape and launch in one call, by the stub's address, as in cudaLaunchKernel. */
IG_CUDA_API int ig_cuda_launch_stub(const void *stub, const uint32_t grid[3],
                                    const uint32_t block[3], size_t shared_bytes, void *stream,
                                    void *const *args);

typedef struct ig_cuda_attributes {
    size_t shared_bytes, local_bytes, constant_bytes;
    int max_threads, registers;
} ig_cuda_attributes;
IG_CUDA_API int ig_cuda_function(const void *stub, ig_cuda_attributes *a);
/* Raises the limit of a kernel's dynamic shared memory. */
IG_CUDA_API int ig_cuda_allow_shared(const void *stub, size_t bytes);

/* Kinds of memory. */
enum { IG_CUDA_HOST, IG_CUDA_PINNED, IG_CUDA_DEVICE, IG_CUDA_MANAGED };
IG_CUDA_API int ig_cuda_alloc(void **at, size_t bytes, int kind);
IG_CUDA_API int ig_cuda_free(void *at, int pinned);
/* Registers host memory as pinned, and unregisters it. */
IG_CUDA_API int ig_cuda_adopt(void *at, size_t bytes);
IG_CUDA_API int ig_cuda_forget(void *at);
IG_CUDA_API int ig_cuda_kind(const void *at);
/* Copies rows of width bytes; kind is a cudaMemcpyKind. The pitch of a single row is ignored. */
IG_CUDA_API int ig_cuda_copy(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                             size_t width, size_t height, int kind);
IG_CUDA_API int ig_cuda_fill(void *at, size_t pitch, int value, size_t width, size_t height);
/* The device variable that belongs to a host variable. */
IG_CUDA_API int ig_cuda_symbol(const void *shadow, void **at, size_t *bytes);
/* A range of it, which must lie inside. */
IG_CUDA_API int ig_cuda_symbol_range(const void *shadow, size_t offset, size_t bytes, void **at);

IG_CUDA_API int ig_cuda_synchronize(void);
IG_CUDA_API int ig_cuda_reset(void);
IG_CUDA_API int ig_cuda_last_error(int forget);
/* Keeps an error that a header found; returns it. */
IG_CUDA_API int ig_cuda_fail(int error);
IG_CUDA_API const char *ig_cuda_error_name(int error);
IG_CUDA_API const char *ig_cuda_error_text(int error);
/* Seconds of a monotonic clock. */
IG_CUDA_API double ig_cuda_clock(void);

typedef struct ig_cuda_facts {
    char name[128];
    uint64_t memory, memory_used,
        shared_bytes;     /* the last: of a block, if it is allowed that much */
    uint64_t cache_bytes; /* of the last level; 0: not known */
    int cores, threads;   /* threads of a block */
} ig_cuda_facts;
IG_CUDA_API int ig_cuda_device(ig_cuda_facts *facts);

#ifdef __cplusplus
}
#endif
#endif
