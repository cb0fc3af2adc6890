/* The CUDA samples' header of helpers: their timers. */
#ifndef INGOT_HELPER_FUNCTIONS_H
#define INGOT_HELPER_FUNCTIONS_H

#include "cuda_runtime.h"
#include "helper_timer.h"

#endif
