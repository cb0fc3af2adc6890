/* The memory bandwidth of a device that is only reached through the library. Negating a large array reads
 * and writes it once and computes almost nothing. */
#include "limits.h"

#include "base/clock.h"

#include <string.h>

enum { TRIES = 12 };
#define ENOUGH_S 0.5 /* a slow device needs no more tries after this time */
static const int64_t elements = (int64_t)32 << 20;

/* One try; seconds, or 0 on failure. */
static double try_once(ig_array *x)
{
    if (ig_scope_begin() != IG_OK)
        return 0;
    double begin_s = clock_s();
    ig_array *y = ig_negative(x);
    bool fine = y && ig_eval(&y, 1) == IG_OK && ig_synchronize(NULL) == IG_OK;
    double took_s = clock_s() - begin_s;
    ig_scope_end();
    return fine ? took_s : 0;
}

double limit_device_copy(const char *device)
{
    double best = 0, spent_s = 0;
    if (ig_set_device(device) == IG_OK && ig_scope_begin() == IG_OK) {
        ig_array *x = ig_ones(IG_SHAPE(elements), IG_F32);
        bool fine = x && ig_eval(&x, 1) == IG_OK && ig_synchronize(NULL) == IG_OK;
        for (int i = 0; i < TRIES && fine && spent_s < ENOUGH_S; i++) {
            double took_s = try_once(x), rate = took_s > 0 ? 8e-9 * (double)elements / took_s : 0;
            best = rate > best ? rate : best;
            spent_s += took_s;
        }
        ig_scope_end();
    }
    ig_error(NULL); /* a failure means that the bandwidth is unknown */
    return best;
}

void limit_device_products(const char *device)
{
    static const int64_t sides[] = {128, 256, 512,
                                    1024}; /* of each class: see backend/metal/mps.c */
    static const ig_dtype dtypes[] = {IG_F32, IG_F16};
    if (strncmp(device, "metal", 5) != 0 || ig_set_device(device) != IG_OK)
        return;
    for (int i = 0; i < 8; i++)
        if (ig_scope_begin() == IG_OK) {
            const int64_t n = sides[i % 4];
            ig_array *x = ig_ones(IG_SHAPE(n, n), dtypes[i / 4]);
            if (x && ig_eval(&x, 1) == IG_OK) {
                ig_array *y = ig_matmul(x, x);
                if (y && ig_eval(&y, 1) == IG_OK)
                    ig_synchronize(NULL);
            }
            ig_scope_end();
        }
    ig_error(NULL); /* products that were not measured use the kernels */
}
