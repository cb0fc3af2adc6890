/* Lengths and radices of Fourier transforms: see fft_plan.h. */
#include "engine/program/fft_plan.h"

#include <string.h>

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

int64_t fft_enough(int64_t n, ig_dtype part)
{
    enum { F64_PAIR = 16, SMALL = 1 << 16 }; /* SMALL and one eighth: factors and turns */
    const int64_t pair = 2 * (int64_t)ig_dtype_bytes(part), around = 3 * pair * n;
    if (fft_is_smooth(n))
        return around + around / 8 + SMALL;
    const int64_t m = fft_good_length(2 * n - 1), tables = pair * (n + m);
    const int64_t making = 3 * F64_PAIR * m, running = around + 3 * pair * m; /* see chirped */
    return tables + (making > running ? making : running) + F64_PAIR * m / 8 + SMALL;
}

int64_t fft_turns(int64_t n)
{
    int64_t turns = 1;
    while (turns * turns < n)
        turns *= 2;
    return turns;
}
