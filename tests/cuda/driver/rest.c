/* The other functions of the driver: they only succeed. Those of idle.c replace these. */
#include "engine/backend/cuda/api.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define CU_FUNCTION(name, symbol, parameters) \
    __attribute__((weak, visibility("default"))) CUresult symbol parameters; \
    CUresult symbol parameters \
    { \
        return CUDA_SUCCESS; \
    }
#define CU_PROGRAM(name, symbol, parameters) CU_FUNCTION(name, symbol, parameters)
#include "engine/backend/cuda/api.def"
