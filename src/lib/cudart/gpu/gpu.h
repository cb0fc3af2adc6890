/* Shared by the files of the GPU target. device.c has the device and its context, unit.c loads a program's
 * units, image.c and nvrtc.c compile them, toolkit.c finds CUDA's headers, managed.c has managed variables;
 * launch.c, memory.c and streams.c have the other functions of the target.
 *
 * Addresses are the device's, streams and events are the driver's. There is no lock around a call: the driver
 * has its own, and a call may wait. The driver and the runtime use the same error numbers. */
#ifndef CUDART_GPU_GPU_H
#define CUDART_GPU_GPU_H

#include "engine/backend/cuda/cuda.h"
#include "lib/cudart/cudart.h"

/* The driver functions that whole programs need in addition to `cu`; valid after the first call of `enter`. */
extern cuda_program_api gpu;

/* 90 for compute capability 9.0. */
int gpu_capability(void);

/* The function of a kernel. Its unit is compiled and loaded if needed. */
int gpu_function_find(ig_cuda_kernel *k, CUfunction *function);
/* The address of a variable on the device. */
int gpu_variable(const cudart_variable *v, CUdeviceptr *at);
/* Forgets all units: the context that they were loaded in is gone. */
void gpu_units_forget(void);

/* Managed variables, whose host side is an ordinary variable. These update the device's value before a launch
 * of the unit, and the host's value after a wait. Without managed variables they do nothing. */
int gpu_managed_to_device(ig_cuda_unit *unit, CUstream stream);
int gpu_managed_to_host(int error);
/* Waits, unless a call is asynchronous, until the host sees its results. */
int gpu_finish(int error, bool is_async);
/* Translates a pointer to the host side of a managed variable; other pointers are not changed. */
int gpu_managed_address(char **at);

/* A unit, compiled for a GPU: the image and, for each requested expression, the name of its symbol, or NULL
 * if the unit does not have it. Release with gpu_image_free. */
typedef struct gpu_image {
    void *data;
    size_t bytes;
    char **symbols;
    int n;
} gpu_image;

/* The name of a kernel or variable for NVRTC. */
typedef struct gpu_expression {
    char *name;
    char *
        exact; /* for NVRTC if `name` is not enough: with a cast that chooses among overloads; or NULL */
} gpu_expression;

/* Compiles the unit with NVRTC, or loads the image from the cache. The error contains the compiler's
 * messages. */
ig_status gpu_compile(const ig_cuda_unit *unit, int capability, const gpu_expression *expressions,
                      int n, gpu_image *out);
/* The same without the cache: fills data, bytes and symbols of an image with room for n symbols. IG_ERR_DEVICE
 * if there is no NVRTC. */
ig_status gpu_nvrtc(const ig_cuda_unit *unit, int capability, const gpu_expression *expressions,
                    gpu_image *out);
void gpu_image_free(gpu_image *image);

/* NVRTC options for the folders of CUDA's headers, next to the library or in the usual places. Returns their
 * number; 0: this machine has no headers. */
enum { GPU_FOLDERS_MOST = 2, GPU_FOLDER_BYTES = 600 };
int gpu_toolkit_folders(const void *nvrtc_function, char out[GPU_FOLDERS_MOST][GPU_FOLDER_BYTES]);

/* The functions of the target. */
#define ROW(name, parameters) int gpu_##name parameters;
#include "lib/cudart/target.def"
#undef ROW

#endif
