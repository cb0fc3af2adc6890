/* Lengths, radices and tables of Fourier transforms: see fft_plan.h. */
#include "engine/numeric/fft_plan.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "engine/array/array.h"
#include "engine/array/shutdown.h"
#include "engine/backend/cpu/cpu.h"
#include <math.h>
#include <pthread.h>
#include <string.h>

/* ---- lengths ---- */

bool fft_is_smooth(int64_t n)
{
    for (int p = 2; p <= FFT_PRIME; p++)
        while (n % p == 0)
            n /= p;
    return n == 1;
}

/* The cost of a point in each pass, roughly; primes cost more. */
static const struct {
    int radix, cost;
} passes[] = {{31, 160}, {29, 150}, {23, 120}, {19, 100}, {17, 90}, {16, 16},
              {13, 40},  {11, 34},  {10, 16},  {9, 17},   {8, 13},  {7, 22},
              {6, 14},   {5, 14},   {4, 11},   {3, 12},   {2, 10}};

/* The cheapest radices of n, not larger than the one before; returns their cost, INT32_MAX if there are none. */
static int cheapest(int64_t n, size_t from, int room, int *radix, int *count)
{
    int best = INT32_MAX, list[FFT_PASSES], some;
    *count = 0;
    if (n == 1)
        return 0;
    for (size_t i = from; room && i < sizeof passes / sizeof *passes; i++) {
        if (n % passes[i].radix)
            continue;
        const int rest = cheapest(n / passes[i].radix, i, room - 1, list, &some);
        if (rest == INT32_MAX || rest + passes[i].cost >= best)
            continue;
        best = rest + passes[i].cost;
        radix[0] = passes[i].radix;
        memcpy(radix + 1, list, (size_t)some * sizeof *list);
        *count = some + 1;
    }
    return best;
}

int fft_radices(int64_t n, int radix[static FFT_PASSES])
{
    int count;
    cheapest(n, 0, FFT_PASSES, radix, &count);
    return count;
}

int64_t fft_first(int64_t n, ig_dtype part)
{
    const int64_t most = fft_line_most(part);
    int64_t best = 1;
    for (int64_t a = 2; a <= most && a * a <= n; a++)
        if (n % a == 0)
            best = a;
    if (n / best <= most)
        return best;
    for (int64_t a = 2; a <= most; a++)
        if (n % a == 0)
            best = a;
    return best;
}

int64_t fft_good_length(int64_t n)
{
    int64_t best = INT64_MAX;
    for (int64_t fives = 1; fives < 4 * n; fives *= 5)
        for (int64_t threes = fives; threes < 4 * n; threes *= 3) {
            int64_t m = threes * 16;
            while (m < n)
                m *= 2;
            if (m < best)
                best = m;
        }
    return best;
}

int64_t fft_turns(int64_t n)
{
    int64_t turns = 1;
    while (turns * turns < n)
        turns *= 2;
    return turns;
}

/* ---- tables ---- */

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

/* ---- on the CPU ---- */

typedef struct run {
    const fft_job *job;
    void (*group)(const fft_job *j, int64_t group, void *scratch);
} run;

static void run_group(void *context, int64_t task, int worker)
{
    const run *r = context;
    r->group(r->job, task, scratch_of(worker));
}

void fft_run(fft_job *j, ig_dtype part)
{
    const fft_level *level = cpu_level_now()->fft;
    j->passes = fft_radices(j->n, j->radix);
    run r = {j, part == IG_F64 ? level->group_f64 : level->group_f32};
    pool_run(fft_groups(j, part), run_group, &r);
}

/* One group after another, in scratch. */
static void run_here(fft_job *j, void *scratch)
{
    j->passes = fft_radices(j->n, j->radix);
    for (int64_t g = 0; g < fft_groups(j, IG_F64); g++)
        cpu_level_now()->fft->group_f64(j, g, scratch);
}

/* The transform of n f64 pairs in x, with the same again as room, by one thread. Tables are made for it alone. */
static ig_status transform_here(int64_t n, double *x, double *room)
{
    const bool whole = n <= fft_line_most(IG_F64);
    const int64_t first = whole ? n : fft_first(n, IG_F64), second = n / first;
    writer count = {NULL, 0, IG_F64}, w = {NULL, 0, IG_F64};
    put_factors(&count, first);
    put_factors(&count, second);
    put_turn(&count, first, second);
    double *table = memory_get((size_t)count.count * 16);
    char *scratch = memory_get(fft_scratch(first > second ? first : second) + 64);
    if (table && scratch) {
        void *aligned = scratch + (64 - (uintptr_t)scratch % 64) % 64;
        w.at = table;
        put_factors(&w, first);
        const double *next = table + 2 * w.count;
        put_factors(&w, second);
        const double *turn = table + 2 * w.count;
        put_turn(&w, first, second);
        run_here(&(fft_job){.n = first,
                            .x = x,
                            .w = table,
                            .turn = turn,
                            .y = room,
                            .parts = 1,
                            .lines = second,
                            .in = {n, 1, second},
                            .out = {n, 1, second},
                            .turns = fft_turns(first),
                            .scale = 1},
                 aligned);
        run_here(&(fft_job){.n = second,
                            .x = room,
                            .w = next,
                            .y = x,
                            .parts = 1,
                            .lines = first,
                            .in = {n, second, 1},
                            .out = {n, 1, first},
                            .scale = 1},
                 aligned);
    }
    const bool ok = table && scratch;
    memory_free(table);
    memory_free(scratch);
    return ok ? IG_OK : IG_ERR_MEMORY;
}

/* The transform of the chirp's conjugate, in f64: its error is far below the error of an f32 transform, and
 * within the error of an f64 transform. */
static ig_status put_chirps(writer *w, int64_t n, int64_t m)
{
    double *x = memory_new((size_t)m * 32);
    if (!x)
        return IG_ERR_MEMORY;
    for (int64_t j = 0; j < n; j++) {
        long double c, s;
        root((int64_t)((__int128)j * j % (2 * n)), 2 * n, &c, &s);
        for (int side = 0; side < 2; side++) {
            double *to = x + 2 * (side && j ? m - j : j);
            to[0] = (double)(c / m);
            to[1] = (double)(-s / m);
        }
    }
    const ig_status status = transform_here(m, x, x + 2 * m);
    for (int64_t k = 0; k < m && status == IG_OK; k++)
        put(w, x[2 * k], x[2 * k + 1]);
    memory_free(x);
    return status;
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

static ig_array *make_table(fft_table kind, int64_t n, int64_t other, ig_dtype part)
{
    writer count = {NULL, 0, part};
    if (put_table(&count, kind, n, other) != IG_OK)
        return NULL;
    buffer *data = buffer_new((size_t)count.count * 2 * ig_dtype_bytes(part));
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

ig_array *fft_table_get(fft_table kind, int64_t n, int64_t other, ig_dtype part)
{
    pthread_mutex_lock(&kept_lock);
    ig_array *x = find_table(kind, n, other, part), *old = NULL;
    pthread_mutex_unlock(&kept_lock);
    if (x || !(x = make_table(kind, n, other, part)))
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
