/* Sums of vectors over all ranks, see shards.h: each rank gets its part of all nodes, and adds them along the tree. */
#include "lib/nn/shards.h"
#include <stdlib.h>
#include <string.h>

void exchange_free(exchange *x)
{
    free(x->node);
    free(x->move);
    free(x->memory);
}

static void move_add(exchange *x, int rank, bool sends, char *data, uint64_t bytes)
{
    if (bytes)
        x->move[x->n_move++] = (team_move){rank, sends, data, bytes};
}

static ig_status exchange_plan(const shards *s, exchange *x)
{
    const size_t most = (size_t)s->ranks * NODES_MAX;
    const uint64_t part = s->fine_cut[s->rank + 1] - s->fine_cut[s->rank];
    node theirs[NODES_MAX];
    uint64_t received = 0;
    for (int r = 0; r < s->ranks; r++)
        if (r != s->rank)
            received += (uint64_t)nodes_of_rank(s->count, s->ranks, r, theirs) * part;
    x->node = calloc(most, sizeof *x->node);
    x->move = calloc(2 * most, sizeof *x->move);
    x->memory = malloc(received + 1);
    if (!x->node || !x->move || !x->memory)
        return ig_fail(IG_ERR_MEMORY, "shards_step: no memory for %llu bytes of gradients",
                       (unsigned long long)received);
    char *into = x->memory;
    for (int r = 0; r < s->ranks; r++) {
        const int n = nodes_of_rank(s->count, s->ranks, r, theirs);
        for (int k = 0; k < s->n_node && r != s->rank; k++)
            move_add(x, r, true, s->node[k].sum + s->fine_cut[r],
                     s->fine_cut[r + 1] - s->fine_cut[r]);
        for (int k = 0; k < n; k++) {
            node *to = &x->node[x->n++];
            *to = theirs[k];
            to->sum = r == s->rank ? s->node[k].sum + s->fine_cut[r] : into;
            if (r != s->rank) {
                move_add(x, r, false, into, part);
                into += part;
            }
        }
    }
    return IG_OK;
}

ig_status exchange_sum(shards *s, exchange *x)
{
    ig_status status = exchange_plan(s, x);
    if (status == IG_OK && x->n_move)
        status = team_exchange(TEAM_MAIN, x->move, x->n_move);
    int used = 0;
    for (int k = 0; k < x->n && status == IG_OK; k++) {
        x->node[used++] = x->node[k];
        shards_merge(s, x->node, &used, s->rank);
    }
    return status;
}
