/* Lambdas that the host passes to a kernel: [=] __device__ (int i) {...} becomes a struct that holds the
 * captured values and has an operator(). Host and device see the same struct, so its name and bytes identify
 * the lambda to the kernel. */
#ifndef CLI_CUDA_CLOSURE_H
#define CLI_CUDA_CLOSURE_H

#include "cuda/scan.h"

/* The position of a lambda: token numbers. */
typedef struct closure_place {
    int bracket;      /* its '[' */
    int params, body; /* the '(' and the '{' of the enclosing function */
    int outer;        /* the '<' of that function's template parameters, or -1 */
    bool on_host;     /* the lambda is also __host__ */
} closure_place;

typedef struct closure {
    int end;    /* its last token */
    str value;  /* the expression that replaces it */
    str host;   /* the struct on one line, inserted before the enclosing function */
    str device; /* the struct for the device, with the line numbers of the source */
} closure;

/* Returns false for unsupported lambdas, such as those that capture by reference. text is the whole
 * source. */
bool closure_make(const scan *s, const char *text, const closure_place *at, const char *name,
                  closure *out);
void closure_free(closure *c);

#endif
