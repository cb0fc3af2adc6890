/* The tree of shards, see shards.h. It depends on the number of shards only. */
#include "lib/nn/shards.h"

#include "base/parts.h"

void shards_of_rank(int count, int ranks, int rank, int *first, int *end)
{
    *first = (int)part_first(count, ranks, rank);
    *end = (int)part_first(count, ranks, rank + 1);
}

bool nodes_are_halves(const node *list, int n, int count)
{
    return n > 1 && part_is_node(list[n - 2].lo, list[n - 1].hi, count);
}

int nodes_of_rank(int count, int ranks, int rank, node *list)
{
    int first, end, n = 0;
    shards_of_rank(count, ranks, rank, &first, &end);
    for (int k = first; k < end; k++) {
        list[n++] = (node){.lo = k, .hi = k + 1};
        for (; nodes_are_halves(list, n, count); n--)
            list[n - 2].hi = list[n - 1].hi;
    }
    return n;
}

double tree_sum(const double *value, int lo, int hi, int stride)
{
    if (hi - lo == 1)
        return value[(size_t)lo * (size_t)stride];
    const int middle = lo + (hi - lo) / 2;
    return tree_sum(value, lo, middle, stride) + tree_sum(value, middle, hi, stride);
}
