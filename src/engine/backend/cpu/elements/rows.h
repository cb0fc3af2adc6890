/* Reading rows, including rows whose elements are far apart in memory. */
#ifndef CPU_ROWS_H
#define CPU_ROWS_H

#include "engine/backend/cpu/cpu.h"

/* Reads elements [first, first + n) of `rows` rows of length inner, from row `row` on. Each row
 * goes to packed memory, `apart` elements after the previous row. */
void rows_read(const operand *o, const binding *b, int64_t inner, int64_t row, int64_t rows,
               int64_t first, int64_t n, void *to, int64_t apart);
/* How many rows are best read together: more than 1 if their elements are neighbours. */
int64_t rows_together(const operand *o);

#endif
