/* Decompositions of c64 matrices: see spectral.h. */
#define REAL float
#define F64 0
#define COMPLEX 1
#define TABLE spectral_c64
#include "engine/backend/cpu/lanes/spectral.inc"
