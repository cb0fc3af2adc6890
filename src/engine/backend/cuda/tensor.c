/* Products on tensor cores, if cuBLASLt is absent or an epilogue follows: on Hopper by kernels/tensor_product.cu, on
 * other GPUs since Ampere by kernels/mma_product.cu.
 *
 * Both need rows at multiples of 16 bytes. tf32, and the second kernel, need k as the inner axis. Other operands
 * are packed into scratch first. The order of each sum does not depend on the grid. */
#include "engine/backend/cuda/arguments.h"
#include "engine/backend/cuda/epilogue.h"
#include "engine/backend/cuda/native.h"

#include "base/embed.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

INCLUDE_FILE("kernels_tensor_product", "kernels/tensor_product.cu");
INCLUDE_FILE("kernels_mma_product", "kernels/mma_product.cu");
INCLUDE_FILE("kernels_pack", "kernels/pack.cu");
INCLUDE_FILE("kernels_result", "kernels/result.cuh");
extern const char kernels_tensor_product[], kernels_mma_product[], kernels_pack[], kernels_result[];

enum {
    HOPPER = 90,
    TM = 128,
    STAGE_ROW = 128, /* bytes of a panel's row */
    HOPPER_THREADS = 384,
    HOPPER_WARPS = 8, /* warps that have rows of the result */
    BOX_ROWS = 16,    /* rows of a warp */
    ROWS_BYTES = 16 * 144,
    BOXES_BYTES = 2 * 16 * 128,
    MMA_THREADS = 256,
    MMA_SHARED = 64 * 1024,
    ALIGN = 256
};

typedef struct tensor_product {
    cuda_native base;
    product c;
    cuda_kernel *kernel, *pack;
    bool hopper;
    int tn, bytes; /* columns of a tile; bytes of an element */
    bool packed[2];
    product_side side[2];      /* as the kernel reads them: packed operands are in scratch */
    uint64_t scratch_place[2]; /* offsets of packed operands */
    product_sizes sizes;       /* for Hopper's kernel */
    bool boxes;    /* Hopper's kernel copies boxes of rows to the result, instead of writing rows */
    mma_sizes mma; /* for the other kernel */
    cuda_epilogue epilogue;
    int kept_slot; /* where Hopper's kernel also writes the product without epilogue; -1: nowhere */
    int64_t kept_offset;
    /* The maps of the operands and the result in the last launch, and the addresses that they describe. */
    unsigned char map[3][sizeof(CUtensorMap)];
    CUdeviceptr mapped[3];
} tensor_product;

static void discard(cuda_native *code)
{
    cuda_epilogue_free(&((tensor_product *)code)->epilogue);
    memory_free(code);
}

/* ---- kernels ---- */

static const kernel_param a_pointer = {.kind = KERNEL_BUFFER};

static ig_status hopper_kernel_of(tensor_product *p, cuda_device *d, int result)
{
    const ig_dtype in = p->c.in;
    const kernel_param map = bytes_param(sizeof(CUtensorMap));
    const kernel_param params[] = {
        map,
        map,
        p->boxes ? map : a_pointer,
        a_pointer,
        bytes_param(sizeof(product_sizes)),
        a_pointer,
        bytes_param(p->epilogue.text ? p->epilogue.e.step[0].sizes_bytes : 0)};
    text t = {0};
    if (p->epilogue.text)
        text_add(&t, "%s#define EPILOGUE\n", p->epilogue.text);
    text_add(&t,
             "#define TYPE \"%s\"\n#define BYTES %d\n#define A_K %d\n#define B_K %d\n"
             "#define TN %d\n#define OUT %d\n#define BOXES %d\n",
             in == IG_F32 ? "tf32" : ig_dtype_name(in), p->bytes, p->side[0].k_inner,
             p->side[1].k_inner, p->tn, result, p->boxes);
    char *definitions = text_take(&t);
    if (!definitions)
        return IG_ERR_MEMORY;
    const cuda_text whole = {
        definitions, {kernels_arguments, kernels_hopper, kernels_result, kernels_tensor_product},
        "product",   "a",
        params,      p->epilogue.text ? 7 : 5};
    const ig_status status = cuda_text_kernel(d, &whole, &p->kernel);
    memory_free(definitions);
    return status;
}

