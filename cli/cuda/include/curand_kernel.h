/* The states of cuRAND's generators on the host, which allocates them: their sizes and alignments. The functions
 * are device code; NVRTC takes them from CUDA's own header. */
#ifndef INGOT_CURAND_KERNEL_H
#define INGOT_CURAND_KERNEL_H

#include "ingot_cpp.h"

#define IG_STATE(name, bytes, alignment) \
    struct alignas(alignment) name { \
        unsigned char ig_bytes[bytes]; \
    }; \
    typedef name name##_t;
IG_STATE(curandStateXORWOW, 48, 8)
IG_STATE(curandStatePhilox4_32_10, 64, 16)
IG_STATE(curandStateMRG32k3a, 48, 8)
IG_STATE(curandStateSobol32, 140, 4)
IG_STATE(curandStateScrambledSobol32, 140, 4)
IG_STATE(curandStateSobol64, 536, 8)
IG_STATE(curandStateScrambledSobol64, 536, 8)
#undef IG_STATE
typedef curandStateXORWOW curandState, curandState_t;

#endif
