/* Decompositions of f64 matrices: see spectral.h. */
#define REAL double
#define F64 1
#define COMPLEX 0
#define TABLE spectral_f64
#include "engine/backend/cpu/lanes/spectral.inc"
