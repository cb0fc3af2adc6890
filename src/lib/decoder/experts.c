/* The tensors of experts in model folders, as one matrix for each expert: (E, out, in), or biases (E, out).
 *
 * Older folders have a tensor for each expert. gpt_oss has one for all: its matrices are (in, out), or blocks of MXFP4 with (out,
 * in); the rows of gate and up take turns. */
#include "lib/decoder/decoder.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 32, BLOCK_CODES = 16 };

static ig_array *experts_join(const decoder *d, role r, int64_t layer, ig_ints shape)
{
    char name[DECODER_NAME];
    const int64_t n = shape.v[0];
    ig_array **parts = memory_get((size_t)n * sizeof *parts), *x = NULL;
    int64_t i = 0;
    for (; parts && i < n; i++) {
        role_name(d, r, layer, i, false, name);
        if (!(parts[i] = tensor_need(d, name, IG_SHAPE(shape.v[1], shape.v[2]))))
            break;
    }
    if (parts && i == n)
        x = ig_stack(parts, (int)n, 0);
    memory_free(parts);
    return x;
}

/* Where the rows of one matrix are in those of a tensor: first, first + step, ... */
typedef struct rows {
    int64_t first, step;
} rows;

/* Element i of 32 codes, which are in pairs. */
static int code_at(const unsigned char *pairs, int i)
{
    return i % 2 ? pairs[i / 2] >> 4 : pairs[i / 2] & 15;
}

/* Blocks as GGUF files have them: the scale, then codes i and i + 16 in one byte. */
static ig_array *blocks_join(const decoder *d, const char *name, rows at, ig_ints shape)
{
    char part[DECODER_NAME + 8];
    const int64_t n = shape.v[0], out = shape.v[1], blocks = shape.v[2] / BLOCK;
    if (shape.v[2] % BLOCK)
        FAIL_NULL(IG_ERR_FORMAT, "load '%.300s': rows of '%s' are no blocks of %d", d->path, name,
                  BLOCK);
    snprintf(part, sizeof part, "%s_blocks", name);
    ig_array *x = tensor_need(d, part, IG_SHAPE(n, at.step * out, blocks, BLOCK_CODES));
    snprintf(part, sizeof part, "%s_scales", name);
    ig_array *y = x ? tensor_need(d, part, IG_SHAPE(n, at.step * out, blocks)) : NULL;
    if (!y)
        return NULL;
    if (ig_dtype_of(x) != IG_U8 || ig_dtype_of(y) != IG_U8)
        FAIL_NULL(IG_ERR_FORMAT, "load '%.300s': the blocks of '%s' are not bytes", d->path, name);
    const unsigned char *codes = ig_data(x), *scales = ig_data(y);
    const size_t bytes = (size_t)(n * out * blocks) * (1 + BLOCK_CODES);
    unsigned char *to = codes && scales ? memory_get(bytes) : NULL, *b = to;
    if (!to)
        return NULL;
    for (int64_t i = 0; i < n * out; i++)
        for (int64_t k = 0; k < blocks; k++) {
            const int64_t from = (at.first + i * at.step) * blocks + k;
            *b++ = scales[from];
            for (int j = 0; j < BLOCK_CODES; j++)
                *b++ = (unsigned char)(code_at(codes + from * BLOCK_CODES, j) |
                                       code_at(codes + from * BLOCK_CODES, j + 16) << 4);
        }
    return ig_from_packed("mxfp4", 0, IG_F32, shape, to, bytes, memory_free, to);
}

/* Some rows of the matrices of a tensor. Their axis is the last one. */
static ig_array *plain_get(const decoder *d, const char *name, rows at, ig_ints shape)
{
    const int64_t n = shape.v[0], out = shape.v[1], all = at.step * out;
    const bool bias = shape.n == 2;
    ig_array *x = tensor_need(d, name, bias ? IG_SHAPE(n, all) : IG_SHAPE(n, shape.v[2], all));
    if (!x)
        return NULL;
    x = bias ? ig_slice(x, IG_SHAPE(0, at.first), IG_SHAPE(n, all), IG_SHAPE(1, at.step))
             : ig_slice(x, IG_SHAPE(0, 0, at.first), IG_SHAPE(n, shape.v[2], all),
                        IG_SHAPE(1, 1, at.step));
    x = x && bias ? ig_astype(x, IG_F32) : x;
    return x && !bias ? ig_permute_dims(x, IG_AXES(0, 2, 1)) : x;
}

ig_array *experts_get(const decoder *d, role r, int64_t layer, bool bias, ig_ints shape)
{
    char name[DECODER_NAME], blocks[DECODER_NAME + 8];
    const bool together = d->roles->name[ROLE_EXPERT_GATE_UP] && r != ROLE_EXPERT_DOWN;
    const rows at = {together && r == ROLE_EXPERT_UP, together ? 2 : 1};
    if (!d->roles->name[ROLE_EXPERT_GATE_UP])
        return bias ? NULL : experts_join(d, r, layer, shape);
    role_name(d, together ? ROLE_EXPERT_GATE_UP : r, layer, 0, bias, name);
    snprintf(blocks, sizeof blocks, "%s_blocks", name);
    return !bias && tensor_find(d, blocks) ? blocks_join(d, name, at, shape)
                                           : plain_get(d, name, at, shape);
}
