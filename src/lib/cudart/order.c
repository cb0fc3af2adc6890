/* Races between streams, under a check. Launches run one after the other here, but on a GPU only what orders them does: a
 * stream, the default stream, events, and waits of the host.
 *
 * Each launch of a stream has a number. A clock has a number for each stream: its launches up to it are over. Streams,
 * events and the host have clocks. A launch adds the host's clock to its stream's. Of launches that are not ordered before
 * all later ones, the bytes that they read and store are kept, and compared with those of the next launches. */
#include "base/memory.h"
#include "lib/cudart/cudart.h"

#include <stdio.h>
#include <string.h>

enum { STREAMS = 32, EVENTS = 256, RECORDS = 64, BYTES_MOST = 64 << 20 };

typedef struct order_clock {
    uint32_t at[STREAMS]; /* 0: the default stream */
} order_clock;

typedef struct piece {
    uint64_t base;
    size_t bytes;
    uint8_t *reads, *stores; /* bits */
} piece;

typedef struct record {
    int stream, n;
    uint32_t number;
    cudart_call_site at;
    char kernel[80];
    piece *pieces;
} record;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    void *handle;
    bool apart; /* it does not wait for the default stream */
    order_clock clock;
} streams[STREAMS];
static struct {
    const void *handle;
    order_clock clock;
} events[EVENTS];
static order_clock host;
static int n_streams = 1, n_events, n_records;
static bool lost; /* there were more streams or events than there is room for */
static record records[RECORDS], now /* the launch that runs */;

static void join(order_clock *to, const order_clock *from)
{
    for (int i = 0; i < n_streams; i++)
        to->at[i] = from->at[i] > to->at[i] ? from->at[i] : to->at[i];
}

static void record_free(record *r)
{
    for (int i = 0; i < r->n; i++) {
        memory_free(r->pieces[i].reads);
        memory_free(r->pieces[i].stores);
    }
    memory_free(r->pieces);
    *r = (record){0};
}

/* The host waits for what the clock says, and forgets launches that are over. */
static void host_waits(const order_clock *clock)
{
    int kept = 0;
    join(&host, clock);
    for (int i = 0; i < n_records; i++)
        if (host.at[records[i].stream] >= records[i].number)
            record_free(&records[i]);
        else
            records[kept++] = records[i];
    n_records = kept;
}

static int stream_index(void *handle)
{
    enum { LEGACY = 1 };
    if ((uintptr_t)handle <= LEGACY)
        return 0;
    for (int i = 1; i < n_streams; i++)
        if (streams[i].handle == handle)
            return i;
    lost |= n_streams == STREAMS;
    if (lost)
        return 0;
    streams[n_streams].handle = handle;
    return n_streams++;
}

/* A command begins in a stream: the stream's clock gets what precedes it. */
static order_clock *enter(void *stream)
{
    const int s = stream_index(stream);
    join(&streams[s].clock, &host);
    for (int i = 0; i < n_streams; i++)
        if (!streams[i].apart && !streams[s].apart && (s == 0 || i == 0))
            join(&streams[s].clock, &streams[i].clock);
    return &streams[s].clock;
}

static order_clock *clock_of(const void *event)
{
    for (int i = 0; i < n_events; i++)
        if (events[i].handle == event)
            return &events[i].clock;
    lost |= n_events == EVENTS;
    if (lost)
        return &events[0].clock;
    events[n_events].handle = event;
    return &events[n_events++].clock;
}

static bool begin(void)
{
    if (!cudart_watch_checks())
        return false;
    pthread_mutex_lock(&lock);
    return true;
}

static void end(void) { pthread_mutex_unlock(&lock); }

void cudart_order_stream(void *stream, bool apart)
{
    if (!begin())
        return;
    const int s = stream_index(stream);
    if (s)
        streams[s].apart = apart;
    end();
}

