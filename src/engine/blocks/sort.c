/* Sorts of rows that do not fit in memory.
 *
 * Stages before this one sort runs, pieces of rows that fit, and leave them in files. A tile of the result has the elements
 * of ranks [a, b) of some rows. In each run of a row, they are a range, because the run is sorted. The ranges of all runs
 * together have b - a elements. They are read one after the other, in the order of the runs, and sorted again. All sorts are
 * stable, and equal elements are read in their original order, so the result equals a single stable sort. Any number of
 * runs is merged in one pass, with no more memory than a tile takes. */
#include "engine/blocks/blocks.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/backend/cpu/sort/sort_key.h"
#include <pthread.h>
#include <string.h>

enum {
    NEAR = 32,    /* elements of a run that are read to find a place among them */
    SAMPLES = 32, /* keys of each run of the current row that are kept */
    KNOWN = 8     /* ranks whose places are kept: neighbouring tiles share them */
};

/* The sorted runs of all rows: `count` runs of `width` elements, and one of `rest`. */
typedef struct runs {
    atomic_int refs;
    sort_order order;
    int lead; /* axes before the last */
    int64_t shape[IG_MAX_NDIM];
    int64_t count, width, rest;
    int64_t length;          /* of the row's piece that a run was made of */
    block_source *keys[2];   /* of the runs, and of the rest; NULL if there are none */
    block_source *places[2]; /* argsort: where the elements were in their pieces */
    pthread_mutex_t lock;    /* of the fields below */
    uint64_t *sample;        /* of each run: the keys of its elements at sample_at */
    int64_t sampled;         /* the row that they belong to; -1: none */
    int64_t known_row[KNOWN], known_rank[KNOWN], *known; /* runs_all places each */
    int next;
} runs;

/* How much of a run belongs before a rank: at least lo, at most hi. near: n elements from `first` on. */
typedef struct split {
    int64_t lo, hi, first;
    int n;
    uint64_t near[NEAR]; /* their keys */
} split;

static void runs_release(void *context)
{
    runs *r = context;
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < 2; i++) {
        block_source_release(r->keys[i]);
        block_source_release(r->places[i]);
    }
    pthread_mutex_destroy(&r->lock);
    memory_free(r->sample);
    memory_free(r->known);
    memory_free(r);
}

static int64_t runs_all(const runs *r) { return r->count + (r->rest > 0); }

static int64_t run_size(const runs *r, int64_t nth) { return nth < r->count ? r->width : r->rest; }

/* Reads elements [from, to) of a run of the row at `row`. */
static ig_status read_run(const runs *r, block_source *const *of, const int64_t *row, int64_t nth,
                          int64_t from, int64_t to, void *data)
{
    const block_source *s = of[nth >= r->count];
    int64_t start[IG_MAX_NDIM], size[IG_MAX_NDIM];
    int n = r->lead;
    for (int a = 0; a < n; a++) {
        start[a] = row[a];
        size[a] = 1;
    }
    if (nth < r->count) {
        start[n] = nth;
        size[n++] = 1;
    }
    start[n] = from;
    size[n] = to - from;
    return s->read(s->context, start, size, data);
}

static ig_status key_at(const runs *r, const int64_t *row, int64_t nth, int64_t i, uint64_t *key)
{
    uint64_t element = 0;
    TRY(read_run(r, r->keys, row, nth, i, i + 1, &element));
    *key = sort_key(&r->order, sort_bits(r->order.bytes, &element, 0));
    return IG_OK;
}

static int64_t sample_at(int64_t size, int k) { return size * (k + 1) / (SAMPLES + 1); }

/* Keeps some keys of each run of a row. */
static ig_status take_samples(runs *r, const int64_t *row, int64_t number)
{
    if (r->sampled == number)
        return IG_OK;
    r->sampled = -1;
    for (int64_t i = 0; i < runs_all(r); i++)
        for (int k = 0; k < SAMPLES && run_size(r, i) > NEAR; k++)
            TRY(key_at(r, row, i, sample_at(run_size(r, i), k), &r->sample[i * SAMPLES + k]));
    r->sampled = number;
    return IG_OK;
}