static ig_status kernel_of(tensor_product *p, cuda_device *d)
{
    const ig_dtype in = p->c.in, out = p->c.out;
    const int result = out == IG_F32 ? 0 : out == IG_F16 ? 1 : 2;
    char definitions[80];
    if (p->hopper)
        return hopper_kernel_of(p, d, result);
    const kernel_param params[] = {a_pointer, a_pointer, a_pointer, a_pointer,
                                   bytes_param(sizeof(mma_sizes))};
    snprintf(definitions, sizeof definitions, "#define TYPE \"%s\"\n#define OUT %d\n",
             ig_dtype_name(in), result);
    const cuda_text t = {definitions, {kernels_arguments, kernels_result, kernels_mma_product},
                         "product",   NULL,
                         params,      5};
    return cuda_text_kernel(d, &t, &p->kernel);
}

static ig_status packing_of(tensor_product *p, cuda_device *d)
{
    const kernel_param params[] = {a_pointer, a_pointer, bytes_param(sizeof(pack_sizes))};
    char definitions[40];
    if (!p->packed[0] && !p->packed[1])
        return IG_OK;
    snprintf(definitions, sizeof definitions, "#define BYTES %d\n", p->bytes);
    const cuda_text t = {definitions, {kernels_arguments, kernels_pack}, "pack", NULL, params, 3};
    return cuda_text_kernel(d, &t, &p->pack);
}

/* ---- launching ---- */

static ig_status map_set(CUtensorMap *map, const tensor_product *p, int i, CUdeviceptr at)
{
    const product *c = &p->c;
    const product_side *s = &p->side[i];
    const uint64_t rows = (uint64_t)(i ? c->n : c->m), k = (uint64_t)c->k;
    const uint32_t inner = (uint32_t)(STAGE_ROW / p->bytes);
    const cuuint64_t dims[4] = {s->k_inner ? k : rows, s->k_inner ? rows : k,
                                s->batch ? (uint64_t)c->batch : 1,
                                s->outer ? (uint64_t)c->outer : 1};
    const int64_t strides[3] = {s->ld, s->batch, s->outer};
    const cuuint32_t box[2] = {inner, s->k_inner ? (uint32_t)(i ? p->tn : TM) : inner};
    return cuda_map(p->base.dev, map, at, p->bytes, dims, strides, box);
}

/* A map of the result, in boxes that one warp copies. */
static ig_status map_result(CUtensorMap *map, const tensor_product *p, CUdeviceptr at)
{
    const product *c = &p->c;
    const int bytes = (int)ig_dtype_bytes(c->out);
    const cuuint64_t dims[4] = {(uint64_t)c->n, (uint64_t)c->m, (uint64_t)c->batch,
                                (uint64_t)c->outer};
    const int64_t strides[3] = {c->n, c->m * c->n, c->batch * c->m * c->n};
    const cuuint32_t box[2] = {(uint32_t)(STAGE_ROW / bytes), BOX_ROWS};
    return cuda_map(p->base.dev, map, at, bytes, dims, strides, box);
}

static ig_status launch_pack(const tensor_product *p, int i, binding from, binding to)
{
    const product *c = &p->c;
    const product_side *s = &c->side[i], *made = &p->side[i];
    const int64_t rows = i ? c->n : c->m;
    const int64_t batch = made->batch ? c->batch : 1, outer = made->outer ? c->outer : 1;
    const pack_sizes g = {.outer = s->outer,
                          .batch = s->batch,
                          .row = s->k_inner ? s->ld : 1,
                          .point = s->k_inner ? 1 : s->ld,
                          .ld = made->ld,
                          .n_batch = (int)batch,
                          .rows = (int)rows,
                          .k = (int)c->k};
    from.offset += (size_t)s->offset * (size_t)p->bytes;
    const kernel_arg args[] = {{.at = from}, {.at = to}, {.bytes = &g}};
    const kernel_launch l = {.grid = {(uint32_t)((c->k + 31) / 32), (uint32_t)((rows + 31) / 32),
                                      (uint32_t)(batch * outer)},
                             .block = {32, 8, 1},
                             .args = args};
    return cuda_kernel_launch(&p->pack->base.code, &l);
}

