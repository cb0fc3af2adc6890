/* Comparison of a computation with the CPU in f64. */
#ifndef INGOT_VERIFY_H
#define INGOT_VERIFY_H

#include "ingot/array.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The result of ig_verify. A node is an operation as ig_explain names it: most ops are one node, softmax is
 * several, matmul and convolution are "contract". */
typedef struct ig_verify_report {
    size_t size;           /* sizeof(ig_verify_report); 0: the fields of version 0.1 */
    int nodes;             /* nodes that were checked */
    int failed;            /* nodes whose error is above their bound */
    int64_t elements;      /* of all results */
    double worst_ulp;      /* largest error of elementwise nodes, in ulp */
    double worst_relative; /* largest relative error; for sums, relative to the largest result */
    double worst_bound;    /* largest error, in units of its bound; above 1 is wrong */
    /* The first failed node in the order of the graph, and its worst element. */
    int node;     /* its number, from 0; -1: none failed */
    bool fused;   /* correct by itself, but not when it is computed together with others */
    char op[32];  /* "exp" */
    double error; /* in units of its bound */
    double expected, got;
    char text[600]; /* all of this in one line, with dtypes and shapes; "" if none failed */
} ig_verify_report;

/* Compares the results of the calling thread's device for the arrays with the CPU in f64, node by node.
 * Each node is checked with the inputs that the device has computed, so an error is reported at the node
 * that causes it. f32 and f64 results may be off by the ulp of the op. Sums and contractions may be off by a
 * multiple of eps times the sum of magnitudes. Everything else must be exact. Fused results must have the same bits
 * as results computed node by node, unless a kernel of the user is among the nodes. The arrays do not change.
 * IG_OK means that the comparison was made; report->failed says whether the results are correct. */
IG_API ig_status ig_verify(ig_array *const *arrays, int n, ig_verify_report *report);

#ifdef __cplusplus
}
#endif

#endif
