/* The runtime, for headers that are C++ only. */
#ifndef __cplusplus
#error "ingot: C files can include only cuda_runtime.h of CUDA; rename the file to .cpp or .cu"
#endif
#include "cuda_runtime.h"
