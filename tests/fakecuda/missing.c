/* The fake driver: functions of api.def that it does not have. They fail; what it has replaces them. */
#include "engine/backend/cuda/api.h"

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { NOT_SUPPORTED = 801 };

#define MISSING __attribute__((visibility("default"), weak))
#define CU_FUNCTION(name, symbol, parameters) \
    MISSING CUresult symbol parameters { return NOT_SUPPORTED; }
#define NVRTC_FUNCTION(name, parameters) \
    MISSING nvrtcResult name parameters { return 1; }
#include "engine/backend/cuda/api.def"
