/* Attention of query heads to fewer or as many heads of keys and values, for the ops of ai.onnx and com.microsoft. */
#ifndef ONNX_OPS_ATTENTION_H
#define ONNX_OPS_ATTENTION_H

#include "lib/onnx/op.h"

typedef struct attention {
    ig_array *q; /* (N, H, T, D) */
    ig_array *k; /* (N, G, S, D): H is a multiple of G */
    ig_array *v; /* (N, G, S, E) */
    /* Broadcasts with (N, H, T, S). allow is bool: true where a query attends to a key. bias is added. NULL: none. */
    ig_array *allow, *bias;
    bool causal;           /* query t attends to keys up to t + past */
    int64_t past;          /* keys before the first query */
    double scale, softcap; /* 0: none */
    ig_array *sink;        /* (H): exp(sink) is added to the sum of the softmax; NULL: none */
    ig_dtype softmax;      /* dtype of the softmax; IG_DTYPE_NONE: the dtype of q */
    bool keep;             /* fill stages */
    /* Scores (N, H, T, S): 0: q @ k.T * scale; 1: after softcap; 2: after bias and masks; 3: after softmax. */
    ig_array *stages[4];
} attention;

/* (N, H, T, E) in the dtype of q. */
ig_array *attention_apply(attention *a);

/* x (N, T, heads * D) as (N, heads, T, D), and back. */
ig_array *attention_split(onnx_call *c, const char *name, ig_array *x, int64_t heads);
ig_array *attention_merge(ig_array *x);

/* x (..., D) with pairs of its elements turned by angles whose cos and sin (..., D / 2) broadcast. Pairs are i and
 * i + D / 2, or neighbours with interleaved. */
ig_array *attention_rotate(ig_array *x, ig_array *cos, ig_array *sin, bool interleaved);

/* a and b combined; either may be NULL. */
ig_array *attention_both(ig_array *a, ig_array *b);

#endif
