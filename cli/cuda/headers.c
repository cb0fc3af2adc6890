/* The headers, embedded in the command: the files of cli/cuda/include, two files of the library, and CUDA's
 * header names that only include cuda_runtime.h. */
#include "cuda/headers.h"

#include "base/embed.h"

#include <stdint.h>
#include <string.h>

/* FILE(id, name, path) for each file. */
#define FILES_ALL(FILE) \
    FILE(cuda_runtime_h, "cuda_runtime.h", "cli/cuda/include/cuda_runtime.h") \
    FILE(cuda_h, "cuda.h", "cli/cuda/include/cuda.h") \
    FILE(cuda_arrays_h, "cuda_arrays.h", "cli/cuda/include/cuda_arrays.h") \
    FILE(cuda_virtual_h, "cuda_virtual.h", "cli/cuda/include/cuda_virtual.h") \
    FILE(nvrtc_h, "nvrtc.h", "cli/cuda/include/nvrtc.h") \
    FILE(cuda_types_h, "cuda_types.h", "cli/cuda/include/cuda_types.h") \
    FILE(ingot_types_h, "ingot_types.h", "cli/cuda/include/ingot_types.h") \
    FILE(ingot_c_h, "ingot_c.h", "cli/cuda/include/ingot_c.h") \
    FILE(ingot_cpp_h, "ingot_cpp.h", "cli/cuda/include/ingot_cpp.h") \
    FILE(ingot_launch_h, "ingot_launch.h", "cli/cuda/include/ingot_launch.h") \
    FILE(ingot_device_h, "ingot_device.h", "cli/cuda/include/ingot_device.h") \
    FILE(ingot_memory_h, "ingot_memory.h", "cli/cuda/include/ingot_memory.h") \
    FILE(ingot_textures_h, "ingot_textures.h", "cli/cuda/include/ingot_textures.h") \
    FILE(ingot_streams_h, "ingot_streams.h", "cli/cuda/include/ingot_streams.h") \
    FILE(ingot_pools_h, "ingot_pools.h", "cli/cuda/include/ingot_pools.h") \
    FILE(ingot_graphs_h, "ingot_graphs.h", "cli/cuda/include/ingot_graphs.h") \
    FILE(ingot_functions_h, "ingot_functions.h", "cli/cuda/include/ingot_functions.h") \
    FILE(ingot_math_h, "ingot_math.h", "cli/cuda/include/ingot_math.h") \
    FILE(ingot_thrust_h, "ingot_thrust.h", "cli/cuda/include/ingot_thrust.h") \
    FILE(ingot_thrust_iterators_h, "ingot_thrust_iterators.h", \
         "cli/cuda/include/ingot_thrust_iterators.h") \
    FILE(ingot_thrust_algorithms_h, "ingot_thrust_algorithms.h", \
         "cli/cuda/include/ingot_thrust_algorithms.h") \
    FILE(cuda_fp16_h, "cuda_fp16.h", "cli/cuda/include/cuda_fp16.h") \
    FILE(cuda_bf16_h, "cuda_bf16.h", "cli/cuda/include/cuda_bf16.h") \
    FILE(helper_timer_h, "helper_timer.h", "cli/cuda/include/helper_timer.h") \
    FILE(helper_functions_h, "helper_functions.h", "cli/cuda/include/helper_functions.h") \
    FILE(helper_cuda_h, "helper_cuda.h", "cli/cuda/include/helper_cuda.h") \
    FILE(cooperative_groups_h, "cooperative_groups.h", "cli/cuda/include/cooperative_groups.h") \
    FILE(cuComplex_h, "cuComplex.h", "src/compiler/library/cuComplex.h") \
    FILE(cuda_atomic, "cuda/atomic", "src/compiler/library/cuda_sync.h") \
    FILE(cuda_barrier, "cuda/barrier", "src/compiler/library/cuda_sync.h") \
    FILE(cuda_pipeline, "cuda/pipeline", "src/compiler/library/cuda_sync.h") \
    FILE(math_constants_h, "math_constants.h", "cli/cuda/include/math_constants.h") \
    FILE(mma_h, "mma.h", "cli/cuda/include/mma.h") \
    FILE(nvToolsExt_h, "nvToolsExt.h", "cli/cuda/include/nvToolsExt.h") \
    FILE(nvtx3_nvToolsExt_h, "nvtx3/nvToolsExt.h", "cli/cuda/include/nvToolsExt.h") \
    FILE(nvml_h, "nvml.h", "cli/cuda/include/nvml.h") \
    FILE(curand_kernel_h, "curand_kernel.h", "cli/cuda/include/curand_kernel.h") \
    FILE(ingot_nvrtc_h, "ingot_nvrtc.h", "cli/cuda/include/ingot_nvrtc.h") \
    FILE(ingot_nvrtc_stdint_h, "ingot_nvrtc_stdint.h", "cli/cuda/include/ingot_nvrtc_stdint.h") \
    FILE(ingot_cuda_h, "ingot_cuda.h", "src/lib/cudart/ig_cuda.h") \
    FILE(cuda_errors_def, "cuda_errors.def", "src/lib/cudart/errors.def")

