/* Stores as arrays: ig_open, and writing an array to a store block by block. */
#include "lib/store/open.h"
#include "lib/store/store.h"
#include "lib/store/zarr.h"

#include "base/error.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/team.h"
#include "base/text.h"
#include "ingot/blocks.h"
#include "ingot/store.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reading ---- */

/* An open store of an array. All of them are in a list, so that none is replaced while it is read. */
typedef struct opened {
    ig_store *store;
    char *path; /* without symbolic links; NULL if it has none */
    struct opened *next;
} opened;

static struct {
    pthread_mutex_t lock;
    opened *first;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

static ig_status read_blocks(void *context, const int64_t *start, const int64_t *size, void *data)
{
    ig_store *s = ((opened *)context)->store;
    const int n = ig_store_shape(s).n;
    return ig_store_read(s, (ig_ints){start, n}, (ig_ints){size, n}, data);
}

static void close_blocks(void *context)
{
    opened *o = context;
    pthread_mutex_lock(&all.lock);
    opened **at = &all.first;
    while (*at != o)
        at = &(*at)->next;
    *at = o->next;
    pthread_mutex_unlock(&all.lock);
    ig_store_close(o->store);
    free(o->path);
    memory_free(o);
}

/* A mapped file has no chunks. Any part can be read, but a short run costs no more than one element. */
static ig_ints runs(const ig_store *s, int64_t *run)
{
    enum { RUN_BYTES = 1 << 10 };
    const ig_ints shape = ig_store_shape(s);
    const int64_t most = RUN_BYTES / (int64_t)ig_dtype_bytes(ig_store_dtype(s));
    for (int i = 0; i < shape.n; i++)
        run[i] = i < shape.n - 1 ? 1 : shape.v[i] > most ? most : shape.v[i] > 0 ? shape.v[i] : 1;
    return (ig_ints){run, shape.n};
}

ig_array *ig_open(const char *path)
{
    ig_store *s = ig_store_open(path);
    opened *o = s ? memory_new(sizeof *o) : NULL;
    if (!o) {
        ig_store_close(s);
        return NULL;
    }
    int64_t run[IG_MAX_NDIM];
    const void *mapped = ig_store_data(s);
    o->store = s;
    o->path = realpath(path, NULL);
    pthread_mutex_lock(&all.lock);
    o->next = all.first;
    all.first = o;
    pthread_mutex_unlock(&all.lock);
    const ig_blocks b = {.size = sizeof b,
                         .shape = ig_store_shape(s),
                         .dtype = ig_store_dtype(s),
                         .chunk = mapped ? runs(s, run) : ig_store_chunk(s),
                         .read = read_blocks,
                         .release = close_blocks,
                         .context = o,
                         .scratch = ig_store_scratch_bytes(s) * (uint64_t)ig_threads(),
                         .concurrent = mapped != NULL,
                         .data = mapped};
    return ig_from_blocks(&b);
}

static ig_status check_not_open(const char *path)
{
    char *real = realpath(path, NULL);
    bool found = false;
    pthread_mutex_lock(&all.lock);
    for (const opened *o = all.first; o && real; o = o->next)
        found = found || (o->path && strcmp(o->path, real) == 0);
    pthread_mutex_unlock(&all.lock);
    free(real);
    if (found)
        FAIL(IG_ERR_FILE,
             "save: %s is open, and arrays that are not evaluated yet read from it; save to "
             "another path",
             path);
    return IG_OK;
}

/* ---- writing ---- */

static ig_status write_block(void *context, const int64_t *start, const int64_t *size,
                             const void *data)
{
    ig_store *s = context;
    const int n = ig_store_shape(s).n;
    return ig_store_write(s, (ig_ints){start, n}, (ig_ints){size, n}, data);
}

/* True if all chunks of a block have been written, and the block is all of them: a chunk that is there may have been written
 * in part. */
static bool has_block(void *context, const int64_t *start, const int64_t *size)
{
    ig_store *s = context;
    const ig_ints shard = ig_store_shard(s), shape = ig_store_shape(s);
    int64_t at[IG_MAX_NDIM];
    for (int i = 0; i < shard.n; i++) {
        const int64_t end = start[i] + size[i];
        if (start[i] % shard.v[i] || (end % shard.v[i] && end < shape.v[i]))
            return false;
    }
    memcpy(at, start, (size_t)shard.n * sizeof *at);
    for (;;) {
        bool has = false;
        int i = shard.n - 1;
        if (ig_store_has(s, (ig_ints){at, shard.n}, &has) != IG_OK) {
            ig_error(NULL);
            return false;
        }
        if (!has)
            return false;
        for (; i >= 0 && (at[i] += shard.v[i]) >= start[i] + size[i]; i--)
            at[i] = start[i];
        if (i < 0)
            return true;
    }
}

/* The attribute of a store that is not complete: what it will hold. */
#define UNFINISHED "ingot_unfinished"

/* {"ingot_unfinished": "resume"} */
static char *unfinished(const char *resume)
{
    text t = {0};
    text_add(&t, "{\"" UNFINISHED "\": \"");
    for (const char *c = resume; *c; c++)
        text_add(&t, (unsigned char)*c < ' ' || *c == '"' || *c == '\\' ? "\\u%04x" : "%c",
                 (unsigned char)*c);
    text_add(&t, "\"}");
    return text_take(&t);
}

/* The store at path if it is the same array, not complete: it has these attributes. */
static ig_store *resumed(const char *path, ig_array *x, ig_store_options o)
{
    o.existing = IG_STORE_KEEP;
    ig_store *s = ig_store_create(path, ig_shape(x), ig_dtype_of(x), &o);
    if (!s)
        ig_error(NULL);
    return s;
}

static ig_store *make_or_resume(const char *path, ig_array *x, ig_store_options o,
                                ig_store_existing existing, const char *resume)
{
    ig_store *s = resume ? resumed(path, x, o) : NULL;
    o.existing = existing;
    return s ? s : ig_store_create(path, ig_shape(x), ig_dtype_of(x), &o);
}

/* The store that x is written to. In a team, rank 0 makes it and the others open it. */
static ig_store *make_store(const char *path, ig_array *x, ig_store_options o,
                            ig_store_existing existing, const char *resume)
{
    ig_store *s = NULL;
    if (!team_shares())
        return make_or_resume(path, x, o, existing, resume);
    if (ig_team_rank() == 0 && !(s = make_or_resume(path, x, o, existing, resume)))
        team_fail(NULL);
    if (!ig_failed() && team_barrier(TEAM_MAIN) == IG_OK && !s && !(s = resumed(path, x, o))) {
        ig_fail(IG_ERR_FILE,
                "save '%s': rank %d does not see the store that rank 0 has made; save "
                "to a folder that all machines share",
                path, ig_team_rank());
        team_fail(NULL);
    }
    if (ig_failed()) {
        ig_store_close(s);
        s = NULL;
    }
    return s;
}

/* HDF5 files have chunks, and none of the other options. */
static ig_status check_hdf5(const struct io_file *file, const char *path, const ig_store_options *o)
{
    const char *given = o->shard.v      ? "shards"
                        : o->codecs     ? "codecs"
                        : o->fill       ? "fill_value"
                        : o->attributes ? "attributes"
                        : o->dimensions ? "dimension_names"
                                        : NULL;
    if (given)
        return io_fail(
            file, IG_ERR_UNSUPPORTED,
            "%s: an HDF5 file has only chunks of the options; leave it out, or save to a "
            ".zarr store",
            given);
    if (o->existing == IG_STORE_REFUSE && access(path, F_OK) == 0)
        return io_fail(
            file, IG_ERR_FILE,
            "the file is there already; overwrite it, remove it or choose another place");
    return IG_OK;
}

/* Reads the options of a save, and checks all that can be checked before x is computed. */
static ig_status options_take(const char *path, ig_array *x, const ig_store_options *options,
                              ig_store_options *o)
{
    struct io_file file = {.verb = "save"};
    *o = (ig_store_options){.size = sizeof *o};
    TRY(require_pointer("save", "path", path));
    TRY(require_pointer("save", "x", x));
    io_show(path, file.shown);
    if (options)
        TRY(sized_read(SIZED(ig_store_options, dimensions), o, options));
    else
        o->existing = IG_STORE_REPLACE;
    TRY(check_not_open(path));
    if (o->attributes)
        TRY(zarr_check_attributes(&file, o->attributes));
    if (hdf5_is_path(path))
        TRY(check_hdf5(&file, path, o));
    if (!o->chunk.v)
        o->chunk = ig_chunks_like(x);
    return IG_OK;
}

/* Computes x and writes it to a new HDF5 file. */
static ig_status save_hdf5(const char *path, ig_array *x, ig_ints chunk)
{
    ig_store *s = hdf5_store_create(path, ig_shape(x), ig_dtype_of(x), chunk);
    if (!s)
        return error_waiting(IG_ERR_FILE);
    const ig_block_sink sink = {
        .size = sizeof sink, .chunk = ig_store_chunk(s), .write = write_block, .context = s};
    ig_status status = ig_eval_to(&x, &(const ig_block_sink *){&sink}, 1);
    if (status == IG_OK)
        status = hdf5_store_finish(s);
    ig_store_close(s);
    return status;
}

ig_status ig_save_store(const char *path, ig_array *x, const ig_store_options *options,
                        const char *resume)
{
    ig_store_options o;
    TRY(options_take(path, x, options, &o));
    if (hdf5_is_path(path))
        return save_hdf5(path, x, o.chunk);
    const char *own = o.attributes ? o.attributes : "{}";
    char *first = unfinished(resume ? resume : "");
    if (!first)
        return IG_ERR_MEMORY;
    o.attributes = first;
    ig_store *s = make_store(path, x, o, o.existing, resume);
    memory_free(first);
    if (!s)
        return error_waiting(IG_ERR_FILE);
    const ig_block_sink sink = {.size = sizeof sink,
                                .chunk = ig_store_shard(s),
                                .write = write_block,
                                .has = resume ? has_block : NULL,
                                .context = s,
                                .scratch = ig_store_scratch_bytes(s) * (uint64_t)ig_threads()};
    ig_status status = ig_eval_to(&x, &(const ig_block_sink *){&sink}, 1);
    if (status == IG_OK && team_shares()) /* all ranks have written */
        status = team_barrier(TEAM_MAIN);
    if (status == IG_OK && (!team_shares() || ig_team_rank() == 0))
        status = ig_store_set_attributes(s, own);
    ig_store_close(s);
    if (status == IG_ERR_CANCELLED && resume) {
        ig_error(NULL);
        return ig_fail(
            status,
            "save: interrupted, and %s is not complete; the same command or call resumes it", path);
    }
    return status == IG_OK && team_shares() ? team_barrier(TEAM_MAIN) : status;
}

char *ig_explain_store(const char *path, ig_array *x, const ig_store_options *options)
{
    ig_store_options o;
    text t = {0};
    if (options_take(path, x, options, &o) != IG_OK)
        return NULL;
    const bool hdf5 = hdf5_is_path(path); /* its chunks are cut as the plan likes them */
    ig_store *s = hdf5 ? NULL : zarr_sketch(path, ig_shape(x), ig_dtype_of(x), &o);
    if (!s && !hdf5)
        return NULL;
    const ig_block_sink sink = {.size = sizeof sink,
                                .chunk = s ? ig_store_shard(s) : IG_NONE,
                                .scratch = ig_store_scratch_bytes(s) * (uint64_t)ig_threads()};
    char *plan = ig_explain_blocks(&x, &(const ig_block_sink *){&sink}, 1);
    t.failed = !plan;
    text_add(&t, "%s", plan ? plan : "");
    if (s)
        zarr_sketch_text(s, sink.scratch, &t);
    ig_free(plan);
    zarr_sketch_free(s);
    return text_take(&t);
}
