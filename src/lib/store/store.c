/* The public functions of stores: they check arguments and call the kind. */
#include "lib/store/store.h"
#include "lib/store/open.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { CHUNK_BYTES = 4 << 20 };

/* ---- scratch memory --------------------------------------------------------------------------- */

ig_status store_reserve(spare *s, size_t bytes)
{
    if (bytes <= s->room)
        return IG_OK;
    store_release(s);
    s->at = memory_data_get(bytes);
    s->room = s->at ? bytes : 0;
    return s->at ? IG_OK : error_waiting(IG_ERR_MEMORY);
}

ig_status store_grow(spare *s, size_t used, size_t bytes)
{
    if (bytes <= s->room)
        return IG_OK;
    spare larger = {0};
    const size_t half = s->room + s->room / 2;
    TRY(store_reserve(&larger, bytes > half ? bytes : half));
    if (used)
        memcpy(larger.at, s->at, used);
    store_release(s);
    *s = larger;
    return IG_OK;
}

void store_release(spare *s)
{
    memory_data_free(s->at, s->room);
    *s = (spare){0};
}

/* ---- tasks ------------------------------------------------------------------------------------ */

typedef struct run {
    store_task fn;
    void *ctx;
    atomic_int failed;
    pthread_mutex_t lock;
    ig_status code;
    char text[1024];
} run;

/* Errors are kept by thread: the first one is carried to the thread that waits. */
static void run_task(void *ctx, int64_t task, int worker)
{
    run *r = ctx;
    if (atomic_load_explicit(&r->failed, memory_order_relaxed))
        return;
    const ig_status status = r->fn(r->ctx, task, worker);
    if (status == IG_OK)
        return;
    const char *text = ig_error(NULL);
    pthread_mutex_lock(&r->lock);
    if (!atomic_exchange(&r->failed, 1)) {
        r->code = status;
        strncpy(r->text, text ? text : "a chunk failed without a message", sizeof r->text - 1);
    }
    pthread_mutex_unlock(&r->lock);
}

ig_status store_run(int64_t tasks, store_task fn, void *ctx)
{
    if (tasks == 1)
        return fn(ctx, 0, 0);
    run r = {.fn = fn, .ctx = ctx, .lock = PTHREAD_MUTEX_INITIALIZER};
    pool_run(tasks, run_task, &r);
    return r.code == IG_OK ? IG_OK : ig_fail(r.code, "%s", r.text);
}

/* ---- chunks of files that have none ------------------------------------------------------------ */

void store_chunk_choose(ig_store *s, bool fortran)
{
    int64_t bytes = (int64_t)ig_dtype_bytes(s->dtype);
    for (int i = 0; i < s->ndim; i++) {
        const int axis = fortran ? i : s->ndim - 1 - i;
        const int64_t room = CHUNK_BYTES / bytes;
        const int64_t most = s->shape[axis] > 0 ? s->shape[axis] : 1;
        s->chunk[axis] = most < room ? most : room > 0 ? room : 1;
        bytes *= s->chunk[axis];
    }
    memcpy(s->shard, s->chunk, sizeof s->shard);
}

/* ---- the public functions --------------------------------------------------------------------- */

void store_free(ig_store *s)
{
    if (!s)
        return;
    if (s->kind && s->kind->close)
        s->kind->close(s);
    memory_free(s->attributes);
    memory_free(s);
}

void ig_store_close(ig_store *s) { store_free(s); }

ig_ints ig_store_shape(const ig_store *s) { return s ? (ig_ints){s->shape, s->ndim} : IG_NONE; }
ig_ints ig_store_chunk(const ig_store *s) { return s ? (ig_ints){s->chunk, s->ndim} : IG_NONE; }
ig_ints ig_store_shard(const ig_store *s) { return s ? (ig_ints){s->shard, s->ndim} : IG_NONE; }
ig_dtype ig_store_dtype(const ig_store *s) { return s ? s->dtype : IG_DTYPE_NONE; }
bool ig_store_writable(const ig_store *s) { return s && s->writable; }
uint64_t ig_store_scratch_bytes(const ig_store *s) { return s ? s->scratch_bytes : 0; }

const char *ig_store_attributes(const ig_store *s)
{
    return s && s->attributes ? s->attributes : "{}";
}

static ig_status read_only(const ig_store *s, const char *verb)
{
    return ig_fail(
        IG_ERR_UNSUPPORTED,
        "%s '%s': it is open for reading only; only Zarr v3 arrays in folders can be written", verb,
        s->shown);
}

ig_status ig_store_set_attributes(ig_store *s, const char *attributes)
{
    TRY(require_pointer("ig_store_set_attributes", "s", s));
    TRY(require_pointer("ig_store_set_attributes", "attributes", attributes));
    return s->kind->set_attributes && s->writable ? s->kind->set_attributes(s, attributes)
                                                  : read_only(s, "save");
}

/* Checks that a box is inside the array. *empty: it has no elements. */
static ig_status box_check(const ig_store *s, const char *verb, ig_ints start, ig_ints size,
                           bool *empty)
{
    if (start.n != s->ndim || size.n != s->ndim || (s->ndim && (!start.v || !size.v)))
        return ig_fail(IG_ERR_SHAPE,
                       "%s '%s': start has %d numbers and size %d, but the array has %d "
                       "dimensions; give as many",
                       verb, s->shown, start.n, size.n, s->ndim);
    *empty = false;
    for (int i = 0; i < s->ndim; i++) {
        if (start.v[i] < 0 || size.v[i] < 0 || start.v[i] > s->shape[i] ||
            size.v[i] > s->shape[i] - start.v[i])
            return ig_fail(IG_ERR_INDEX,
                           "%s '%s': %" PRId64 " elements from %" PRId64
                           " are not inside axis %d of length %" PRId64 "; choose a box inside",
                           verb, s->shown, size.v[i], start.v[i], i, s->shape[i]);
        *empty |= size.v[i] == 0;
    }
    return IG_OK;
}

ig_status ig_store_read(ig_store *s, ig_ints start, ig_ints size, void *data)
{
    bool empty = true;
    TRY(require_pointer("ig_store_read", "s", s));
    TRY(box_check(s, "read", start, size, &empty));
    if (empty)
        return IG_OK;
    TRY(require_pointer("ig_store_read", "data", data));
    return s->kind->read(s, start.v, size.v, data);
}

ig_status ig_store_write(ig_store *s, ig_ints start, ig_ints size, const void *data)
{
    bool empty = true;
    TRY(require_pointer("ig_store_write", "s", s));
    if (!s->writable || !s->kind->write)
        return read_only(s, "save");
    TRY(box_check(s, "save", start, size, &empty));
    if (empty)
        return IG_OK;
    TRY(require_pointer("ig_store_write", "data", data));
    return s->kind->write(s, start.v, size.v, data);
}

ig_status ig_store_has(ig_store *s, ig_ints start, bool *has)
{
    static const int64_t ones[IG_MAX_NDIM] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    bool empty = true;
    TRY(require_pointer("ig_store_has", "s", s));
    TRY(require_pointer("ig_store_has", "has", has));
    TRY(box_check(s, "read", start, (ig_ints){ones, s->ndim}, &empty));
    *has = true;
    return s->kind->has ? s->kind->has(s, start.v, has) : IG_OK;
}
