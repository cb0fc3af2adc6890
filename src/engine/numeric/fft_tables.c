/* Tables of Fourier transforms: see fft_tables.h. */
#include "engine/numeric/fft_tables.h"
#include "base/error.h"
#include "base/memory.h"
#include "engine/array/shutdown.h"
#include "engine/numeric/fft_lines.h"
#include <math.h>
#include <pthread.h>
#include <string.h>

/* exp(-2 pi i p / n): the angle is reduced to an eighth of a turn, exactly. */
static void root(int64_t p, int64_t n, long double *c, long double *s)
{
    int64_t t = 8 * (p % n);
    const bool below = t > 4 * n;
    t = below ? 8 * n - t : t;
    const bool left = t > 2 * n;
    t = left ? 4 * n - t : t;
    const bool steep = t > n;
    t = steep ? 2 * n - t : t;
    const long double angle = 0.785398163397448309615660845819875721L * t / n;
    const long double x = cosl(angle), y = sinl(angle);
    *c = steep ? y : x;
    *s = steep ? x : y;
    *c = left ? -*c : *c;
    *s = below ? *s : -*s;
}

/* Appends the root to a table of f64 pairs; f32 is rounded from them, by way of `part`. */
typedef struct writer {
    void *at;
    int64_t count;
    ig_dtype part;
} writer;

static void put(writer *w, long double re, long double im)
{
    if (w->at && w->part == IG_F64) {
        double *to = (double *)w->at + 2 * w->count;
        to[0] = (double)re;
        to[1] = (double)im;
    } else if (w->at) {
        float *to = (float *)w->at + 2 * w->count;
        to[0] = (float)re;
        to[1] = (float)im;
    }
    w->count++;
}

static void put_root(writer *w, int64_t p, int64_t n)
{
    long double c, s;
    if (!w->at) {
        w->count++;
        return;
    }
    root(p, n, &c, &s);
    put(w, c, s);
}

static void put_factors(writer *w, int64_t n)
{
    int radix[FFT_PASSES];
    const int count = fft_radices(n, radix);
    for (int i = 0; i < count; i++) {
        const int r = radix[i];
        const int64_t m = n / r;
        for (int k = 0; r >= FFT_WITH_TABLE && r % 2 && r != 9 && k < r; k++)
            put_root(w, k, r);
        for (int64_t p = 0; p < m && m > 1; p++)
            for (int k = 1; k < r; k++)
                put_root(w, p * k, n);
        n = m;
    }
    if (!w->count)
        put_root(w, 0, 1);
}

static void put_turn(writer *w, int64_t n, int64_t lines)
{
    const int64_t turns = fft_turns(n);
    for (int64_t k = 0; k < turns; k++)
        for (int64_t i = 0; i < lines; i++)
            put_root(w, k * i, n * lines);
    for (int64_t k = 0; k < n; k += turns)
        for (int64_t i = 0; i < lines; i++)
            put_root(w, k * i, n * lines);
}

/* ---- tables ---- */

/* The chirp's conjugate: m f64 pairs, over m. */
static void fill_chirps(double *x, int64_t n, int64_t m)
{
    for (int64_t j = 0; j < n; j++) {
        long double c, s;
        root((int64_t)((__int128)j * j % (2 * n)), 2 * n, &c, &s);
        for (int side = 0; side < 2; side++) {
            double *to = x + 2 * (side && j ? m - j : j);
            to[0] = (double)(c / m);
            to[1] = (double)(-s / m);
        }
    }
}

/* Its transform, which the CPU computes in f64: the error is far below the error of an f32 transform, and within the error
 * of an f64 transform. */