#define TAKE_IN(id, name, path) INCLUDE_FILE("cuda_file_" #id, path);
FILES_ALL(TAKE_IN)
#undef TAKE_IN

#define DECLARE(id, name, path) \
    extern const char cuda_file_##id[]; \
    extern const uint64_t cuda_file_##id##_size;
FILES_ALL(DECLARE)
#undef DECLARE

static const struct {
    const char *name, *text;
    const uint64_t *bytes;
} files[] = {
#define ROW(id, name, path) {name, cuda_file_##id, &cuda_file_##id##_size},
    FILES_ALL(ROW)
#undef ROW
};

static const char *const same[] = {
    /* cooperative groups */
    "cooperative_groups/memcpy_async.h", "cooperative_groups/reduce.h", "cooperative_groups/scan.h",
    /* the runtime */
    "builtin_types.h", "channel_descriptor.h", "cuda_profiler_api.h", "cuda_runtime_api.h",
    "device_atomic_functions.h", "device_functions.h", "device_launch_parameters.h",
    "device_types.h", "driver_types.h", "helper_string.h", "host_defines.h", "math_functions.h",
    "sm_20_atomic_functions.h", "sm_30_intrinsics.h", "surface_functions.h",
    "surface_indirect_functions.h", "surface_types.h", "texture_fetch_functions.h",
    "texture_indirect_functions.h", "texture_types.h", "vector_functions.h", "vector_types.h"};

static const char *const of_thrust[] = {
#define HEADER(name) name,
#include "compiler/pp/thrust.def"
#undef HEADER
};

static const char runtime[] = "#include \"cuda_runtime.h\"\n";
static const char thrust[] = "#include \"ingot_thrust.h\"\n";

enum {
    FILES = sizeof files / sizeof *files,
    SAME = FILES + sizeof same / sizeof *same,
    THRUST = SAME + sizeof of_thrust / sizeof *of_thrust
};

cuda_header cuda_header_at(int i)
{
    if (i < FILES)
        return (cuda_header){files[i].name, files[i].text, (size_t)*files[i].bytes,
                             strcmp(files[i].name, "curand_kernel.h") == 0};
    if (i < SAME)
        return (cuda_header){same[i - FILES], runtime, sizeof runtime - 1, false};
    if (i < THRUST)
        return (cuda_header){of_thrust[i - SAME], thrust, sizeof thrust - 1, false};
    return (cuda_header){NULL, NULL, 0, false};
}

bool cuda_header_exists(const char *name, size_t bytes)
{
    for (int i = 0; cuda_header_at(i).name; i++)
        if (strlen(cuda_header_at(i).name) == bytes &&
            memcmp(cuda_header_at(i).name, name, bytes) == 0)
            return true;
    return false;
}
