/* A launch in two orders of threads and threadgroups. Both start from the same memory. Metal promises no order, so a
 * kernel whose bits depend on it lacks a barrier, or has another race. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

enum { BEFORE, AFTER, COPIES };

/* What the kernel may write, before the launch and after the first order. */
typedef struct kept {
    char *data[COPIES][SIM_BUFFERS];
} kept;

static bool is_written(const sim_kernel *k, int index)
{
    for (int j = 0; j < k->n_parameter; j++)
        if (k->parameter[j].kind == 'w' && k->parameter[j].index == index)
            return true;
    return false;
}

static void keep(kept *k, const sim_launch *l, int copy)
{
    for (int i = 0; i < SIM_BUFFERS; i++) {
        if (!is_written(l->kernel, i))
            continue;
        k->data[copy][i] = malloc(l->bytes[i]);
        REQUIRE(k->data[copy][i], "the simulator has no memory");
        memcpy(k->data[copy][i], l->buffer[i], l->bytes[i]);
    }
}

static bool same(const kept *k, const sim_launch *l, char *error, size_t room)
{
    for (int i = 0; i < SIM_BUFFERS; i++) {
        const char *first = k->data[AFTER][i], *second = l->buffer[i];
        if (!first || memcmp(first, second, l->bytes[i]) == 0)
            continue;
        size_t at = 0;
        while (first[at] == second[at])
            at++;
        snprintf(error, room, "kernel %s: byte %zu of buffer %d depends on the order of threads", l->kernel->name, at, i);
        return false;
    }
    return true;
}

bool sim_run_twice(const sim_launch *l, char *error, size_t room)
{
    kept k = {0};
    keep(&k, l, BEFORE);
    bool fine = sim_run(l, 0, error, room);
    if (fine) {
        keep(&k, l, AFTER);
        for (int i = 0; i < SIM_BUFFERS; i++)
            if (k.data[BEFORE][i])
                memcpy(l->buffer[i], k.data[BEFORE][i], l->bytes[i]);
        fine = sim_run(l, 1, error, room) && same(&k, l, error, room);
    }
    for (int i = 0; i < SIM_BUFFERS; i++) {
        free(k.data[BEFORE][i]);
        free(k.data[AFTER][i]);
    }
    return fine;
}
