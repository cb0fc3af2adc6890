/* The tree of shards, see shards.h. It depends on the number of shards only. */
#include "lib/nn/shards.h"

void shards_of_rank(int count, int ranks, int rank, int *first, int *end)
{
    *first = (int)((int64_t)count * rank / ranks);
    *end = (int)((int64_t)count * (rank + 1) / ranks);
}

/* True if [lo, hi) is a node of the tree. */
static bool is_node(int lo, int hi, int count)
{
    int from = 0, to = count;
    while (from < lo || to > hi) {
        const int middle = from + (to - from) / 2;
        if (hi <= middle)
            to = middle;
        else if (lo >= middle)
            from = middle;
        else
            return false;
    }
    return from == lo && to == hi;
}

bool nodes_are_halves(const node *list, int n, int count)
{
    return n > 1 && is_node(list[n - 2].lo, list[n - 1].hi, count);
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
