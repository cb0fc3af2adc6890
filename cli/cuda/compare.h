/* What a program printed on two devices, compared. */
#ifndef CLI_CUDA_COMPARE_H
#define CLI_CUDA_COMPARE_H

#include "cuda/program.h"

/* The result of a comparison. Numbers with a point or an exponent may differ: by the tolerance, relative to the
 * larger one, or by one unit of the last digit that was printed. Everything else is the same to the letter. */
typedef struct output_comparison {
    bool same;
    bool reordered;     /* the same lines, in another order */
    int lines, numbers; /* of the first output; numbers: those that may differ */
    double largest;     /* relative difference of two numbers that was allowed */
    int line;           /* from 1: the first one that differs; 0: none */
    str first, second;  /* that line of both outputs; empty if there is none */
} output_comparison;

void output_compare(const char *a, const char *b, double tolerance, output_comparison *out);
void output_comparison_free(output_comparison *c);

/* Runs the program on o->device and on the devices of o->compare, separated by commas; prints the first one's output,
 * and reports on stderr whether the others printed the same. The exit code is the program's own, or 1 if outputs
 * or exit codes differ. */
int program_compare(const command *c, const program_options *o);

#endif