/* Narrows the range of a place in a run: the elements at lo and hi are kept samples. */
static void narrow(const runs *r, int64_t nth, uint64_t key, int64_t *lo, int64_t *hi)
{
    const uint64_t *sample = r->sample + nth * SAMPLES;
    const int64_t size = run_size(r, nth);
    int from = 0,
        to = SAMPLES; /* samples before `from` are below key, those from `to` on are not */
    while (from < to) {
        const int middle = (from + to) / 2;
        *(sample[middle] < key ? &from : &to) = sample[middle] < key ? middle + 1 : middle;
    }
    const int64_t low = from > 0 ? sample_at(size, from - 1) + 1 : 0,
                  high = from < SAMPLES ? sample_at(size, from) : size;
    *lo = low > *lo ? low : *lo;
    *hi = high < *hi ? high : *hi;
}

/* Reads the keys of elements [lo, hi) of a run. */
static ig_status read_near(const runs *r, const int64_t *row, int64_t nth, int64_t lo, int64_t hi,
                           split *s)
{
    uint64_t elements[NEAR];
    TRY(read_run(r, r->keys, row, nth, lo, hi, elements));
    s->first = lo;
    s->n = (int)(hi - lo);
    for (int i = 0; i < s->n; i++)
        s->near[i] = sort_key(&r->order, sort_bits(r->order.bytes, elements, i));
    return IG_OK;
}

/* *found: the number of elements of a run whose key is below `key`; it is within [s->lo, s->hi]. */
static ig_status count_below(const runs *r, const int64_t *row, int64_t nth, split *s, uint64_t key,
                             int64_t *found)
{
    int64_t lo = s->lo, hi = s->hi;
    if (run_size(r, nth) > NEAR)
        narrow(r, nth, key, &lo, &hi);
    while (lo < hi) {
        const int64_t middle = lo + (hi - lo) / 2;
        const bool near = s->n && lo >= s->first && hi <= s->first + s->n;
        uint64_t at;
        if (!near && hi - lo <= NEAR)
            TRY(read_near(r, row, nth, lo, hi, s));
        if (s->n && lo >= s->first && hi <= s->first + s->n)
            at = s->near[middle - s->first];
        else
            TRY(key_at(r, row, nth, middle, &at));
        *(at < key ? &lo : &hi) = at < key ? middle + 1 : middle;
    }
    *found = lo;
    return IG_OK;
}

/* Sets place[i]: how many elements of run i are among the first `rank` of the row. Of equal elements, earlier runs come first.
 * Finds the key of the element at that rank bit by bit. */
static ig_status split_row(const runs *r, const int64_t *row, int64_t rank, split *s,
                           int64_t *place)
{
    const int64_t n = runs_all(r);
    uint64_t key = 0;
    int64_t before = 0;
    for (int64_t i = 0; i < n; i++)
        s[i] = (split){.hi = run_size(r, i)};
    for (int bit = 8 * r->order.bytes - 1; bit >= 0; bit--) {
        const uint64_t next = key | (uint64_t)1 << bit;
        int64_t below = 0;
        for (int64_t i = 0; i < n; i++) {
            TRY(count_below(r, row, i, &s[i], next, &place[i]));
            below += place[i];
        }
        if (below <= rank)
            key = next;
        for (int64_t i = 0; i < n; i++)
            *(below <= rank ? &s[i].lo : &s[i].hi) = place[i];
    }
    /* lo elements are below the key; those up to hi equal it. */
    for (int64_t i = 0; i < n; i++) {
        place[i] = s[i].lo;
        before += s[i].lo;
    }
    for (int64_t i = 0; i < n && before < rank; i++) {
        const int64_t equal = s[i].hi - s[i].lo,
                      more = equal < rank - before ? equal : rank - before;
        place[i] += more;
        before += more;
    }
    return before == rank ? IG_OK : ig_fail(IG_ERR_INTERNAL, "sort: the runs have other lengths");
}

/* ---- the source of a tile's elements ---- */

/* The same as split_row, but recent results are kept. */
static ig_status find_places(runs *r, const int64_t *row, int64_t rank, split *s, int64_t *place)
{
    const int64_t n = runs_all(r);
    int64_t number = 0;
    for (int a = 0; a < r->lead; a++)
        number = number * r->shape[a] + row[a];
    pthread_mutex_lock(&r->lock);
    int at = 0;
    while (at < KNOWN && (r->known_row[at] != number || r->known_rank[at] != rank))
        at++;
    ig_status status = IG_OK;
    if (at == KNOWN) {
        at = r->next;
        r->next = (at + 1) % KNOWN;
        r->known_row[at] = -1;
        status = take_samples(r, row, number);
        if (status == IG_OK)
            status = split_row(r, row, rank, s, &r->known[at * n]);
    }
    if (status == IG_OK) {
        r->known_row[at] = number;
        r->known_rank[at] = rank;
        memcpy(place, &r->known[at * n], (size_t)n * sizeof *place);
    }
    pthread_mutex_unlock(&r->lock);
    return status;
}