static ig_status put_chirps(writer *w, int64_t n, int64_t m)
{
    const char *before = array_device_now();
    array_device_set("cpu");
    ig_scope_begin();
    buffer *data = buffer_new((size_t)m * 2 * sizeof(double));
    if (data)
        memset(data->data, 0, data->bytes);
    if (data)
        fill_chirps(data->data, n, m);
    ig_array *x = data ? array_leaf(IG_F64, 4, (const int64_t[]){1, m, 1, 2}, data) : NULL;
    ig_array *y = fft_smooth(x, false, 1);
    const double *made = y ? ig_data(y) : NULL;
    for (int64_t k = 0; k < m && made; k++)
        put(w, made[2 * k], made[2 * k + 1]);
    ig_scope_end();
    array_device_set(before);
    return made ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

static ig_status put_table(writer *w, fft_table kind, int64_t n, int64_t other)
{
    switch (kind) {
    case FFT_FACTORS: put_factors(w, n); break;
    case FFT_TURN: put_turn(w, n, other); break;
    case FFT_CHIRP:
        for (int64_t j = 0; j < n; j++)
            put_root(w, (int64_t)((__int128)j * j % (2 * n)), 2 * n);
        break;
    case FFT_CHIRPS:
        if (w->at)
            return put_chirps(w, n, other);
        w->count = other;
        break;
    case FFT_HALF:
        for (int64_t k = 0; k <= n / 2; k++)
            put_root(w, k, n);
        break;
    case FFT_QUARTER:
        for (int64_t k = 0; k < other; k++)
            put_root(w, k, n);
        break;
    }
    return IG_OK;
}

static ig_array *make_table(fft_table kind, int64_t n, int64_t other, ig_dtype part, int64_t enough)
{
    writer count = {NULL, 0, part};
    if (put_table(&count, kind, n, other) != IG_OK)
        return NULL;
    const uint64_t bytes = (uint64_t)count.count * 2 * ig_dtype_bytes(part);
    if (bytes > ig_memory_limit() || ig_memory_used() > ig_memory_limit() - bytes) {
        memory_admit((uint64_t)enough > bytes ? (uint64_t)enough : bytes, "a Fourier transform");
        return NULL;
    }
    buffer *data = buffer_new(bytes);
    if (!data)
        return NULL;
    writer w = {data->data, 0, part};
    if (put_table(&w, kind, n, other) != IG_OK) {
        buffer_release(data);
        return NULL;
    }
    return ig_scope_forget(array_leaf(part, 2, (const int64_t[]){count.count, 2}, data));
}

/* Recently used tables. A device keeps its copy of a table with the array. */
enum { TABLES = 64 };
static struct {
    fft_table kind;
    ig_dtype part;
    int64_t n, other;
    const char *device;
    ig_array *array;
} kept[TABLES];
static int next_kept;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static ig_array *find_table(fft_table kind, int64_t n, int64_t other, ig_dtype part)
{
    for (int i = 0; i < TABLES; i++)
        if (kept[i].array && kept[i].kind == kind && kept[i].n == n && kept[i].other == other &&
            kept[i].part == part && kept[i].device == array_device_now())
            return ig_retain(kept[i].array);
    return NULL;
}

/* Called by ig_shutdown. */
static void release_tables(void)
{
    for (int i = 0; i < TABLES; i++) {
        ig_release(kept[i].array);
        kept[i].array = NULL;
    }
}

ig_array *fft_table_get(fft_table kind, int64_t n, int64_t other, ig_dtype part, int64_t enough)
{
    pthread_mutex_lock(&kept_lock);
    ig_array *x = find_table(kind, n, other, part), *old = NULL;
    pthread_mutex_unlock(&kept_lock);
    if (x || !(x = make_table(kind, n, other, part, enough)))
        return x;
    shutdown_add(release_tables);
    pthread_mutex_lock(&kept_lock);
    const int at = next_kept;
    next_kept = (next_kept + 1) % TABLES;
    old = kept[at].array;
    kept[at].kind = kind;
    kept[at].part = part;
    kept[at].n = n;
    kept[at].other = other;
    kept[at].device = array_device_now();
    kept[at].array = ig_retain(x);
    pthread_mutex_unlock(&kept_lock);
    ig_release(old);
    return x;
}
