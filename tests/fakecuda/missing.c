/* The fake driver: functions of api.def that it does not implement. They fail. They are weak, so implemented functions
 * replace them. */
#include "engine/backend/cuda/api.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { NOT_SUPPORTED = 801 };

#define MISSING __attribute__((visibility("default"), weak))
#define CU_FUNCTION(name, symbol, parameters) \
    MISSING CUresult symbol parameters { return NOT_SUPPORTED; }
#define CU_PROGRAM(name, symbol, parameters) CU_FUNCTION(name, symbol, parameters)
#define NVRTC_FUNCTION(name, parameters) \
    MISSING nvrtcResult name parameters { return 1; }
#define NVRTC_PROGRAM(name, parameters) NVRTC_FUNCTION(name, parameters)
#include "engine/backend/cuda/api.def"
