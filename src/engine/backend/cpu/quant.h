/* The products with quantized matrices of the level of cpu_level_now(). */
#ifndef CPU_LEVEL_QUANT_H
#define CPU_LEVEL_QUANT_H

#include "engine/backend/cpu/lanes/quant.h"

const quant_level *cpu_quant_now(void);
/* The level, as in --explain: "level vnni". */
const char *cpu_quant_label(void);

#endif