/* The address of an operand for the kernel; packs the operand if necessary. */
static ig_status operand_ready(const tensor_product *p, int i, const binding *bindings,
                               binding scratch, binding *out)
{
    *out = bindings[p->c.side[i].slot];
    if (p->packed[i]) {
        const binding to = {scratch.buf, scratch.offset + p->scratch_place[i]};
        TRY(launch_pack(p, i, *out, to));
        *out = to;
    }
    out->offset += (size_t)p->side[i].offset * (size_t)p->bytes;
    return IG_OK;
}

/* The maps of a launch of Hopper's kernel. */
static ig_status maps_set(tensor_product *p, const binding at[2], binding out, CUtensorMap maps[3])
{
    const binding all[3] = {at[0], at[1], out};
    for (int i = 0; i < (p->boxes ? 3 : 2); i++) {
        const CUdeviceptr address = cuda_address(p->base.dev, all[i], 0, IG_U8);
        memcpy(&maps[i], p->map[i], sizeof maps[i]);
        if (address && address == p->mapped[i])
            continue;
        TRY(i < 2 ? map_set(&maps[i], p, i, address) : map_result(&maps[i], p, address));
        memcpy(p->map[i], &maps[i], sizeof maps[i]);
        p->mapped[i] = address;
    }
    return IG_OK;
}

/* Shared memory of Hopper's kernel: as many stages as in kernels/tensor_product.cu, and rows of the result. */
static size_t hopper_shared(const tensor_product *p)
{
    const int stages = p->tn == 128 ? 6 : 4;
    const int rows = HOPPER_WARPS * (p->boxes ? BOXES_BYTES : ROWS_BYTES);
    return (size_t)(stages * (TM + p->tn) * STAGE_ROW + rows + 1024);
}

static ig_status launch(cuda_native *code, const binding *bindings, binding scratch)
{
    tensor_product *p = (tensor_product *)code;
    const product *c = &p->c;
    CUtensorMap maps[3];
    binding at[2];
    for (int i = 0; i < 2; i++)
        TRY(operand_ready(p, i, bindings, scratch, &at[i]));
    binding out = c->out_slot < 0 ? scratch : bindings[c->out_slot];
    binding bias = c->bias_slot < 0 ? (binding){0} : bindings[c->bias_slot];
    out.offset += (size_t)c->out_offset * ig_dtype_bytes(c->out);
    bias.offset += (size_t)c->bias_offset * ig_dtype_bytes(c->out);
    if (p->hopper)
        TRY(maps_set(p, at, out, maps));
    binding kept = {0};
    if (p->epilogue.text)
        cuda_epilogue_read(&p->epilogue, bindings);
    if (p->epilogue.text && p->kept_slot >= 0) {
        kept = bindings[p->kept_slot];
        kept.offset += (size_t)p->kept_offset * ig_dtype_bytes(c->out);
    }
    const kernel_arg by_hopper[] = {
        {.bytes = &maps[0]},
        {.bytes = &maps[1]},
        p->boxes ? (kernel_arg){.bytes = &maps[2]} : (kernel_arg){.at = out},
        {.at = bias},
        {.bytes = &p->sizes},
        {.at = kept},
        {.bytes = p->epilogue.text ? p->epilogue.e.step[0].sizes : NULL}};
    const kernel_arg by_mma[] = {
        {.at = at[0]}, {.at = at[1]}, {.at = out}, {.at = bias}, {.bytes = &p->mma}};
    const int64_t tiles = (int64_t)p->sizes.tiles_m * p->sizes.tiles_n * c->batch * c->outer;
    const int64_t blocks = tiles < p->base.dev->cores ? tiles : p->base.dev->cores;
    const kernel_launch l = {.grid = {(uint32_t)(p->hopper ? blocks : tiles), 1, 1},
                             .block = {p->hopper ? HOPPER_THREADS : MMA_THREADS, 1, 1},
                             .shared_bytes = p->hopper ? hopper_shared(p) : MMA_SHARED,
                             .args = p->hopper ? by_hopper : by_mma};
    return cuda_kernel_launch(&p->kernel->base.code, &l);
}

