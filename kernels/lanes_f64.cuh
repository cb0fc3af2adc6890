/* The functions of lanes.cuh, for doubles. */

#define REAL double
#include "saturate.cuh"
#undef REAL
