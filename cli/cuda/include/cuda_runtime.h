/* The CUDA runtime on the host, for programs that `ingot run` compiles: CUDA's names for the functions of
 * ingot_cuda.h, which the library implements. The rewriter turns kernels into stubs that launch themselves
 * (ig_cuda::ig_launch). */
#ifndef INGOT_CUDA_RUNTIME_H
#define INGOT_CUDA_RUNTIME_H

#define __CUDA_RUNTIME_H__ 1
#define __DRIVER_TYPES_H__ 1
#define __VECTOR_TYPES_H__ 1
#define CUDART_VERSION 12000

#ifndef __cplusplus
#include "ingot_c.h"
#else

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#define __INGOT__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#ifndef CUDA_VERSION
#define CUDA_VERSION 12000
#endif

#include "ingot_launch.h"
#include "ingot_device.h"
#include "ingot_memory.h"
#include "ingot_textures.h"
#include "ingot_streams.h"
#include "ingot_pools.h"
#include "ingot_graphs.h"
#include "ingot_functions.h"
#include "ingot_math.h"
#ifndef INGOT_NO_C_FILES
#include "ingot_c.h"
#endif
#undef IG_CALL
#undef IG_HERE

#endif
#endif
