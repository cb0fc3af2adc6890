/* Attention by kernels/attention.cu and attention_grad.cu, on the tensor cores of Hopper. The operands of a node of
 * ops/attention.c are (products, rows or keys, elements). Operands of the forward pass may be strided; operands of
 * the gradient are contiguous. */
#include "engine/backend/cuda/arguments.h"
#include "engine/backend/cuda/native.h"

#include "base/embed.h"
#include "base/error.h"
#include "base/integer.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

INCLUDE_FILE("kernels_attention_parts", "kernels/attention.cuh");
INCLUDE_FILE("kernels_attention", "kernels/attention.cu");
INCLUDE_FILE("kernels_attention_grad", "kernels/attention_grad.cu");
extern const char kernels_attention_parts[], kernels_attention[], kernels_attention_grad[];

enum { KEYS = 128, LSE_ROWS = 64, QUERIES = 64, KV_GROUPS = 2, INPUTS = 6, MAPS = 4 };
enum { LONG = 8 * KEYS }; /* from here on, a block of the forward pass takes several tiles */

typedef struct attention {
    cuda_native base;
    cuda_kernel *forward, *delta, *grad_q, *grad_kv;
    int wide;   /* elements of a row as the kernels see them: 64 or 128 */
    int groups; /* warpgroups, each with its own rows */
    bool masked;
    bool is_short;  /* the forward pass has one tile of keys, and blocks of one warpgroup */
    int64_t blocks; /* of the forward pass; if there are more tiles, a block takes several */
    int64_t jobs, rows, keys, dim, padded;
    operand in[INPUTS], out[3];
    attention_sizes sizes;
    /* The maps of the last launch of the forward pass, and the addresses that they describe. */
    unsigned char map[3][sizeof(CUtensorMap)];
    CUdeviceptr mapped[3];
} attention;

bool attention_offers(const cuda_device *d, const node_native *n)
{
    const int64_t most = 1 << 20, *e = n->number;
    return (n->kind == NATIVE_ATTENTION || n->kind == NATIVE_ATTENTION_GRADIENT) &&
           d->capability == 90 && cu.tensor_map && dtype_is_half(n->dtype) && e[3] % 8 == 0 &&
           e[3] <= 128 && e[0] <= most && e[1] <= most && e[2] <= most &&
           (double)e[0] * (double)(e[1] + 64) < INT32_MAX && n->scale > 0 && e[6] <= 1 &&
           !e[7]; /* no mask that is added, no rows of NaN */
}

static void discard(cuda_native *code) { memory_free(code); }

/* ---- kernels ---- */

static ig_status kernel_of(const attention *a, ig_dtype dtype, bool causal, const char *text,
                           int part, const char *entry, int groups, const kernel_param *params,
                           int n, cuda_kernel **out)
{
    char definitions[240];
    snprintf(definitions, sizeof definitions,
             "#define TYPE \"%s\"\n#define IS_F16 %d\n#define DIM %d\n#define WGS %d\n"
             "#define CAUSAL %d\n#define MASKED %d\n#define PART %d\n#define LOOP %d\n"
             "#define SHORT %d\n",
             ig_dtype_name(dtype), dtype == IG_F16, a->wide, groups, causal, a->masked, part,
             a->blocks > 0 && a->blocks < a->sizes.total, a->is_short);
    const cuda_text t = {
        definitions, {kernels_arguments, kernels_hopper, kernels_attention_parts, text},
        entry,       "a",
        params,      n};
    return cuda_text_kernel(a->base.dev, &t, out);
}

static ig_status forward_kernel(attention *a, const node_native *n)
{
    const kernel_param map = bytes_param(sizeof(CUtensorMap)), pointer = {.kind = KERNEL_BUFFER};
    const kernel_param params[] = {
        map, map, map, pointer, pointer, pointer, bytes_param(sizeof(attention_sizes))};
    return kernel_of(a, n->dtype, n->number[4] != 0, kernels_attention, 0, "attend", a->groups,
                     params, 7, &a->forward);
}

static ig_status gradient_kernels(attention *a, const node_native *n)
{
    const kernel_param map = bytes_param(sizeof(CUtensorMap)), pointer = {.kind = KERNEL_BUFFER};
    const kernel_param sizes = bytes_param(sizeof(attention_sizes));
    const kernel_param delta[] = {pointer, pointer, pointer, sizes};
    const kernel_param grad_q[] = {map, map, map, map, pointer, pointer, pointer, sizes};
    const kernel_param grad_kv[] = {map, map, map, map, pointer, pointer, pointer, pointer, sizes};
    const char *text = kernels_attention_grad;
    const bool causal = n->number[4] != 0;
    TRY(kernel_of(a, n->dtype, causal, text, 0, "delta", KV_GROUPS, delta, 4, &a->delta));
    TRY(kernel_of(a, n->dtype, causal, text, 1, "gradient_q", a->groups, grad_q, 8, &a->grad_q));
    return kernel_of(a, n->dtype, causal, text, 2, "gradient_kv", KV_GROUPS, grad_kv, 9,
                     &a->grad_kv);
}

