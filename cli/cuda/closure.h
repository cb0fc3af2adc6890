/* Lambdas that go from the host to a kernel: [=] __device__ (int i) {...} becomes a struct with what it
 * captures, by values, and an operator(). Host and device see the same struct, so its name and its bytes say
 * to a kernel what it is given. */
#ifndef CLI_CUDA_CLOSURE_H
#define CLI_CUDA_CLOSURE_H

#include "cuda/scan.h"

/* Where a lambda is: tokens. */
typedef struct closure_place {
    int bracket;      /* its '[' */
    int params, body; /* of the function around it: the '(' and the '{' */
    int outer;        /* of that: the '<' of template parameters, or -1 */
    bool on_host;     /* it is __host__, too */
} closure_place;

typedef struct closure {
    int end;    /* its last token */
    str value;  /* what stands in its place */
    str host;   /* the struct, before the function around it: one line */
    str device; /* the same for the device, whose lines are those of the source */
} closure;

/* False: it is none that we understand, such as one that captures by reference. text is the whole source. */
bool closure_make(const scan *s, const char *text, const closure_place *at, const char *name,
                  closure *out);
void closure_free(closure *c);

#endif
