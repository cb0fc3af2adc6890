/* Batches of commands: encoding, committing, waiting, and poisoning after failures; see metal.h. */
#include "engine/backend/metal/metal.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* ---- encoding ---- */

static void end_encoder(metal_device *d)
{
    if (d->kind == METAL_NONE)
        return;
    objc_send(end_encoding, d->encoder);
    objc_send(release, d->encoder);
    d->encoder = NULL;
    d->kind = METAL_NONE;
}

static ig_status open_batch(metal_device *d)
{
    if (d->open.commands)
        return IG_OK;
    d->open = (metal_batch){.commands = objc_send(retain, objc_send(commands, d->queue))};
    if (!d->open.commands)
        FAIL(IG_ERR_DEVICE, "%s gives no command buffer", d->base.name);
    d->open.number = ++d->base.number;
    return IG_OK;
}

ig_status metal_encode(metal_device *d, metal_encoder kind, const char *what, id *encoder)
{
    TRY(open_batch(d));
    if (d->kind != kind) {
        end_encoder(d);
        d->encoder =
            objc_send(retain, kind == METAL_COMPUTE ? objc_send(compute_encoder, d->open.commands)
                                                    : objc_send(blit_encoder, d->open.commands));
        if (!d->encoder)
            FAIL(IG_ERR_DEVICE, "%s gives no encoder", d->base.name);
        d->kind = kind;
    }
    d->open.launches++;
    flight_add(&d->open.names, what);
    *encoder = d->encoder;
    return IG_OK;
}

ig_status metal_encode_library(metal_device *d, const char *what, id *commands)
{
    TRY(open_batch(d));
    end_encoder(d);
    d->open.launches++;
    flight_add(&d->open.names, what);
    *commands = d->open.commands;
    return IG_OK;
}

void metal_uses(buffer *b, bool writes)
{
    metal_device *d = metal_device_of(b->device);
    driver_memory *m = b->handle;
    if (m->used != d->open.number)
        d->open.bytes += b->bytes;
    m->used = d->open.number;
    if (writes)
        m->written = d->open.number;
}

/* ---- committing and waiting ---- */

/* The time of launches determines the size of the next batches. A sudden long time counts at once. */
static void learn_time(metal_device *d, const metal_batch *b, double seconds)
{
    const double each = seconds / (b->launches ? b->launches : 1);
    if (seconds > 0)
        d->launch_seconds =
            each > d->launch_seconds ? each : 0.75 * d->launch_seconds + 0.25 * each;
}

static int launches_most(const metal_device *d)
{
    if (d->launch_seconds <= 0)
        return METAL_LAUNCHES_FIRST;
    const double most = METAL_BATCH_SECONDS / d->launch_seconds;
    return most < 1 ? 1 : most > METAL_LAUNCHES_MOST ? METAL_LAUNCHES_MOST : (int)most;
}

/* Waits for the oldest batch, and fails if it failed. All later batches then count as failed too. */
static ig_status wait_oldest(metal_device *d, double *seconds)
{
    char why[FLIGHT_TEXT_BYTES], names[FLIGHT_TEXT_BYTES];
    const metal_batch b = d->flight[0];
    memmove(d->flight, d->flight + 1, (size_t)--d->n_flight * sizeof *d->flight);
    objc_send(wait, b.commands);
    const bool fine = objc_send(status, b.commands) == MTLCommandBufferStatusCompleted;
    const double took =
        fine ? objc_send(gpu_end, b.commands) - objc_send(gpu_start, b.commands) : 0;
    if (!fine)
        snprintf(why, sizeof why, "%s",
                 metal_error_text(objc_send(error, b.commands), "Metal does not say why"));
    objc_send(release, b.commands);
    d->completed = b.number;
    if (seconds)
        *seconds = took;
    if (fine) {
        learn_time(d, &b, took);
        return IG_OK;
    }
    while (d->n_flight) {
        objc_send(wait, d->flight[0].commands);
        objc_send(release, d->flight[0].commands);
        d->completed = d->flight[0].number;
        memmove(d->flight, d->flight + 1, (size_t)--d->n_flight * sizeof *d->flight);
    }
    return driver_failed(&d->base, b.number, flight_text(&b.names, names), why);
}

/* A batch is committed even if encoding one of its commands failed: an open batch cannot be dropped. */
static ig_status commit(metal_device *d)
{
    if (!d->open.commands)
        return IG_OK;
    end_encoder(d);
    objc_send(commit, d->open.commands);
    d->flight[d->n_flight++] = d->open;
    d->open = (metal_batch){0};
    return d->n_flight == METAL_IN_FLIGHT ? wait_oldest(d, NULL) : IG_OK;
}

ig_status metal_batch_check(metal_device *d)
{
    uint64_t bytes = d->open.bytes;
    if (d->open.launches < launches_most(d) && bytes < d->base.pool.total / METAL_IN_FLIGHT)
        return IG_OK;
    TRY(commit(d));
    for (int i = 0; i < d->n_flight; i++)
        bytes += d->flight[i].bytes;
    return d->n_flight && bytes > d->base.pool.total / 2 ? wait_oldest(d, NULL) : IG_OK;
}

ig_status metal_settle(metal_device *d, uint64_t number)
{
    if (d->open.commands && d->open.number <= number)
        TRY(commit(d));
    while (d->n_flight && d->flight[0].number <= number)
        TRY(wait_oldest(d, NULL));
    return IG_OK;
}

ig_status metal_settle_all(metal_device *d, double *seconds)
{
    TRY(commit(d));
    while (d->n_flight)
        TRY(wait_oldest(d, seconds));
    return IG_OK;
}
