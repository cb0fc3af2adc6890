/* Decompositions of f32 matrices: see spectral.h. */
#define REAL float
#define F64 0
#define COMPLEX 0
#define TABLE spectral_f32
#include "engine/backend/cpu/lanes/spectral.inc"
