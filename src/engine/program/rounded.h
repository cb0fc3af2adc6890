/* Contractions that may be rounded: see array/rounded.h. */
#ifndef PROGRAM_ROUNDED_H
#define PROGRAM_ROUNDED_H

#include "engine/array/rounded.h"
#include "engine/program/program.h"

/* Nothing is rounded in math mode same. */
static inline bool program_may_round(const program *p)
{
    return p->kind == PROGRAM_CONTRACT && p->fold == CONTRACT_ROUNDS && p->math != IG_MATH_SAME;
}

#endif
