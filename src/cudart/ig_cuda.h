/* What a whole CUDA program calls, through the cuda_runtime.h that `ingot run` compiles it with.
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

/* A source file with device code: made by the rewriter, one for each file that is compiled. */
typedef struct ig_cuda_unit {
    const char *name, *text;
    const char *const *defines, *const *folders; /* each ends with NULL */
    struct ig_cuda_state *state;                 /* of the library; NULL at first */
} ig_cuda_unit;

/* Makes a kernel known under the address of its stub, before the first launch of any. name has template
 * arguments: "tile<float, 16>". Text is copied. */
typedef struct ig_cuda_kernel ig_cuda_kernel;
IG_CUDA_API ig_cuda_kernel *ig_cuda_kernel_add(ig_cuda_unit *unit, const void *stub,
                                               const char *name);
/* Makes a variable known under the address of the host's variable of that name. A managed one has its
 * value there whenever no kernel runs. */
IG_CUDA_API int ig_cuda_variable_add(ig_cuda_unit *unit, void *shadow, const char *name,
                                     size_t bytes, int managed);

/* Where the calling thread's next call stands, for messages. file is a literal. */
IG_CUDA_API void ig_cuda_call_at(const char *file, int line);

/* The shape of the calling thread's next launch; not 0: it is refused, and is not to be launched. */
IG_CUDA_API int ig_cuda_push(const uint32_t grid[3], const uint32_t block[3], size_t shared_bytes,
                             void *stream);
/* Launches with the shape that was pushed; args and sizes of the n parameters. */
IG_CUDA_API int ig_cuda_launch(ig_cuda_kernel *kernel, void *const *args, const size_t *sizes,
                               int n);
/* All of it by a stub's address, as cudaLaunchKernel has it. */
IG_CUDA_API int ig_cuda_launch_stub(const void *stub, const uint32_t grid[3],
                                    const uint32_t block[3], size_t shared_bytes, void *stream,
                                    void *const *args);

typedef struct ig_cuda_attributes {
    size_t shared_bytes, local_bytes, constant_bytes;
    int max_threads, registers;
} ig_cuda_attributes;
IG_CUDA_API int ig_cuda_function(const void *stub, ig_cuda_attributes *a);
/* Allows launches of a kernel that much dynamic shared memory. */
IG_CUDA_API int ig_cuda_allow_shared(const void *stub, size_t bytes);

/* Where an address points to. */
enum { IG_CUDA_HOST, IG_CUDA_PINNED, IG_CUDA_DEVICE, IG_CUDA_MANAGED };
IG_CUDA_API int ig_cuda_alloc(void **at, size_t bytes, int kind);
IG_CUDA_API int ig_cuda_free(void *at, int pinned);
/* Takes memory of the host's as pinned, and gives it back. */
IG_CUDA_API int ig_cuda_adopt(void *at, size_t bytes);
IG_CUDA_API int ig_cuda_forget(void *at);
IG_CUDA_API int ig_cuda_kind(const void *at);
/* Rows of width bytes; kind is a cudaMemcpyKind. One row has any pitch. */
IG_CUDA_API int ig_cuda_copy(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                             size_t width, size_t height, int kind);
IG_CUDA_API int ig_cuda_fill(void *at, size_t pitch, int value, size_t width, size_t height);
/* The device's variable behind the host's. */
IG_CUDA_API int ig_cuda_symbol(const void *shadow, void **at, size_t *bytes);
/* A part of it, which must be in it. */
IG_CUDA_API int ig_cuda_symbol_range(const void *shadow, size_t offset, size_t bytes, void **at);

IG_CUDA_API int ig_cuda_synchronize(void);
IG_CUDA_API int ig_cuda_reset(void);
IG_CUDA_API int ig_cuda_last_error(int forget);
/* Keeps an error that the header found itself; returns it. */
IG_CUDA_API int ig_cuda_fail(int error);
IG_CUDA_API const char *ig_cuda_error_name(int error);
IG_CUDA_API const char *ig_cuda_error_text(int error);
/* Seconds of a clock that only goes forward. */
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