/* Reads the elements, or their places in the row, of ranks [from, from + n) of a row. */
static ig_status read_ranks(runs *r, bool places, const int64_t *row, int64_t from, int64_t n,
                            split *s, int64_t *bound, char *to)
{
    const int64_t all = runs_all(r);
    const size_t bytes = places ? sizeof(int64_t) : (size_t)r->order.bytes;
    int64_t *first = bound, *end = bound + all;
    TRY(find_places(r, row, from, s, first));
    TRY(find_places(r, row, from + n, s, end));
    for (int64_t i = 0; i < all; i++) {
        const int64_t count = end[i] - first[i];
        if (count == 0)
            continue;
        TRY(read_run(r, places ? r->places : r->keys, row, i, first[i], end[i], to));
        for (int64_t k = 0; places && k < count; k++)
            ((int64_t *)(void *)to)[k] += i * r->length;
        to += (size_t)count * bytes;
    }
    return IG_OK;
}

static ig_status read_tile(runs *r, bool places, const int64_t *start, const int64_t *size,
                           char *to)
{
    const int64_t all = runs_all(r);
    const size_t bytes = places ? sizeof(int64_t) : (size_t)r->order.bytes;
    int64_t row[IG_MAX_NDIM], rows = 1;
    for (int a = 0; a < r->lead; a++)
        rows *= size[a];
    split *s = memory_get((size_t)all * sizeof *s);
    int64_t *bound = memory_get((size_t)all * 2 * sizeof *bound);
    ig_status status = s && bound ? IG_OK : IG_ERR_MEMORY;
    for (int64_t k = 0; k < rows && status == IG_OK; k++) {
        int64_t at = k;
        for (int a = r->lead - 1; a >= 0; at /= size[a--])
            row[a] = start[a] + at % size[a];
        status = read_ranks(r, places, row, start[r->lead], size[r->lead], s, bound, to);
        to += (size_t)size[r->lead] * bytes;
    }
    memory_free(s);
    memory_free(bound);
    return status;
}

static ig_status read_keys(void *context, const int64_t *start, const int64_t *size, void *data)
{
    return read_tile(context, false, start, size, data);
}

static ig_status read_places(void *context, const int64_t *start, const int64_t *size, void *data)
{
    return read_tile(context, true, start, size, data);
}

/* An array of the root's shape whose blocks have the elements of a block of the root, or their places, in any order. */
static ig_array *array_of(runs *r, const ig_array *root, ig_dtype dtype, bool places)
{
    block_source *s = memory_new(sizeof *s);
    if (!s)
        return NULL;
    *s = (block_source){.refs = 1,
                        .dtype = dtype,
                        .ndim = root->view.ndim,
                        .read = places ? read_places : read_keys,
                        .release = runs_release,
                        .context = r,
                        .scratch = (uint64_t)runs_all(r) *
                                   (sizeof(split) + (2 + KNOWN + SAMPLES) * sizeof(int64_t))};
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    for (int a = 0; a < s->ndim; a++) {
        s->shape[a] = root->view.shape[a];
        s->chunk[a] = 1;
    }
    const node_attr attr = {.source = s};
    ig_array *x = array_node(OP_blocks, dtype, s->ndim, s->shape, NULL, 0, &attr);
    block_source_release(s);
    return x;
}

/* ---- making ---- */

bool sort_fits(const ig_array *root)
{
    const program_kind kind = node_program(root);
    return (kind == PROGRAM_SORT || kind == PROGRAM_ARGSORT) && root->view.ndim < IG_MAX_NDIM &&
           view_size(&root->view) > 0;
}

/* The first elements of sorted rows. A copy: a stage computes roots. */
static ig_array *first_of(ig_array *sorted, int64_t kept)
{
    view v = sorted->view;
    v.shape[v.ndim - 1] = kept;
    ig_array *few = array_view(OP_slice, sorted, &v);
    view *dst = few ? memory_get(sizeof *dst) : NULL;
    if (!dst)
        return NULL;
    view_contiguous(dst, v.ndim, v.shape);
    return build_assemble(OP_assemble, (ig_dtype)sorted->dtype, v.ndim, v.shape, &few, dst, 1);
}

