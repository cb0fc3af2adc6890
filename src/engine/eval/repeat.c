/* Replay of schedules; see repeat.h. */
#include "engine/eval/repeat.h"

#include "base/memory.h"
#include "engine/eval/emitted.h"

enum { WORTHWHILE = 3 }; /* launches: with fewer, separate launches are faster */

/* Number of launches; 0 if the schedule has anything else. */
static int count(const schedule *s, scratch_range *scratch)
{
    int n = 0, chain = 0;
    for (int i = 0; i < s->n_program; i += s->program[i].chain, chain++) {
        const int here = emitted_launches(&s->program[i]);
        if (!here)
            return 0;
        scratch[chain] = emitted_scratch(&s->program[i]);
        n += here;
    }
    return n;
}

static ig_status fill(const schedule *s, repeat *r)
{
    scratch_range *scratch = memory_new((size_t)(s->n_program + 1) * sizeof *scratch);
    ig_status status = scratch ? IG_OK : IG_ERR_MEMORY;
    if (status == IG_OK)
        r->worthwhile = count(s, scratch) >= WORTHWHILE;
    if (r->worthwhile)
        status = after_find(s, scratch, &r->after);
    if (r->worthwhile && status == IG_OK && r->after.n && program_checks())
        status = schedule_check_order(s, r->after.first, r->after.chain, r->after.n);
    memory_free(scratch);
    return status;
}

ig_status repeat_of(schedule *s, const backend *dev, repeat **out)
{
    *out = NULL;
    if (!dev->replay)
        return IG_OK;
    repeat *r = s->repeat;
    if (!r) {
        r = memory_new(sizeof *r);
        if (!r)
            return IG_ERR_MEMORY;
        r->dev = dev;
        const ig_status status = fill(s, r);
        if (status != IG_OK) {
            repeat_free(r);
            return status;
        }
        s->repeat = r;
    }
    *out = r->worthwhile ? r : NULL;
    return IG_OK;
}

void repeat_free(repeat *r)
{
    if (!r)
        return;
    r->dev->replay->discard(r->kept);
    after_free(&r->after);
    memory_free(r);
}

void repeat_chain(repeat *r, int chain)
{
    const int *first = r->after.first;
    if (chain < r->after.n)
        r->dev->replay->after(r->dev, r->after.chain + first[chain],
                              first[chain + 1] - first[chain]);
}
