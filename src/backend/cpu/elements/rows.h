/* Reading rows, also rows whose elements lie far apart in memory. */
#ifndef CPU_ROWS_H
#define CPU_ROWS_H

#include "backend/cpu/cpu.h"

/* Elements [first, first + n) of `rows` rows of length inner from the row-th on: each to packed memory
 * of its own, `apart` elements from the one before. */
void rows_read(const operand *o, const binding *b, int64_t inner, int64_t row, int64_t rows,
               int64_t first, int64_t n, void *to, int64_t apart);
/* How many rows are best read together: 1, but where neighbours lie beside each other. */
int64_t rows_together(const operand *o);

#endif
