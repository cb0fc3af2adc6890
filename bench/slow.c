/* A slower Ingot for bench/aa: the command, linked so that each ig_eval calls this file (ld --wrap), which
 * computes until the evaluation has taken INGOT_SLOWER per cent longer. */
#include <ingot.h>
#include <stdlib.h>

#include "progress.h"

ig_status __real_ig_eval(ig_array *const *arrays, int n);
ig_status __wrap_ig_eval(ig_array *const *arrays, int n);

static double slower(void)
{
    const char *per_cent = getenv("INGOT_SLOWER");
    return per_cent ? strtod(per_cent, NULL) / 100 : 0;
}

/* Arithmetic whose result is not used. */
static void compute_until(double end_s)
{
    for (volatile double x = 1; clock_s() < end_s;)
        x = x * 1.0000001 + 1e-9;
}

ig_status __wrap_ig_eval(ig_array *const *arrays, int n)
{
    static double share = -1;
    share = share < 0 ? slower() : share;
    const double begin_s = clock_s();
    const ig_status status = __real_ig_eval(arrays, n);
    const double end_s = clock_s();
    compute_until(end_s + share * (end_s - begin_s));
    return status;
}