/* The first `kept` elements of sorted rows of x, or their places. Only places are found without sorting whole rows. */
static ig_array *sort_node(op_id op, const ig_array *root, ig_array *x, int64_t kept)
{
    int64_t shape[IG_MAX_NDIM];
    const int last = x->view.ndim - 1;
    const bool few = kept < x->view.shape[last];
    memcpy(shape, x->view.shape, sizeof shape);
    shape[last] = few && op == OP_argsort ? kept : shape[last];
    const node_attr attr = {.descending = root->attr.descending};
    ig_array *y = array_node(op, op == OP_sort ? (ig_dtype)x->dtype : IG_I64, x->view.ndim, shape,
                             &x, 1, &attr);
    return y && few && op == OP_sort ? first_of(y, kept) : y;
}

int sort_runs(const ig_array *root, int64_t length, ig_array *out[2][2])
{
    ig_array *x = root->in[0];
    const int last = x->view.ndim - 1;
    const int64_t n = x->view.shape[last], kept = root->view.shape[last], count = n / length;
    int pieces = 0;
    for (int i = 0; i < 2; i++) {
        view v = x->view;
        v.offset += i ? count * length * v.stride[last] : 0;
        v.shape[last] = i ? n - count * length : count * length;
        if (v.shape[last] == 0)
            continue;
        ig_array *piece = array_view(OP_slice, x, &v);
        if (i == 0) {
            v.shape[last] = count;
            v.shape[last + 1] = length;
            piece = build_reshape(OP_reshape, piece, last + 2, v.shape);
        }
        if (!piece)
            return 0;
        out[pieces][0] = sort_node(OP_sort, root, piece, kept);
        out[pieces][1] = root->op == OP_argsort ? sort_node(OP_argsort, root, piece, kept) : NULL;
        if (!out[pieces][0] || (root->op == OP_argsort && !out[pieces][1]))
            return 0;
        pieces++;
    }
    return pieces;
}

int sort_merged(const ig_array *root, int64_t length, ig_array *const made[2][2], int pieces,
                const ready *done, int n_done, ig_array **out)
{
    const ig_array *x = root->in[0];
    const int last = x->view.ndim - 1;
    const int64_t n = x->view.shape[last], kept = root->view.shape[last];
    runs *r = memory_new(sizeof *r);
    if (!r)
        return 0;
    atomic_init(&r->refs, 1);
    pthread_mutex_init(&r->lock, NULL);
    r->order = sort_order_of((ig_dtype)x->dtype, root->attr.descending);
    r->lead = last;
    r->length = length;
    r->count = n / length;
    r->width = kept < length ? kept : length;
    r->rest = n % length < kept ? n % length : kept;
    r->sampled = -1;
    memcpy(r->shape, root->view.shape, sizeof r->shape);
    memset(r->known_row, -1, sizeof r->known_row);
    r->sample = memory_get((size_t)(runs_all(r) * SAMPLES) * sizeof *r->sample);
    r->known = memory_get((size_t)(runs_all(r) * KNOWN) * sizeof *r->known);
    for (int i = 0; i < pieces; i++)
        for (int k = 0; k < n_done; k++) {
            const int at = r->count == 0 || i == 1; /* the rest */
            if (done[k].root == made[i][0])
                r->keys[at] = block_source_retain(done[k].source);
            else if (made[i][1] && done[k].root == made[i][1])
                r->places[at] = block_source_retain(done[k].source);
        }
    const bool ok = r->sample && r->known;
    out[0] = ok ? array_of(r, root, (ig_dtype)x->dtype, false) : NULL;
    out[1] = ok && root->op == OP_argsort ? array_of(r, root, IG_I64, true) : NULL;
    runs_release(r);
    return !out[0] ? 0 : root->op == OP_sort ? 1 : out[1] ? 2 : 0;
}

ig_array *sort_build(const stage *s, ig_array *const *ends)
{
    const ig_array *root = s->root[0];
    if (!ends[0])
        return NULL;
    if (root->op == OP_sort)
        return sort_node(OP_sort, root, ends[0], INT64_MAX);
    ig_array *order = sort_node(OP_argsort, root, ends[0], INT64_MAX);
    return order && ends[1] ? ig_take_along_axis(ends[1], order, -1) : NULL;
}
