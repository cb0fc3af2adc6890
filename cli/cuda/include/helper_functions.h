/* The CUDA samples' header of helpers: their timers. */
#ifndef INGOT_HELPER_FUNCTIONS_H
#define INGOT_HELPER_FUNCTIONS_H

#include "ingot_cpp.h"
#include "helper_timer.h"

#endif