/* ---- preparing ---- */

/* Uses an operand directly if the kernel can read it; otherwise it is packed after *used bytes of scratch. */
static void side_set(tensor_product *p, int i, uint64_t *used)
{
    const product *c = &p->c;
    const product_side *s = &c->side[i];
    const int64_t each = 16 / p->bytes, rows = i ? c->n : c->m;
    p->side[i] = *s;
    const bool aligned =
        s->offset % each == 0 && s->ld % each == 0 && s->batch % each == 0 && s->outer % each == 0;
    p->packed[i] = !aligned || p->bytes == 4 || !(p->hopper || s->k_inner);
    if (!p->packed[i])
        return;
    const int64_t ld = (c->k + each - 1) / each * each;
    const bool batches = s->batch || c->batch == 1, outers = s->outer || c->outer == 1;
    p->side[i] = (product_side){.slot = -1, .ld = ld, .k_inner = true};
    p->side[i].batch = batches ? rows * ld : 0;
    p->side[i].outer = outers ? rows * ld * (batches ? c->batch : 1) : 0;
    p->scratch_place[i] = *used;
    const int64_t jobs = (batches ? c->batch : 1) * (outers ? c->outer : 1);
    *used += (uint64_t)(jobs * rows * ld * p->bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void sizes_set(tensor_product *p)
{
    const product *c = &p->c;
    const int64_t size = (int64_t)ig_dtype_bytes(c->out);
    const int tiles_m = (int)((c->m + TM - 1) / TM), tiles_n = (int)((c->n + p->tn - 1) / p->tn);
    p->sizes = (product_sizes){
        .m = (int)c->m,
        .n = (int)c->n,
        .k = (int)c->k,
        .batch = (int)c->batch,
        .tiles_m = tiles_m,
        .tiles_n = tiles_n,
        .tiles = (int)(tiles_m * tiles_n * c->batch * c->outer),
        .a_batch = p->side[0].batch != 0,
        .a_outer = p->side[0].outer != 0,
        .b_batch = p->side[1].batch != 0,
        .b_outer = p->side[1].outer != 0,
        .has_bias = c->bias_slot >= 0,
        .keeps = p->kept_slot >= 0,
        .aligned = c->n * size % 16 == 0 && c->out_offset * size % 16 == 0 &&
                   (p->kept_slot < 0 || p->kept_offset * size % 16 == 0),
    };
    p->mma = (mma_sizes){
        .a_ld = p->side[0].ld,
        .a_batch = p->side[0].batch,
        .a_outer = p->side[0].outer,
        .b_ld = p->side[1].ld,
        .b_batch = p->side[1].batch,
        .b_outer = p->side[1].outer,
        .m = (int)c->m,
        .n = (int)c->n,
        .k = (int)c->k,
        .batch = (int)c->batch,
        .tiles_m = tiles_m,
        .tiles_n = tiles_n,
        .has_bias = c->bias_slot >= 0,
    };
}

bool cuda_is_hopper(const cuda_device *d) { return d->capability == HOPPER && cu.tensor_map; }

static bool can_run(const cuda_device *d, const product *c, bool tf32)
{
    enum {
        JOBS = 65535,
        ROWS = 65535 * 32,
        POINTS = INT32_MAX / 2
    }; /* limits of the grid of packing, and of int */
    const int64_t jobs = c->batch * c->outer;
    const double tiles =
        (double)jobs * (double)((c->m + TM - 1) / TM) * (double)((c->n + 127) / 128);
    const bool hopper = cuda_is_hopper(d);
    const bool known = dtype_is_half(c->in) || (c->in == IG_F32 && tf32 && hopper);
    return d->capability >= 80 && known && jobs <= JOBS && c->m <= ROWS && c->n <= ROWS &&
           c->k <= POINTS && tiles < POINTS;
}

/* The time of a product with tiles of this many columns, in units of one step of one column: each processor takes one
 * tile after another. A step of a narrow tile costs more per column, because the rows are read, too. */
static int64_t time_of(const product *c, int columns, int cores)
{
    const int64_t tiles =
        (c->m + TM - 1) / TM * ((c->n + columns - 1) / columns) * c->batch * c->outer;
    return (tiles + cores - 1) / cores * (columns + 16);
}

/* The columns of a tile. Example: for a result of 4096 x 768, tiles of 192 columns keep 128 of 132 processors busy,
 * tiles of 256 columns only 96. */
static int columns_of(const product *c, int cores)
{
    int best = 256;
    for (int columns = 192; columns >= 128; columns -= 64)
        if (time_of(c, columns, cores) < time_of(c, best, cores))
            best = columns;
    return best;
}

/* p has the product, and the epilogue if there is one; p is freed on failure. */
static ig_status prepare(tensor_product *p, cuda_device *d, cuda_native **out)
{
    const product *c = &p->c;
    p->base =
        (cuda_native){{.name = "tensor cores", .core_only = c->out_slot < 0}, d, launch, discard};
    p->hopper = cuda_is_hopper(d);
    p->bytes = (int)ig_dtype_bytes(c->in);
    p->tn = p->hopper ? columns_of(c, d->cores) : 128;
    uint64_t used = 0;
    if (c->out_slot < 0)
        used =
            ((uint64_t)(c->outer * c->batch * c->m * c->n) * ig_dtype_bytes(c->out) + ALIGN - 1) /
            ALIGN * ALIGN;
    for (int i = 0; i < 2; i++)
        side_set(p, i, &used);
    p->base.base.scratch_bytes = used;
    sizes_set(p);
    p->boxes = p->hopper && p->sizes.aligned && p->kept_slot < 0;
    ig_status status = kernel_of(p, d);
    if (status == IG_OK)
        status = packing_of(p, d);
    if (status == IG_OK)
        *out = &p->base;
    else
        discard(&p->base);
    return status;
}

ig_status tensor_prepare(cuda_device *d, const product *c, bool tf32, cuda_native **out)
{
    *out = NULL;
    if (!can_run(d, c, tf32))
        return IG_OK;
    tensor_product *p = memory_new(sizeof *p);
    if (!p)
        return IG_ERR_MEMORY;
    p->c = *c;
    p->kept_slot = -1;
    return prepare(p, d, out);
}

/* True if all processors have a tile. With fewer tiles, cuBLASLt splits k, which saves more than a launch costs. */
static bool fills_device(const cuda_device *d, const product *c)
{
    return (c->m + TM - 1) / TM * ((c->n + 127) / 128) * c->batch * c->outer >= d->cores;
}

ig_status tensor_prepare_epilogue(cuda_device *d, const program *p, const bool *by_value,
                                  cuda_native **out)
{
    product c;
    product_epilogue e;
    *out = NULL;
    if (!cuda_is_hopper(d) || !product_of(p, &c) || !dtype_is_half(c.in) || c.in != c.out ||
        !can_run(d, &c, false) || !fills_device(d, &c) || !product_epilogue_of(p, by_value, &c, &e))
        return IG_OK;
    tensor_product *t = memory_new(sizeof *t);
    if (!t)
        return IG_ERR_MEMORY;
    t->c = c;
    t->kept_slot = e.kept_slot;
    t->kept_offset = e.kept_offset;
    const ig_status status = cuda_epilogue_make(p, &c, &e, by_value, &t->epilogue);
    if (status == IG_OK)
        return prepare(t, d, out);
    memory_free(t);
    return status;
}
