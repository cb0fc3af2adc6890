/* The forms of keys and values in the cache. f32 is exact; f16 rounds; q8 rounds groups of 32 elements (16 or 8, if the keys of a
 * token are not a multiple) to numbers of 8 bits with an f32 scale. Attention computes in f32. */
#include "lib/decoder/decoder.h"

#include "base/error.h"

#include <string.h>

enum { GROUP_LEAST = 8, GROUP_MOST = 32 };

/* Elements with one scale. */
static int64_t group_of(const decoder *d)
{
    const int64_t n = d->config.kv_heads * d->config.head_width;
    int64_t group = GROUP_MOST;
    while (group > GROUP_LEAST && n % group)
        group /= 2;
    return group;
}

static const char *const names[] = {[CACHE_F32] = "f32", [CACHE_F16] = "f16", [CACHE_Q8] = "q8"};

ig_status cache_choose(decoder *d, const char *form, uint64_t limit)
{
    int f = 0;
    d->cache_limit = limit;
    if (!form)
        return IG_OK;
    while (f <= CACHE_Q8 && strcmp(names[f], form) != 0)
        f++;
    if (f > CACHE_Q8)
        FAIL(IG_ERR_ARGUMENT, "the cache has no form '%.40s'; choose f32, f16 or q8", form);
    if (f == CACHE_Q8 && d->config.kv_heads * d->config.head_width % GROUP_LEAST)
        FAIL(IG_ERR_UNSUPPORTED,
             "the cache of '%.200s' cannot be q8: its %lld keys of a token are not whole groups of "
             "%d; choose f16",
             d->path, (long long)(d->config.kv_heads * d->config.head_width), GROUP_LEAST);
    d->cache = (cache_form)f;
    return IG_OK;
}

const char *cache_name(const decoder *d) { return names[d->cache]; }

int cache_parts(const decoder *d) { return d->cache == CACHE_Q8 ? 2 : 1; }

ig_dtype cache_dtype(const decoder *d, int part)
{
    return part > 0 || d->cache == CACHE_F32 ? IG_F32 : d->cache == CACHE_F16 ? IG_F16 : IG_I8;
}

int64_t cache_width(const decoder *d, int part)
{
    return d->config.kv_heads * d->config.head_width / (part > 0 ? group_of(d) : 1);
}

uint64_t cache_bytes(const decoder *d, int64_t tokens)
{
    uint64_t bytes = 0;
    for (int i = 0; i < cache_parts(d); i++)
        bytes += (uint64_t)cache_width(d, i) * ig_dtype_bytes(cache_dtype(d, i));
    return 2 * (uint64_t)(d->config.layers * tokens) * bytes;
}

/* x (..., n) as (..., n / each, each), or back if each is 0. */
static ig_array *regroup(ig_array *x, int64_t each)
{
    int64_t v[5];
    const ig_ints shape = x ? ig_shape(x) : (ig_ints){0};
    if (shape.n < 1 || shape.n > 4)
        return NULL;
    memcpy(v, shape.v, (size_t)shape.n * sizeof *v);
    const int last = shape.n - 1;
    if (each == 0) {
        v[last - 1] *= v[last];
        return ig_reshape(x, (ig_ints){v, shape.n - 1});
    }
    v[last] /= each;
    v[last + 1] = each;
    return ig_reshape(x, (ig_ints){v, shape.n + 1});
}

bool cache_pack(const decoder *d, ig_array *x, ig_array *part[CACHE_PARTS])
{
    part[0] = x;
    if (x && d->cache == CACHE_F16)
        part[0] = ig_astype(x, IG_F16);
    if (d->cache != CACHE_Q8)
        return part[0] != NULL;
    x = regroup(x, group_of(d));
    ig_array *scale = x ? ig_divide(ig_max(ig_abs(x), IG_AXES(-1), true), ig_float(127)) : NULL;
    ig_array *by = scale ? ig_where(ig_greater(scale, ig_float(0)), scale, ig_float(1)) : NULL;
    ig_array *codes =
        by ? ig_clip(ig_round(ig_divide(x, by)), ig_float(-127), ig_float(127)) : NULL;
    part[0] = codes ? regroup(ig_astype(codes, IG_I8), 0) : NULL;
    part[1] = part[0] ? regroup(scale, 0) : NULL;
    return part[1] != NULL;
}

ig_array *cache_unpack(const decoder *d, ig_array *const part[CACHE_PARTS])
{
    if (d->cache == CACHE_F32 || !part[0])
        return part[0];
    ig_array *x = ig_astype(part[0], IG_F32);
    if (d->cache == CACHE_F16 || !x || !part[1])
        return x;
    x = regroup(x, group_of(d));
    return x ? regroup(ig_multiply(x, ig_expand_dims(part[1], IG_AXES(-1))), 0) : NULL;
}
