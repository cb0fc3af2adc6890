/* What lanes.cuh has for floats, for doubles. */

#define REAL double
#include "saturate.cuh"
#undef REAL
