/* The sums of a contraction as fragments, on devices whose warps multiply matrices of f32: see contract.c. A warp has
 * some fragments of SIDE x SIDE sums. They go through shared memory to the epilogue, one after another.
 *
 * The panels have zeros behind the last point of k, and fragments of f32 hold the values of f16 and bf16 exactly. */
#include "engine/emit/contract.h"

#define WMMA "nvcuda::wmma::"

enum { SIDE = 16 };

/* Fragments of a warp, which has the sums of 4 x 8 threads: down and across. */
static int down(const contraction *c) { return 4 * c->shape.rows / SIDE; }
static int across(const contraction *c) { return 8 * c->shape.cols / SIDE; }

bool contraction_uses_matrices(const program *p, const emit_target *t)
{
    return t->matrices && !t->same && t->subgroup == 32 && contraction_lane(p) == IG_F32 &&
           dtype_lane(p->in[0].dtype) == IG_F32 && dtype_lane(p->in[1].dtype) == IG_F32;
}

void contraction_matrix_begin(emit_writer *w, const contraction *c)
{
    text_add(&w->body,
             "    const int warp_m = warp / %d * %d, warp_n = warp %% %d * %d;\n"
             "    " WMMA "fragment<" WMMA "matrix_a, 16, 16, 16, float, " WMMA "col_major> x[%d];\n"
             "    " WMMA "fragment<" WMMA "matrix_b, 16, 16, 16, float, " WMMA "row_major> y[%d];\n"
             "    " WMMA "fragment<" WMMA "accumulator, 16, 16, 16, float> a[%d];\n"
             "#pragma unroll\n    for (int i = 0; i < %d; i++)\n        " WMMA
             "fill_fragment(a[i], 0.0f);\n",
             c->shape.warps_n, SIDE * down(c), c->shape.warps_n, SIDE * across(c), down(c),
             across(c), down(c) * across(c), down(c) * across(c));
}

void contraction_matrix_products(emit_writer *w, const contraction *c)
{
    text_add(&w->body,
             "#pragma unroll\n    for (int i = 0; i < %d; i++)\n"
             "        " WMMA "load_matrix_sync(x[i], from_%s + warp_m + %d * i, %d);\n"
             "#pragma unroll\n    for (int j = 0; j < %d; j++)\n"
             "        " WMMA "load_matrix_sync(y[j], from_%s + warp_n + %d * j, %d);\n"
             "#pragma unroll\n    for (int i = 0; i < %d; i++)\n"
             "#pragma unroll\n        for (int j = 0; j < %d; j++)\n"
             "            " WMMA "mma_sync(a[i * %d + j], x[i], y[j], a[i * %d + j]);\n",
             down(c), c->side[0].name, SIDE, c->side[0].pitch, across(c), c->side[1].name, SIDE,
             c->side[1].pitch, down(c), across(c), across(c), across(c));
}

/* The panels are not needed any more: each warp has a part of their memory. */
void contraction_matrix_end(emit_writer *w, const contraction *c)
{
    const char *m = c->side[0].name, *n = c->side[1].name;
    text_add(
        &w->body,
        "    float *patch = s_%s + warp * %d;\n"
        "#pragma unroll\n    for (int i = 0; i < %d; i++)\n"
        "#pragma unroll\n        for (int j = 0; j < %d; j++) {\n"
        "            " WMMA "store_matrix_sync(patch, a[i * %d + j], %d, " WMMA "mem_row_major);\n"
        "            __syncwarp();\n"
        "            for (int e = lane * %d; e < %d; e += %d) {\n"
        "                const int team = warp_m + %d * i + e / %d;\n"
        "                const idx row = %s_first + team;\n"
        "                const idx col = %s_first + warp_n + %d * j + e %% %d;\n"
        "                if (row < %s_end && col < %s_end)\n"
        "                    total%d(ARGS, %sbatch * %s_end + row, col",
        m, SIDE * SIDE, down(c), across(c), across(c), SIDE, c->vector, SIDE * SIDE, 32 * c->vector,
        SIDE, SIDE, m, n, SIDE, SIDE, m, n, c->number, c->locals ? "local, team, " : "", m);
    for (int k = 0; k < c->vector; k++)
        text_add(&w->body, ", patch[e + %d]", k);
    text_add(&w->body, ");\n            }\n            __syncwarp();\n        }\n");
}
