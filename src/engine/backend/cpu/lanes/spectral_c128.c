/* Decompositions of c128 matrices: see spectral.h. */
#define REAL double
#define F64 1
#define COMPLEX 1
#define TABLE spectral_c128
#include "engine/backend/cpu/lanes/spectral.inc"
