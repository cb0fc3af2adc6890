/* The angles of rotary embeddings: position / base**(2 * i / dims), scaled as the configuration says. */
#include "lib/decoder/decoder.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif

/* llama3: low frequencies are divided by the factor, high ones stay, and those between are mixed. */
static double frequency_llama3(const rope_config *r, double f)
{
    const double turns = (double)r->original * f / (2 * M_PI);
    if (turns < r->low)
        return f / r->factor;
    if (turns > r->high)
        return f;
    const double part = (turns - r->low) / (r->high - r->low);
    return (1 - part) * f / r->factor + part * f;
}

/* yarn: the index of the pair that turns so many times within the original context. */
static double yarn_pair(const rope_config *r, double base, double turns)
{
    return (double)r->dims * log((double)r->original / (turns * 2 * M_PI)) / (2 * log(base));
}

static double frequency_yarn(const rope_config *r, double base, int64_t i, double f)
{
    const double first = yarn_pair(r, base, r->fast), last = yarn_pair(r, base, r->slow);
    const double low = fmax(r->exact ? first : floor(first), 0);
    double high = fmin(r->exact ? last : ceil(last), (double)r->dims - 1);
    if (low == high)
        high += 0.001;
    const double ramp = fmin(fmax(((double)i - low) / (high - low), 0), 1);
    return f / r->factor * ramp + f * (1 - ramp);
}

static double magnitude_of(const rope_config *r)
{
    if (r->magnitude > 0)
        return r->magnitude;
    if (r->form == ROPE_YARN)
        return r->factor > 1 ? 0.1 * log(r->factor) + 1 : 1;
    if (r->form == ROPE_LONG && r->factor > 1)
        return sqrt(1 + log(r->factor) / log((double)r->original));
    return 1;
}

void rope_fill(const decoder *d, bool local, int64_t first, int64_t n, int64_t length,
               float *cosine, float *sine)
{
    const rope_config *r = &d->config.rope;
    const bool scaled = !local || r->local_base == 0,
               halves = !(d->is_gguf && d->config.arch->neighbours);
    const double base = scaled ? r->base : r->local_base, magnitude = scaled ? magnitude_of(r) : 1;
    const float *factors =
        !scaled ? NULL : d->rope_factors[r->form == ROPE_LONG && length > r->original];
    for (int64_t i = 0; i < r->dims / 2; i++) {
        double f = 1 / pow(base, 2 * (double)i / (double)r->dims);
        if (scaled && r->form == ROPE_LINEAR)
            f /= r->factor;
        else if (scaled && r->form == ROPE_LLAMA3)
            f = frequency_llama3(r, f);
        else if (scaled && r->form == ROPE_YARN)
            f = frequency_yarn(r, base, i, f);
        if (factors)
            f /= (double)factors[i];
        const int64_t a = halves ? i : 2 * i, b = halves ? i + r->dims / 2 : 2 * i + 1;
        for (int64_t t = 0; t < n; t++) {
            const double angle = (double)(first + t) * f;
            const float c = (float)(magnitude * cos(angle)), s = (float)(magnitude * sin(angle));
            cosine[t * r->dims + a] = cosine[t * r->dims + b] = c;
            sine[t * r->dims + a] = -s;
            sine[t * r->dims + b] = s;
        }
    }
}

void rope_partners(const decoder *d, int32_t *partner)
{
    const int32_t dims = (int32_t)d->config.rope.dims;
    const bool halves = !(d->is_gguf && d->config.arch->neighbours);
    for (int32_t i = 0; i < dims; i++)
        partner[i] = halves ? (i + dims / 2) % dims : i ^ 1;
}

static ig_status factors_read(decoder *d, role r, int where)
{
    const int64_t n = d->config.rope.dims / 2;
    if (d->rope_factors[where] || ig_scope_begin() != IG_OK)
        return error_waiting(IG_OK);
    ig_array *x = weight_get(d, r, -1, false, true, IG_SHAPE(n));
    const float *v = x ? ig_data(ig_astype(x, IG_F32)) : NULL;
    if (v && (d->rope_factors[where] = memory_get((size_t)n * sizeof *v)))
        memcpy(d->rope_factors[where], v, (size_t)n * sizeof *v);
    ig_scope_end();
    for (int64_t i = 0; d->rope_factors[where] && i < n; i++)
        if (!(d->rope_factors[where][i] > 0))
            FAIL(IG_ERR_FORMAT,
                 "load '%.300s': a factor of the rope frequencies is not positive; "
                 "the file is damaged: download it again",
                 d->path);
    return error_waiting(IG_OK);
}

/* A list of numbers of config.json, one for each pair. */
static ig_status list_read(decoder *d, field list, const char *name, int where)
{
    const int64_t n = d->config.rope.dims / 2;
    json_reader r;
    int64_t i = 0;
    float *v = d->rope_factors[where] = memory_new((size_t)(n + 1) * sizeof *v);
    if (!v)
        return IG_ERR_MEMORY;
    if (list.kind != JSON_ARRAY)
        FAIL(IG_ERR_FORMAT, "load '%.300s/config.json': rope_scaling.%s is missing", d->path, name);
    json_begin(&r, list.at, list.bytes);
    json_open_array(&r);
    while (json_next_item(&r)) {
        const double x = field_number(field_take(&r), 0);
        if (i < n)
            v[i] = (float)x;
        i += i <= n;
    }
    json_end(&r);
    for (int64_t j = 0; j < n; j++)
        if (i != n || !(v[j] > 0))
            FAIL(
                IG_ERR_FORMAT,
                "load '%.300s/config.json': rope_scaling.%s is not a list of %lld positive numbers",
                d->path, name, (long long)n);
    return IG_OK;
}

ig_status rope_factors_read(decoder *d, field scaling)
{
    if (d->config.rope.form != ROPE_LONG)
        return IG_OK;
    TRY(list_read(d, field_get(scaling, "short_factor"), "short_factor", 0));
    return list_read(d, field_get(scaling, "long_factor"), "long_factor", 1);
}

ig_status rope_open(decoder *d)
{
    if (d->config.rope.dims == 0 || !d->is_gguf)
        return IG_OK;
    TRY(factors_read(d, ROLE_ROPE_FACTORS, 0));
    TRY(factors_read(d, ROLE_ROPE_SHORT, 0));
    return factors_read(d, ROLE_ROPE_LONG, 1);
}

void rope_llama3(const rope_config *r, float *divisors)
{
    for (int64_t i = 0; i < r->dims / 2; i++) {
        const double f = 1 / pow(r->base, 2 * (double)i / (double)r->dims);
        divisors[i] = (float)(f / frequency_llama3(r, f));
    }
}
