/* Smallest cuts, by the largest flow (Dinic): flows are pushed along shortest paths until there is no path. */
#include "engine/graph/mincut.h"

#include "base/memory.h"

#include <string.h>

ig_status mincut_begin(mincut_network *c, int n_node)
{
    const size_t n = (size_t)n_node + 1;
    *c = (mincut_network){.n_node = n_node, .first = memory_get(4 * n * sizeof *c->first)};
    if (!c->first)
        return IG_ERR_MEMORY;
    c->level = c->first + n;
    c->at = c->level + n;
    c->queue = c->at + n;
    memset(c->first, -1, n * sizeof *c->first);
    return IG_OK;
}

ig_status mincut_add(mincut_network *c, int from, int to, int64_t capacity)
{
    for (int back = 0; back < 2; back++) {
        if (!memory_room(&c->edge, c->n_edge, &c->room, sizeof *c->edge))
            return IG_ERR_MEMORY;
        int *first = &c->first[back ? to : from];
        c->edge[c->n_edge] = (mincut_edge){back ? from : to, *first, back ? 0 : capacity};
        *first = c->n_edge++;
    }
    return IG_OK;
}

/* Finds the distance of all nodes, along edges with capacity left: from `start`, or backwards. -1: there is no path. */
static void find_levels(const mincut_network *c, int start, bool backwards)
{
    int n = 0;
    memset(c->level, -1, (size_t)c->n_node * sizeof *c->level);
    c->level[start] = 0;
    c->queue[n++] = start;
    for (int i = 0; i < n; i++)
        for (int e = c->first[c->queue[i]]; e >= 0; e = c->edge[e].next) {
            const int to = c->edge[e].to;
            if (c->level[to] >= 0 || c->edge[backwards ? e ^ 1 : e].left == 0)
                continue;
            c->level[to] = c->level[c->queue[i]] + 1;
            c->queue[n++] = to;
        }
}

/* Pushes flow along one path from `from` to `to` whose levels increase; returns its amount, 0 if there is none. The queue
 * holds the edges of the path. */
static int64_t push(const mincut_network *c, int from, int to)
{
    int *path = c->queue, depth = 0, v = from;
    while (v != to) {
        int *at = &c->at[v];
        while (*at >= 0 && (c->edge[*at].left == 0 || c->level[c->edge[*at].to] != c->level[v] + 1))
            *at = c->edge[*at].next;
        if (*at >= 0) {
            path[depth++] = *at;
            v = c->edge[*at].to;
        } else if (depth > 0) { /* a dead end */
            v = c->edge[path[--depth] ^ 1].to;
            c->at[v] = c->edge[c->at[v]].next;
        } else {
            return 0;
        }
    }
    int64_t amount = MINCUT_NEVER;
    for (int i = 0; i < depth; i++)
        amount = c->edge[path[i]].left < amount ? c->edge[path[i]].left : amount;
    for (int i = 0; i < depth; i++) {
        c->edge[path[i]].left -= amount;
        c->edge[path[i] ^ 1].left += amount;
    }
    return amount;
}

ig_status mincut_find(mincut_network *c, int from, int to, bool *behind)
{
    for (find_levels(c, from, false); c->level[to] >= 0; find_levels(c, from, false)) {
        memcpy(c->at, c->first, (size_t)c->n_node * sizeof *c->at);
        while (push(c, from, to) > 0)
            continue;
    }
    find_levels(c, to, true);
    for (int i = 0; i < c->n_node; i++)
        behind[i] = c->level[i] >= 0;
    return IG_OK;
}

void mincut_free(mincut_network *c)
{
    memory_free(c->first);
    memory_free(c->edge);
    *c = (mincut_network){0};
}
