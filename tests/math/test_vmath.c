/* Accuracy and special values of the vector math, run through plain loops as the CPU backend does.
 * An f32 result is compared with the same function in double (libm), an f64 result with MPFR.
 *
 *     test_vmath                    samples, special values, exact functions: some seconds
 *     test_vmath --times N          N times the samples
 *     test_vmath --exhaustive [fn]  all 2^32 f32 arguments of each one-argument function, all cores
 *
 * Key invariant: an error is counted in units of the last place of the true result, denormals
 * included, and a wrong sign of zero, NaN or infinity is a failure. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test_vmath_ref.h"
#include "vmath_loops.h"

#define LIMIT_ULP 4.0

enum { BLOCK = 1024, MAX_THREADS = 64 };

static int passed, failed;

static void check(int ok, const char *what, const char *type)
{
    passed += ok;
    failed += !ok;
    if (!ok)
        printf("FAILED %s %s\n", what, type);
}

static const struct vmath_row *row_of(const char *name)
{
    for (int i = 0; i < VMATH_ROWS; i++)
        if (!strcmp(vmath_rows[i].name, name))
            return &vmath_rows[i];
    fprintf(stderr, "no function is called %s\n", name);
    exit(2);
}

/* ---- Errors in ulp -------------------------------------------------------------------------- */

struct worst {
    double ulp, x, y, got;
};

static void worst_take(struct worst *w, double ulp, double x, double y, double got)
{
    if (!(ulp <= w->ulp))
        *w = (struct worst){ulp, x, y, got};
}

/* The distance from got to the finite or infinite true value; digits and least belong to the
 * type. */
static double ulp_error(double got, double want, int digits, int least, double top)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf(want) && isinf(got))
        return want == got ? 0 : INFINITY;
    if (want == 0)
        return got != 0 ? INFINITY : signbit(got) == signbit(want) ? 0 : INFINITY;
    if (got == 0 && signbit(got) != signbit(want))
        return INFINITY;
    double g = isinf(got) ? copysign(top, got) : got;
    double t = fabs(want) > top ? copysign(top, want) : want;
    int e = ilogb(t) - digits;
    return fabs(ldexp(g, -(e < least ? least : e)) - ldexp(t, -(e < least ? least : e)));
}

/* A correctly rounded result, the common case, counts as half an ulp. */
static double ulp_f32(float got, double want)
{
    if (got == (float)want && got != 0)
        return 0.5;
    return ulp_error((double)got, want, 23, -149, 0x1p128);
}

/* The true value of an f64 function is between doubles: the error is computed in MPFR. */
static double ulp_f64(double got, mpfr_t want)
{
    double near = mpfr_get_d(want, MPFR_RNDN);
    if (mpfr_nan_p(want) || isnan(got) || mpfr_zero_p(want) || isinf(got) || isinf(near))
        return ulp_error(isinf(got) ? copysign(0x1p1023, got) * (isinf(near) ? 2 : 1) : got, near,
                         52, -1074, INFINITY);
    if (got == 0 && signbit(got) != (mpfr_sgn(want) < 0))
        return INFINITY;
    long e = (long)mpfr_get_exp(want) - 53;
    mpfr_t d;
    mpfr_init2(d, 200);
    mpfr_sub_d(d, want, got, MPFR_RNDN);
    mpfr_mul_2si(d, d, -(e < -1074 ? -1074 : e), MPFR_RNDN);
    double error = fabs(mpfr_get_d(d, MPFR_RNDN));
    mpfr_clear(d);
    return error;
}

/* ulp, or infinity if the function cannot have such a value. */
static double within(const struct reference *ref, double got, double ulp)
{
    return fabs(got) > ref->bound ? INFINITY : ulp;
}

/* The factor from ulps of want to ulps of the larger of want and the larger argument. */
static double by_argument(mpfr_t want, double x, double y)
{
    double large = fmax(x, y);
    if (!isfinite(large) || large == 0 || !mpfr_regular_p(want))
        return 1;
    long e = (long)mpfr_get_exp(want) - 1 - ilogb(large);
    return e < 0 ? ldexp(1, (int)e) : 1;
}

static void report(const char *name, const char *type, struct worst w, long count, int arguments)
{
    printf("%-13s %s %7.3f ulp at %-14.8g", name, type, w.ulp, w.x);
    if (arguments == 2)
        printf(" %-14.8g", w.y);
    printf(" (%a) gave %-14.8g %ld values\n", w.x, w.got, count);
    fflush(stdout);
    check(w.ulp <= LIMIT_ULP, name, type);
}