/* ---- launching ---- */

static binding place(const operand *o, const binding *bindings)
{
    binding b = bindings[o->slot];
    b.offset += (size_t)o->v.offset * ig_dtype_bytes(o->dtype);
    return b;
}

/* Strides of an operand. The products are two axes, outer and batch, if it has four axes; otherwise one. */
typedef struct layout {
    int64_t outer, batch, row;
} layout;

static layout layout_of(const attention *a, const operand *o, int64_t rows)
{
    const int64_t *stride = o->v.stride;
    const int n = o->v.ndim;
    if (n < 3 || n > 4 || (n == 4 && a->sizes.batch != o->v.shape[1]))
        return (layout){0, rows * a->dim, n == 2 ? stride[0] : a->dim};
    return (layout){n == 4 ? stride[0] : 0, stride[n - 3], stride[n - 2]};
}

/* A map of an operand with n rows, in boxes of box_rows rows of 64 elements. */
static ig_status map_rows(const attention *a, CUtensorMap *map, int input, int64_t n, int box_rows,
                          const binding *bindings)
{
    const operand *o = &a->in[input];
    const CUdeviceptr at = cuda_address(a->base.dev, place(o, bindings), 0, o->dtype);
    if (!at)
        FAIL(IG_ERR_ARGUMENT, "%s: attention reads a buffer of another device",
             a->base.dev->base.name);
    const layout by = layout_of(a, o, n);
    const cuuint64_t dims[4] = {(uint64_t)a->dim, (uint64_t)n, (uint64_t)a->sizes.batch,
                                (uint64_t)(a->jobs / a->sizes.batch)};
    const int64_t strides[3] = {by.row, by.batch, by.outer};
    const cuuint32_t box[2] = {64, (uint32_t)box_rows};
    return cuda_map(a->base.dev, map, at, 2, dims, strides, box);
}

static ig_status launch_forward(cuda_native *code, const binding *bindings, binding scratch)
{
    attention *a = (attention *)code;
    const int rows = a->groups * 64, stages = a->is_short ? 1 : a->wide == 64 ? 4 : 2;
    CUtensorMap maps[3];
    (void)scratch;
    for (int i = 0; i < 3; i++) {
        const CUdeviceptr at = cuda_address(a->base.dev, place(&a->in[i], bindings), 0, IG_U8);
        memcpy(&maps[i], a->map[i], sizeof maps[i]);
        if (at && at == a->mapped[i])
            continue;
        TRY(map_rows(a, &maps[i], i, i ? a->keys : a->rows, i ? KEYS : rows, bindings));
        memcpy(a->map[i], &maps[i], sizeof maps[i]);
        a->mapped[i] = at;
    }
    const kernel_arg args[] = {{.bytes = &maps[0]},
                               {.bytes = &maps[1]},
                               {.bytes = &maps[2]},
                               {.at = place(&a->out[0], bindings)},
                               {.at = place(&a->out[1], bindings)},
                               {.at = a->masked ? place(&a->in[3], bindings) : (binding){0}},
                               {.bytes = &a->sizes}};
    const kernel_launch l = {.grid = {(uint32_t)a->blocks, 1, 1},
                             .block = {(uint32_t)(a->groups + !a->is_short) * 128, 1, 1},
                             .shared_bytes =
                                 1024 + (size_t)(rows + stages * 2 * KEYS) * (size_t)a->wide * 2,
                             .args = args};
    return cuda_kernel_launch(&a->forward->base.code, &l);
}

static ig_status launch_delta(const attention *a, const binding *bindings, binding delta)
{
    const kernel_arg args[] = {{.at = place(&a->in[5], bindings)},
                               {.at = place(&a->in[3], bindings)},
                               {.at = delta},
                               {.bytes = &a->sizes}};
    const int64_t threads = a->jobs * a->padded * (a->wide / 8);
    const kernel_launch l = {
        .grid = {(uint32_t)ceil_div(threads, 256), 1, 1}, .block = {256, 1, 1}, .args = args};
    return cuda_kernel_launch(&a->delta->base.code, &l);
}

/* Launches one of the two kernels whose warpgroups have 64 rows each: q and g are mapped in boxes of q_rows, k and v in
 * boxes of k_rows. */
static ig_status launch_part(const attention *a, cuda_kernel *kernel, int groups, int q_rows,
                             int k_rows, int64_t tiles, size_t shared, binding delta,
                             const binding *bindings, int first, int n_out)
{
    CUtensorMap maps[MAPS];
    attention_sizes sizes = a->sizes;
    kernel_arg args[MAPS + 5];
    int n = 0;
    TRY(map_rows(a, &maps[0], 0, a->rows, q_rows, bindings));
    TRY(map_rows(a, &maps[1], 5, a->rows, q_rows, bindings));
    TRY(map_rows(a, &maps[2], 1, a->keys, k_rows, bindings));
    TRY(map_rows(a, &maps[3], 2, a->keys, k_rows, bindings));
    for (int i = 0; i < MAPS; i++)
        args[n++] = (kernel_arg){.bytes = &maps[i]};
    args[n++] = (kernel_arg){.at = place(&a->in[4], bindings)};
    args[n++] = (kernel_arg){.at = delta};
    for (int i = 0; i < n_out; i++)
        args[n++] = (kernel_arg){.at = place(&a->out[first + i], bindings)};
    sizes.tiles = (int)tiles;
    args[n++] = (kernel_arg){.bytes = &sizes};
    const kernel_launch l = {.grid = {(uint32_t)(tiles * a->jobs), 1, 1},
                             .block = {(uint32_t)(groups + 1) * 128, 1, 1},
                             .shared_bytes = shared,
                             .args = args};
    return cuda_kernel_launch(&kernel->base.code, &l);
}

