/* The headers as bytes of the command: those of cli/cuda/include, what the library has for them, and
 * names that all mean cuda_runtime.h. */
#include "cuda/headers.h"

#include "embed.h"

#include <stdint.h>

INCLUDE_FILE("cuda_file_cuda_runtime_h", "cli/cuda/include/cuda_runtime.h");
INCLUDE_FILE("cuda_file_cuda_types_h", "cli/cuda/include/cuda_types.h");
INCLUDE_FILE("cuda_file_cuda_fp16_h", "cli/cuda/include/cuda_fp16.h");
INCLUDE_FILE("cuda_file_cuda_bf16_h", "cli/cuda/include/cuda_bf16.h");
INCLUDE_FILE("cuda_file_helper_cuda_h", "cli/cuda/include/helper_cuda.h");
INCLUDE_FILE("cuda_file_cooperative_groups_h", "cli/cuda/include/cooperative_groups.h");
INCLUDE_FILE("cuda_file_ingot_cuda_h", "src/engine/cuda.h");
INCLUDE_FILE("cuda_file_cuda_errors_def", "src/engine/cuda_errors.def");

extern const char cuda_file_cuda_runtime_h[], cuda_file_cuda_types_h[], cuda_file_cuda_fp16_h[],
    cuda_file_cuda_bf16_h[], cuda_file_helper_cuda_h[], cuda_file_cooperative_groups_h[],
    cuda_file_ingot_cuda_h[], cuda_file_cuda_errors_def[];
extern const uint64_t cuda_file_cuda_runtime_h_size, cuda_file_cuda_types_h_size,
    cuda_file_cuda_fp16_h_size, cuda_file_cuda_bf16_h_size, cuda_file_helper_cuda_h_size,
    cuda_file_cooperative_groups_h_size, cuda_file_ingot_cuda_h_size,
    cuda_file_cuda_errors_def_size;

static const struct {
    const char *name, *text;
    const uint64_t *bytes;
} files[] = {
    {"cuda_runtime.h", cuda_file_cuda_runtime_h, &cuda_file_cuda_runtime_h_size},
    {"cuda_types.h", cuda_file_cuda_types_h, &cuda_file_cuda_types_h_size},
    {"cuda_fp16.h", cuda_file_cuda_fp16_h, &cuda_file_cuda_fp16_h_size},
    {"cuda_bf16.h", cuda_file_cuda_bf16_h, &cuda_file_cuda_bf16_h_size},
    {"helper_cuda.h", cuda_file_helper_cuda_h, &cuda_file_helper_cuda_h_size},
    {"cooperative_groups.h", cuda_file_cooperative_groups_h, &cuda_file_cooperative_groups_h_size},
    {"ingot_cuda.h", cuda_file_ingot_cuda_h, &cuda_file_ingot_cuda_h_size},
    {"cuda_errors.def", cuda_file_cuda_errors_def, &cuda_file_cuda_errors_def_size},
};

static const char *const same[] = {"builtin_types.h",
                                   "cuda.h",
                                   "cuda_profiler_api.h",
                                   "cuda_runtime_api.h",
                                   "device_atomic_functions.h",
                                   "device_functions.h",
                                   "device_launch_parameters.h",
                                   "device_types.h",
                                   "driver_types.h",
                                   "helper_functions.h",
                                   "helper_string.h",
                                   "host_defines.h",
                                   "math_functions.h",
                                   "mma.h",
                                   "sm_20_atomic_functions.h",
                                   "sm_30_intrinsics.h",
                                   "vector_functions.h",
                                   "vector_types.h"};

static const char runtime[] = "#include \"cuda_runtime.h\"\n";

enum { FILES = sizeof files / sizeof *files, SAME = sizeof same / sizeof *same };

cuda_header cuda_header_at(int i)
{
    if (i < FILES)
        return (cuda_header){files[i].name, files[i].text, (size_t)*files[i].bytes};
    if (i < FILES + SAME)
        return (cuda_header){same[i - FILES], runtime, sizeof runtime - 1};
    return (cuda_header){NULL, NULL, 0};
}
