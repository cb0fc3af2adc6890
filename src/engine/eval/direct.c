/* Devices that run programs themselves; see executor.h. A launch returns when it is done. */
#include "engine/eval/run.h"

static schedule_rules rules(const backend *dev)
{
    enum { MATRIX_BYTES = 512 << 10 /* half of a usual L2 cache */ };
    (void)dev;
    return (schedule_rules){.chain_matrix_bytes = MATRIX_BYTES};
}

static ig_status prepare(schedule *s, int i, const backend *dev, struct module_batch *batch)
{
    (void)batch;
    return dev->compile(dev, &s->program[i]);
}

static void discard(program *p, const backend *dev) { dev->discard(p); }

/* The buffers may have been written by a device that reports failures late. This device writes them now. */
static ig_status arrange(const run *r)
{
    for (int i = 0; i < r->n_owned; i++)
        r->owned[i]->written = 0;
    return IG_OK;
}

static ig_status launch(const run *r, const program *p, uint64_t *device_ns)
{
    (void)device_ns;
    return program_is_custom(p) ? p->kernel->runner->launch(p, r->dev, r->binding)
                                : r->dev->launch(p, r->binding);
}

static ig_status finish(const run *r, ig_status status, bool launched)
{
    const ig_status finished = r->dev->finish(r->dev);
    (void)launched;
    return status == IG_OK ? finished : status;
}

const executor executor_direct = {.rules = rules,
                                  .prepare = prepare,
                                  .discard = discard,
                                  .arrange = arrange,
                                  .launch = launch,
                                  .finish = finish};
