/* Learning rate schedules: the rate as a function of the number of steps, computed in double. */
#include "lib/nn/optimizer.h"
#include <math.h>

static ig_status absent(const char *who)
{
    return ig_fail(IG_ERR_ARGUMENT, "%s: the optimizer is NULL", who);
}

static ig_status decline_set(ig_optimizer *o, const char *who, decline kind, int64_t total,
                             double last)
{
    if (!o)
        return absent(who);
    const int64_t least = kind == DECLINE_STEP;
    if (total < least)
        return ig_fail(IG_ERR_ARGUMENT, "%s: %lld steps; give %lld or more", who, (long long)total,
                       (long long)least);
    if (!(last >= 0) || isinf(last))
        return ig_fail(IG_ERR_ARGUMENT, "%s: a rate cannot be multiplied by %g; give 0 or more",
                       who, last);
    o->decline = total ? kind : DECLINE_NONE;
    o->total = total;
    o->last = last;
    return IG_OK;
}

ig_status ig_schedule_warmup(ig_optimizer *o, int64_t warmup)
{
    if (!o)
        return absent("schedule_warmup");
    if (warmup < 0)
        return ig_fail(IG_ERR_ARGUMENT, "schedule_warmup: %lld steps; give 0 or more",
                       (long long)warmup);
    o->warmup = warmup;
    return IG_OK;
}

ig_status ig_schedule_cosine(ig_optimizer *o, int64_t total, double last)
{
    return decline_set(o, "schedule_cosine", DECLINE_COSINE, total, last);
}

ig_status ig_schedule_linear(ig_optimizer *o, int64_t total, double last)
{
    return decline_set(o, "schedule_linear", DECLINE_LINEAR, total, last);
}

ig_status ig_schedule_step(ig_optimizer *o, int64_t every, double factor)
{
    return decline_set(o, "schedule_step", DECLINE_STEP, every, factor);
}

double schedule_rate(const ig_optimizer *o, int64_t steps)
{
    if (steps < o->warmup)
        return o->lr * (double)(steps + 1) / (double)o->warmup;
    const int64_t since = steps - o->warmup;
    if (o->decline == DECLINE_STEP)
        return o->lr * pow(o->last, (double)(since / o->total));
    /* The fraction of the decline that is done, from 0 to 1. */
    const int64_t way = o->total - o->warmup;
    const double done = since < way ? (double)since / (double)way : 1;
    switch (o->decline) {
    case DECLINE_COSINE: return o->lr * (o->last + (1 - o->last) * (1 + cos(M_PI * done)) / 2);
    case DECLINE_LINEAR: return o->lr * (1 + (o->last - 1) * done);
    default: return o->lr;
    }
}

double ig_optimizer_rate(const ig_optimizer *o) { return o ? schedule_rate(o, o->steps) : NAN; }