/* ---- Arguments ------------------------------------------------------------------------------ */

static uint64_t random_bits(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double random_unit(uint64_t *state) { return (double)(random_bits(state) >> 11) * 0x1p-53; }

/* Points where some function changes its method, overflows, or has a zero or a pole; the last one
 * is the double nearest to a multiple of pi/2. */
static const double landmarks[] = {0,          0.25,       0.5,
                                   0.70710678, 1,          1.41421356,
                                   2,          M_PI_4,     M_PI_2,
                                   M_PI,       0.34657359, 0.69314718,
                                   10,         18,         20,
                                   38,         88.722,     89.416,
                                   103.9,      127.5,      149.5,
                                   709.78,     710.47,     745.13,
                                   1023.5,     1074.5,     4,
                                   6,          0.99999,    1e9,
                                   1e19,       1e-3,       1e-8,
                                   1e-16,      1e30,       1e150,
                                   131072,     0x1p38,     0x1.6ac5b262ca1ffp+849};

/* A mix of all magnitudes, moderate values, neighbourhoods of landmarks, multiples of pi/2. */
static double sample_f64(uint64_t *state)
{
    uint64_t pick = random_bits(state);
    double sign = pick & 1 ? -1 : 1, unit = random_unit(state);
    switch (pick >> 1 & 7) {
    case 0: return vm_from_bits_f64(random_bits(state));
    case 1: return sign * unit;
    case 2: return sign * unit * 20;
    case 3: return sign * unit * 800;
    case 4: return sign * ldexp(1 + unit, (int)(pick >> 8 & 127) - 64);
    case 5: return sign * ldexp(unit, -1022);
    case 6: {
        double c = landmarks[(pick >> 8) % (sizeof landmarks / sizeof landmarks[0])];
        return sign * (c + (pick & 16 ? 1 : -1) * ldexp(1 + unit, -(int)(pick >> 32 & 63)));
    }
    default: return sign * (double)(random_bits(state) >> (11 + pick % 50)) * M_PI_2;
    }
}

static float sample_f32(uint64_t *state)
{
    uint64_t pick = random_bits(state);
    return pick & 7 ? (float)sample_f64(state) : vm_from_bits_f32((uint32_t)(pick >> 32));
}

/* For two arguments: related, so that powers stay finite, sums cancel and angles are not all 0. */
static void sample_pair(uint64_t *state, double *x, double *y)
{
    uint64_t pick = random_bits(state);
    *x = sample_f64(state);
    *y = sample_f64(state);
    if (pick & 1)
        *y = *x * (2 * random_unit(state) + 0x1p-20) * (pick & 2 ? -1 : 1);
    if ((pick >> 2 & 3) == 1)
        *y = (random_unit(state) * 1500 - 750) / log(fabs(*x));
    if ((pick >> 2 & 3) == 2)
        *y = *x + (random_unit(state) - 0.5) * ldexp(1, (int)(pick >> 8 & 15) - 8);
    if ((pick >> 2 & 15) == 3)
        *y = (double)((int)(pick >> 8 & 63) - 32);
}

/* The i-th pair of a test: all pairs of special values come first. */
static void sample_pair_at(long i, uint64_t *state, double *x, double *y)
{
    sample_pair(state, x, y);
    if (i < special_count * special_count) {
        *x = special_values[i / special_count];
        *y = special_values[i % special_count];
    }
}

/* ---- Rounded functions ---------------------------------------------------------------------- */

static void sample_unary(const struct reference *ref, long count)
{
    const struct vmath_row *row = row_of(ref->name);
    float a32[BLOCK], d32[BLOCK];
    double a64[BLOCK], d64[BLOCK];
    struct worst w32 = {0}, w64 = {0};
    uint64_t state = 1;
    mpfr_t want, arg;
    mpfr_init2(want, 160);
    mpfr_init2(arg, 53);
    for (long done = 0; done < 8 * count; done += BLOCK) {
        for (int i = 0; i < BLOCK; i++)
            a32[i] = done + i < special_count ? (float)special_values[i] : sample_f32(&state);
        row->f32(d32, a32, a32, BLOCK);
        for (int i = 0; i < BLOCK; i++) {
            double x = (double)a32[i], got = (double)d32[i];
            worst_take(&w32, within(ref, got, ulp_f32(d32[i], ref->wide(x))), x, 0, got);
        }
    }
    for (long done = 0; done < count; done += BLOCK) {
        for (int i = 0; i < BLOCK; i++)
            a64[i] = done + i < special_count ? special_values[i] : sample_f64(&state);
        row->f64(d64, a64, a64, BLOCK);
        for (int i = 0; i < BLOCK; i++) {
            mpfr_set_d(arg, a64[i], MPFR_RNDN);
            ref->exact(want, arg, MPFR_RNDN);
            worst_take(&w64, within(ref, d64[i], ulp_f64(d64[i], want)), a64[i], 0, d64[i]);
        }
    }
    mpfr_clears(want, arg, (mpfr_ptr)0);
    report(ref->name, "f32", w32, 8 * count, 1);
    report(ref->name, "f64", w64, count, 1);
}

static void sample_binary(const struct reference2 *ref, long count)
{
    const struct vmath_row *row = row_of(ref->name);
    float a32[BLOCK], b32[BLOCK], d32[BLOCK];
    double a64[BLOCK], b64[BLOCK], d64[BLOCK];
    struct worst w32 = {0}, w64 = {0};
    uint64_t state = 2;
    mpfr_t want, x, y;
    mpfr_init2(want, 160);
    mpfr_inits2(53, x, y, (mpfr_ptr)0);
    for (long done = 0; done < count; done += BLOCK) {
        for (int i = 0; i < BLOCK; i++) {
            sample_pair_at(done + i, &state, &a64[i], &b64[i]);
            a32[i] = (float)a64[i];
            b32[i] = (float)b64[i];
        }
        row->f32(d32, a32, b32, BLOCK);
        row->f64(d64, a64, b64, BLOCK);
        for (int i = 0; i < BLOCK; i++) {
            mpfr_set_d(x, (double)a32[i], MPFR_RNDN);
            mpfr_set_d(y, (double)b32[i], MPFR_RNDN);
            ref->exact(want, x, y, MPFR_RNDN);
            double factor =
                ref->by_argument ? by_argument(want, (double)a32[i], (double)b32[i]) : 1;
            worst_take(&w32, factor * ulp_f32(d32[i], mpfr_get_d(want, MPFR_RNDN)), (double)a32[i],
                       (double)b32[i], (double)d32[i]);
            mpfr_set_d(x, a64[i], MPFR_RNDN);
            mpfr_set_d(y, b64[i], MPFR_RNDN);
            ref->exact(want, x, y, MPFR_RNDN);
            factor = ref->by_argument ? by_argument(want, a64[i], b64[i]) : 1;
            worst_take(&w64, factor * ulp_f64(d64[i], want), a64[i], b64[i], d64[i]);
        }
    }
    mpfr_clears(want, x, y, (mpfr_ptr)0);
    report(ref->name, "f32", w32, count, 2);
    report(ref->name, "f64", w64, count, 2);
}

/* ---- All 2^32 ------------------------------------------------------------------------------- */

struct sweep {
    const struct reference *ref;
    const struct vmath_row *row;
    atomic_uint next;
    struct worst worst[MAX_THREADS];
    atomic_uint threads;
};

static void *sweep_part(void *p)
{
    struct sweep *s = p;
    struct worst w = {0};
    float a[BLOCK], d[BLOCK];
    for (uint32_t block; (block = atomic_fetch_add(&s->next, 1)) < (1u << 22);) {
        for (uint32_t i = 0; i < BLOCK; i++)
            a[i] = vm_from_bits_f32(block * BLOCK + i);
        s->row->f32(d, a, a, BLOCK);
        for (int i = 0; i < BLOCK; i++) {
            double x = (double)a[i], got = (double)d[i];
            worst_take(&w, within(s->ref, got, ulp_f32(d[i], s->ref->wide(x))), x, 0, got);
        }
    }
    s->worst[atomic_fetch_add(&s->threads, 1)] = w;
    return NULL;
}

static void exhaust(const struct reference *ref)
{
    static struct sweep s;
    s = (struct sweep){.ref = ref, .row = row_of(ref->name)};
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int count = cores > MAX_THREADS ? MAX_THREADS : (int)cores;
    pthread_t thread[MAX_THREADS];
    for (int i = 0; i < count; i++)
        if (pthread_create(&thread[i], NULL, sweep_part, &s)) {
            perror("pthread_create");
            exit(1);
        }
    struct worst w = {0};
    for (int i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < count; i++)
        worst_take(&w, s.worst[i].ulp, s.worst[i].x, 0, s.worst[i].got);
    report(ref->name, "f32", w, 1L << 32, 1);
}

/* ---- Special values and exact functions ----------------------------------------------------- */

static int same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

static void expect(const struct expectation *e)
{
    const struct vmath_row *row = row_of(e->name);
    float x32 = (float)e->x, y32 = (float)e->y, d32;
    double d64;
    row->f32(&d32, &x32, &y32, 1);
    row->f64(&d64, &e->x, &e->y, 1);
    int ok32 = same((double)d32, e->want), ok64 = same(d64, e->want);
    if (!ok32 || !ok64)
        printf("%s(%g, %g) is %g in f32 and %g in f64, should be %g\n", e->name, e->x, e->y,
               (double)d32, d64, e->want);
    check(ok32, e->name, "f32 special value");
    check(ok64, e->name, "f64 special value");
}

static void check_exact(const struct exact_reference *ref, long count)
{
    const struct vmath_row *row = row_of(ref->name);
    uint64_t state = 3;
    long wrong32 = 0, wrong64 = 0;
    for (long i = 0; i < count; i++) {
        double x, y, d;
        sample_pair_at(i, &state, &x, &y);
        float x32 = (float)x, y32 = (float)y, d32;
        row->f32(&d32, &x32, &y32, 1);
        row->f64(&d, &x, &y, 1);
        double want32 = (double)ref->f32(x32, y32), want = ref->f64(x, y);
        if (!same((double)d32, want32) && !wrong32++)
            printf("%s(%a, %a) is %a in f32, should be %a\n", ref->name, (double)x32, (double)y32,
                   (double)d32, want32);
        if (!same(d, want) && !wrong64++)
            printf("%s(%a, %a) is %a, should be %a\n", ref->name, x, y, d, want);
    }
    printf("%-13s wrong %ld in f32, %ld in f64, of %ld pairs\n", ref->name, wrong32, wrong64,
           count);
    check(wrong32 == 0, ref->name, "f32 exact");
    check(wrong64 == 0, ref->name, "f64 exact");
}

/* gelu for halves, for all f16: its error before rounding, in units of the last place of f16. */
static void check_gelu_half(void)
{
    struct worst w = {0};
    for (unsigned bits = 0; bits < 0x8000; bits++) {
        const int exponent = (int)(bits >> 10), fraction = (int)(bits & 1023);
        for (int sign = -1; sign <= 1 && exponent < 31; sign += 2) {
            const double x =
                sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
            const double want = x / 2 * erfc(-x * sqrt(0.5)),
                         got = (double)vm_gelu_half_f32((float)x);
            const int most = fmax(fabs(want), ldexp(1, -14)) == fabs(want) ? ilogb(want) : -14;
            worst_take(&w, fabs(got - want) / ldexp(1, most - 10), x, 0, got);
        }
    }
    printf("%-13s %.3f ulp of f16 at %a\n", "gelu_half", w.ulp, w.x);
    check(w.ulp < 0.18, "gelu_half", "f16");
    check(isnan(vm_gelu_half_f32(NAN)) && isnan(vm_gelu_half_f32(-INFINITY)) &&
              isinf(vm_gelu_half_f32(INFINITY)) && signbit(vm_gelu_half_f32(-0.0f)),
          "gelu_half", "special values");
}

int main(int argc, char **argv)
{
    int all = argc > 1 && !strcmp(argv[1], "--exhaustive");
    int times = argc == 3 && !strcmp(argv[1], "--times") ? atoi(argv[2]) : 1;
    if (argc > 3 || times < 1 || (argc > 1 && !all && argv[1][2] != 't')) {
        fprintf(stderr, "usage: %s [--times N | --exhaustive [function]]\n", argv[0]);
        return 2;
    }
    for (int i = 0; i < reference_count; i++)
        if (!all)
            sample_unary(&references[i], 30000L * times);
        else if (argc == 2 || !strcmp(argv[2], references[i].name))
            exhaust(&references[i]);
    for (int i = 0; i < reference2_count && !all; i++)
        sample_binary(&references2[i], 100000L * times);
    for (int i = 0; i < exact_count && !all; i++)
        check_exact(&exact_references[i], 1000000L * times);
    for (int i = 0; i < expectation_count && !all; i++)
        expect(&expectations[i]);
    if (!all)
        check_gelu_half();
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
