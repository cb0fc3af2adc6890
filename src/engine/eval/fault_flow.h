/* Which results of a schedule depend on which of its leaves and on which programs that may report faults. */
#ifndef ENGINE_FAULT_FLOW_H
#define ENGINE_FAULT_FLOW_H

#include "engine/graph/graph.h"

/* The sources are the leaves, in the order of their slots, then the programs that may report faults. */
typedef struct fault_flow {
    int n_leaf, n_fault;
    int *
        record; /* of each program of the schedule: its record in the current run; -1: it reports nothing */
    int words; /* of 64 bits, for a bit of each source */
    uint64_t *
        reach; /* of each slot: the sources on which its content depends; NULL before fault_flow_find */
} fault_flow;

/* The flow of a compiled schedule, without `reach`; NULL if there is no memory. */
fault_flow *fault_flow_of(schedule *s);
/* Fills `reach`. */
ig_status fault_flow_find(const schedule *s, fault_flow *f);
static inline uint64_t *fault_flow_reach(const fault_flow *f, int of)
{
    return f->reach + (size_t)of * (size_t)f->words;
}
void fault_flow_free(fault_flow *f); /* NULL is fine */

#endif