void cudart_order_command(void *stream, bool waits)
{
    if (!begin())
        return;
    const order_clock *clock = enter(stream);
    if (waits)
        host_waits(clock);
    end();
}

void cudart_order_all(void)
{
    if (!begin())
        return;
    for (int i = 0; i < n_streams; i++)
        host_waits(&streams[i].clock);
    end();
}

void cudart_order_event(const void *event, void *stream)
{
    if (!begin())
        return;
    *clock_of(event) = *enter(stream);
    end();
}

void cudart_order_after(void *stream, const void *event)
{
    if (!begin())
        return;
    join(enter(stream), clock_of(event));
    end();
}

void cudart_order_wait(const void *event)
{
    if (!begin())
        return;
    host_waits(clock_of(event));
    end();
}

/* ---- launches ---- */

void cudart_order_begin(void *stream, cudart_call_site at)
{
    if (!begin())
        return;
    record_free(&now);
    now.stream = stream_index(stream);
    now.number = ++enter(stream)->at[now.stream];
    now.at = at;
    end();
}

void cudart_order_watch(kernel_memory *memory, int n)
{
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += memory[i].freed ? 0 : memory[i].bytes;
    if (!begin())
        return;
    const bool several = n_streams > 1 && !lost && bytes <= BYTES_MOST;
    now.pieces = several ? memory_new((size_t)(n + 1) * sizeof *now.pieces) : NULL;
    for (int i = 0; i < n && now.pieces; i++) {
        const size_t bits = (size_t)memory[i].bytes / 8 + 1;
        if (memory[i].freed)
            continue;
        piece *p = &now.pieces[now.n++];
        *p = (piece){memory[i].base, (size_t)memory[i].bytes, memory_new(bits), memory_new(bits)};
        memory[i].reads = p->reads;
        memory[i].stores = p->stores;
    }
    end();
}

/* The first byte that is in both; `bytes` if there is none. */
static size_t common(const uint8_t *a, const uint8_t *b, size_t bytes)
{
    for (size_t i = 0; a && b && i <= bytes / 8; i++)
        if (a[i] & b[i])
            return i * 8 + (size_t)__builtin_ctz(a[i] & b[i]);
    return bytes;
}

static bool compare(const piece *p, const piece *q, const record *was, const char *kernel)
{
    const size_t both = common(p->stores, q->stores, p->bytes);
    const size_t here = common(p->stores, q->reads, p->bytes);
    const size_t there = common(p->reads, q->stores, p->bytes);
    const size_t at = both < p->bytes ? both : here < p->bytes ? here : there;
    if (p->base != q->base || p->bytes != q->bytes || at == p->bytes)
        return false;
    cudart_watch_report("race between streams", false, now.at,
                        "kernel '%s' %s byte %zu of an allocation of %zu bytes, which kernel '%s' "
                        "%s, launched into another stream at %s:%d; order them by an event",
                        kernel, both < p->bytes || here < p->bytes ? "writes" : "reads", at,
                        p->bytes, was->kernel,
                        both == p->bytes && here < p->bytes ? "reads" : "writes",
                        was->at.file ? was->at.file : "an unknown place", was->at.line);
    return true;
}

void cudart_order_end(const char *kernel)
{
    if (!begin())
        return;
    const order_clock *clock = &streams[now.stream].clock;
    for (int r = 0; r < n_records; r++) {
        bool told = clock->at[records[r].stream] >= records[r].number;
        for (int i = 0; i < now.n; i++)
            for (int k = 0; k < records[r].n && !told; k++)
                told = compare(&now.pieces[i], &records[r].pieces[k], &records[r], kernel);
    }
    if (n_records == RECORDS) {
        record_free(&records[0]);
        memmove(records, records + 1, --n_records * sizeof *records);
    }
    if (now.n) {
        snprintf(now.kernel, sizeof now.kernel, "%s", kernel);
        records[n_records++] = now;
        now = (record){0};
    }
    end();
}
