/* The blocks of k of contractions whose order is fixed; see PRODUCT_K. */
#ifndef PROGRAM_PRODUCT_H
#define PROGRAM_PRODUCT_H

#include "engine/program/program.h"

/* The points of k in a block: k is cut evenly into the fewest blocks of at most `most` points. */
static inline int64_t product_block(int64_t k, int64_t most)
{
    const int64_t blocks = k / most + (k % most > 0);
    return blocks ? (k + blocks - 1) / blocks : 1;
}

#endif
