/* How units of work are divided among workers, and the tree in which the values of parts are joined: blocks of stages, shards
 * of a training step, and elements of parameters. Neither changes with the number of workers that join values. */
#ifndef BASE_PARTS_H
#define BASE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

/* Part `at` of n units has the units [part_first(n, parts, at), part_first(n, parts, at + 1)): as many as the others, or one more. */
static inline int64_t part_first(int64_t n, int64_t parts, int64_t at)
{
    return n / parts * at + n % parts * at / parts;
}

/* True if [lo, hi) is a node of the tree over n units, whose nodes have two halves; the second has the odd unit. */
static inline bool part_is_node(int64_t lo, int64_t hi, int64_t n)
{
    int64_t from = 0, to = n;
    while (from < lo || to > hi) {
        const int64_t middle = from + (to - from) / 2;
        if (hi <= middle)
            to = middle;
        else if (lo >= middle)
            from = middle;
        else
            return false;
    }
    return from == lo && to == hi;
}

#endif
