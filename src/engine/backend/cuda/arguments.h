/* Arguments of the kernels written by hand (kernels/). NVRTC gets this text, too, so it has only types that
 * are the same in C and in CUDA C. */
#ifndef CUDA_ARGUMENTS_H
#define CUDA_ARGUMENTS_H

/* kernels/tensor_product.cu: strides of batches are 0 or 1, whether the map has that axis. */
typedef struct product_sizes {
    int m, n, k, batch;
    int tiles_m, tiles_n;
    int tiles; /* of all jobs */
    int a_batch, a_outer, b_batch, b_outer;
    int has_bias, aligned; /* rows of the result begin at multiples of 16 bytes */
    int keeps;             /* the product before the epilogue is written, too */
} product_sizes;

/* kernels/mma_product.cu: strides count elements; batch strides may be 0. */
typedef struct mma_sizes {
    long long a_ld, a_batch, a_outer, b_ld, b_batch, b_outer;
    int m, n, k, batch;
    int tiles_m, tiles_n;
    int has_bias;
} mma_sizes;

/* kernels/pack.cu: strides count elements; rows of the packed matrix are `ld` apart. */
typedef struct pack_sizes {
    long long outer, batch, row, point, ld;
    int n_batch, rows, k;
} pack_sizes;

/* kernels/attention.cu and attention_grad.cu */
typedef struct attention_sizes {
    long long out_outer, out_batch, out_row; /* strides of the result of the forward pass */
    int n_q, n_k, dim, batch, tiles;
    unsigned total; /* tiles of all products */
    int n_pad;      /* rows of lse: n_q, rounded up */
    float scale;    /* times log2(e) */
    float factor;   /* of the gradients of q and k */
} attention_sizes;

#endif
