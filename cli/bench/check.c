/* Checks of answers, in plain C that shares no code with the library. */
#include "bench/works.h"

#include "calc/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- elements ----------------------------------------------------------------------------------- */

/* A table of all values of a 16-bit float, filled on first use. */
static const double *halves(ig_dtype dtype)
{
    static double table[2][1 << 16];
    static bool made[2];
    int which = dtype == IG_BF16;
    for (int i = 0; !made[which] && i < 1 << 16; i++) {
        uint16_t bits = (uint16_t)i;
        table[which][i] = value_element(&bits, dtype, 0).u.f;
    }
    made[which] = true;
    return table[which];
}

double element(const void *data, ig_dtype dtype, int64_t i)
{
    if (dtype == IG_F32)
        return ((const float *)data)[i];
    if (dtype == IG_F64)
        return ((const double *)data)[i];
    if (dtype == IG_F16 || dtype == IG_BF16)
        return halves(dtype)[((const uint16_t *)data)[i]];
    value v = value_element(data, dtype, i);
    return value_float_of(&v);
}

double *elements(ig_array *x)
{
    const void *data = ig_data(x);
    if (!data)
        return NULL;
    int64_t n = ig_size(x);
    ig_dtype dtype = ig_dtype_of(x);
    double *out = heap_get(sizeof *out * (size_t)(n + 1));
    for (int64_t i = 0; i < n; i++)
        out[i] = element(data, dtype, i);
    return out;
}

/* ---- comparing ---------------------------------------------------------------------------------- */

bool check_close(str *why, const char *what, int64_t i, double got, double expected,
                 double tolerance)
{
    if (fabs(got - expected) <= tolerance) /* false for NaN */
        return true;
    str_printf(why, "%s %lld is %.9g, expected %.9g within %.2g", what, (long long)i, got, expected,
               tolerance);
    return false;
}

bool check_same(str *why, const void *got, const void *expected, ig_dtype dtype, int64_t n)
{
    size_t bytes = ig_dtype_bytes(dtype);
    if (memcmp(got, expected, bytes * (size_t)n) == 0)
        return true;
    int64_t i = 0;
    while (memcmp((const char *)got + bytes * (size_t)i, (const char *)expected + bytes * (size_t)i,
                  bytes) == 0)
        i++;
    str_printf(why, "element %lld is %.9g, expected exactly %.9g", (long long)i,
               element(got, dtype, i), element(expected, dtype, i));
    return false;
}

/* ---- digests ------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t h)
{
    h = (h ^ h >> 32) * 0xD6E8FEB86659FD93u;
    return (h ^ h >> 32) * 0xD6E8FEB86659FD93u;
}

void job_answer(job *j, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t h = bytes;
    for (size_t i = 0; i < bytes; i += sizeof h) {
        uint64_t word = 0;
        memcpy(&word, at + i, bytes - i < sizeof word ? bytes - i : sizeof word);
        h = mix(h ^ word) + i;
    }
    snprintf(j->answer, sizeof j->answer, "%016llx", (unsigned long long)h);
}

uint64_t check_draw(uint64_t *state) { return mix(*state += 0x9E3779B97F4A7C15u); }

/* ---- random bits -------------------------------------------------------------------------------- */

void philox_block(uint64_t seed, uint64_t number, uint32_t out[4])
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    uint32_t x0 = (uint32_t)number, x1 = (uint32_t)(number >> 32), x2 = 0, x3 = 0;
    for (int round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        uint64_t a = (uint64_t)x0 * 0xD2511F53u, b = (uint64_t)x2 * 0xCD9E8D57u;
        uint32_t y0 = (uint32_t)(b >> 32) ^ x1 ^ k0, y2 = (uint32_t)(a >> 32) ^ x3 ^ k1;
        x1 = (uint32_t)b;
        x3 = (uint32_t)a;
        x0 = y0;
        x2 = y2;
    }
    out[0] = x0;
    out[1] = x1;
    out[2] = x2;
    out[3] = x3;
}
