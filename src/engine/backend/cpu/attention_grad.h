/* The gradient of attention from query, key, value and the gradient of the result; see attention_grad.c. */
#ifndef CPU_ATTENTION_GRAD_H
#define CPU_ATTENTION_GRAD_H

#include "engine/backend/cpu/cpu.h"

bool cpu_attention_grad_offers(const node_native *n);
/* Of a node that a device offered. */
bool cpu_attention_grad_runs(const node_native *n);
/* The plan of the node, for p->compiled; NULL with the error set on failure. */
void *cpu_attention_grad_plan(const program *p);
size_t cpu_attention_grad_scratch(const program *p);
ig_status cpu_attention_grad(const program *p, const binding *b);

#endif