static ig_status launch_gradient(cuda_native *code, const binding *bindings, binding scratch)
{
    attention *a = (attention *)code;
    const int own_kv = KV_GROUPS * 64, own_q = a->groups * 64;
    const int step = a->wide == 64 && a->groups == 2 ? 128 : 64;
    const size_t row = (size_t)a->wide * 2, stages_kv = a->wide == 64 ? 4 : 3,
                 stages_q = a->wide == 64 ? 4 : 3;
    const size_t shared_q = 1024 + 2 * (size_t)own_q * row + stages_kv * 2 * (size_t)step * row;
    const size_t shared_kv =
        1024 + 2 * (size_t)own_kv * row + stages_q * (2 * QUERIES * row + 1024);
    TRY(launch_delta(a, bindings, scratch));
    TRY(launch_part(a, a->grad_kv, KV_GROUPS, QUERIES, own_kv, ceil_div(a->keys, own_kv), shared_kv,
                    scratch, bindings, 1, 2));
    return launch_part(a, a->grad_q, a->groups, own_q, step, ceil_div(a->rows, own_q), shared_q,
                       scratch, bindings, 0, 1);
}

/* ---- preparing ---- */

static void describe(attention *a, const node_native *n, const program *p, bool forward)
{
    a->jobs = n->number[0];
    a->rows = n->number[1];
    a->keys = n->number[2];
    a->dim = n->number[3];
    a->padded = ceil_div(a->rows, LSE_ROWS) * LSE_ROWS;
    a->wide = a->dim <= 64 ? 64 : 128;
    a->is_short = forward && a->wide == 64 && a->keys <= KEYS;
    /* Three warpgroups need more registers than rows of 128 elements leave. With few rows, two waste less work. */
    a->groups = a->is_short ? 1 : a->wide == 64 && a->rows > 128 ? 3 : 2;
    a->masked = forward && n->number[6] != 0;
    for (int i = 0; i < (forward ? 3 + a->masked : INPUTS); i++)
        a->in[i] = p->pre.operand[i];
    for (int i = 0; i < (forward ? 2 : 3); i++)
        a->out[i] = p->post.operand[i];
    a->sizes = (attention_sizes){.n_q = (int32_t)a->rows,
                                 .n_k = (int32_t)a->keys,
                                 .dim = (int32_t)a->dim,
                                 .batch = (int32_t)a->jobs,
                                 .tiles = (int32_t)ceil_div(a->rows, a->groups * 64),
                                 .n_pad = (int32_t)a->padded,
                                 .scale = (float)(n->scale * 1.4426950408889634),
                                 .factor = (float)n->scale};
    if (forward) {
        const bool four = a->in[0].v.ndim == 4, by_rows = n->number[5] != 0;
        const int64_t batch = four ? a->in[0].v.shape[1] : a->jobs;
        const int64_t tiles = a->sizes.tiles * a->jobs, cores = a->base.dev->cores;
        /* Tiles of a causal product differ in length, so the device schedules them. Short tiles gain nothing. */
        const bool in_turn = tiles > cores && n->number[4] == 0 && a->keys >= LONG;
        a->blocks = in_turn ? cores : tiles;
        a->sizes.total = (uint32_t)tiles;
        a->sizes.batch = (int32_t)batch;
        a->sizes.out_row = by_rows ? batch * a->dim : a->dim;
        a->sizes.out_batch = by_rows ? a->dim : a->rows * a->dim;
        a->sizes.out_outer = batch * a->rows * a->dim;
    }
}

ig_status attention_prepare(cuda_device *d, const program *p, cuda_native **out)
{
    const node_native *n = p->kernel->native;
    const bool forward = n->kind == NATIVE_ATTENTION;
    attention *a = memory_new(sizeof *a);
    if (!a)
        return IG_ERR_MEMORY;
    a->base = (cuda_native){
        {.name = "tensor cores"}, d, forward ? launch_forward : launch_gradient, discard};
    describe(a, n, p, forward);
    if (!forward)
        a->base.base.scratch_bytes = (uint64_t)(a->jobs * a->padded) * sizeof(float);
    const ig_status status = forward ? forward_kernel(a, n) : gradient_kernels(a, n);
    if (status == IG_OK)
        *out = &a->base;
    else
        memory_free(a);
    return status;
}
