/* Picks: reads of a source at few known places, such as x[[0, 5, 7], :2]. A read needs any element of its axis, so a stage
 * would read all of the source. A pick is a source itself: each of its blocks reads only the chunks that have its places. */
#include "engine/blocks/blocks.h"

#include "base/error.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

enum {
    SHARE = 2, /* places whose chunks may take more than this part of the axis are not picked */
    SLAB_BYTES = 1 << 20, /* read at a time, if a chunk is not larger */
    SLAB_SHARE = 8        /* of the limit, which a slab does not exceed either */
};

/* Where an element of the index lies in the result, and the place that it names. */
typedef struct place {
    int64_t at, to;
} place;

typedef struct picks {
    block_source *from;
    ig_array *index; /* of all axes of the result; evaluated, in host memory */
    int64_t length;  /* of the axis that is read */
    int ndim;        /* of the result */
    /* The view of the source: the axes of the result, where axes of the index have length 1, and the axis that is read. */
    ig_array *seen;
    edge e;
    int axis; /* of the result, that is cut into slabs; ndim: none */
    int64_t slab;
} picks;

static bool is_of_index(const picks *p, int axis) { return p->seen->view.shape[axis] == 1; }

/* The element of the index at a place of the result, counted from the start of the axis; -1 if it is out of bounds. */
static int64_t index_at(const picks *p, const int64_t *at)
{
    const view *v = &p->index->view;
    const int64_t *data = p->index->root->data->data;
    int64_t from = v->offset;
    for (int a = 0; a < p->ndim; a++)
        from += at[a] * v->stride[a];
    const int64_t i = data[from] < 0 ? data[from] + p->length : data[from];
    return i < p->length ? i : -1;
}

static int compare(const void *a, const void *b)
{
    const place *x = a, *y = b;
    return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->to > y->to) - (x->to < y->to);
}

/* Lists the places of a box in the order of the source; NULL on failure. */
static place *list_places(const picks *p, const box *b, int64_t *n)
{
    int64_t at[IG_MAX_NDIM], stride[IG_MAX_NDIM];
    box_strides_of(b, p->ndim, stride);
    *n = 1;
    for (int a = 0; a < p->ndim; a++) {
        at[a] = b->lo[a];
        *n *= is_of_index(p, a) ? b->hi[a] - b->lo[a] : 1;
    }
    place *list = memory_get((size_t)(*n + 1) * sizeof *list);
    for (int64_t i = 0; list && i < *n; i++) {
        list[i] = (place){index_at(p, at), 0};
        for (int a = 0; a < p->ndim; a++)
            list[i].to += (at[a] - b->lo[a]) * stride[a];
        for (int a = p->ndim - 1; a >= 0; a--) {
            if (!is_of_index(p, a))
                continue;
            if (++at[a] < b->hi[a])
                break;
            at[a] = b->lo[a];
        }
    }
    if (list)
        qsort(list, (size_t)*n, sizeof *list, compare);
    return list;
}

/* The part of the source that the places [first, last] of the axis need, for a box of the result. */
static box source_box(const picks *p, const box *b, int64_t first, int64_t last)
{
    box part = *b;
    for (int a = 0; a < p->ndim; a++)
        if (is_of_index(p, a))
            part.lo[a] = 0, part.hi[a] = 1;
    part.lo[p->ndim] = first;
    part.hi[p->ndim] = last + 1;
    part = edge_box(&p->e, &part);
    if (p->from->pairs) { /* they are read together */
        part.lo[p->from->ndim - 1] = 0;
        part.hi[p->from->ndim - 1] = 2;
    }
    return part;
}

/* Copies the elements of one place, for the part b of a block, from a box of the source to the block. */
static void copy_place(const picks *p, const box *block, const box *b, const place *at,
                       const box *have, const char *from, char *to)
{
    const size_t bytes = ig_dtype_bytes(p->from->dtype);
    int64_t have_stride[IG_MAX_NDIM], stride[IG_MAX_NDIM], index[IG_MAX_NDIM] = {0}, n = 1;
    int64_t by[IG_MAX_NDIM] = {0}, first = 0, start = at->to;
    box_strides_of(have, p->from->ndim, have_stride);
    box_strides_of(block, p->ndim, stride);
    for (int j = 0; j < p->from->ndim; j++)
        first += (p->e.at[j] - have->lo[j]) * have_stride[j];
    const int along = p->e.axis[p->ndim];
    first += along < 0 ? 0 : at->at * p->e.by[p->ndim] * have_stride[along];
    for (int a = 0; a < p->ndim; a++) {
        if (is_of_index(p, a))
            continue;
        by[a] = p->e.axis[a] < 0 ? 0 : p->e.by[a] * have_stride[p->e.axis[a]];
        first += b->lo[a] * by[a];
        start += (b->lo[a] - block->lo[a]) * stride[a];
        n *= b->hi[a] - b->lo[a];
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t x = first, y = start;
        for (int a = 0; a < p->ndim; a++) {
            x += index[a] * by[a];
            y += index[a] * stride[a];
        }
        memcpy(to + (size_t)y * bytes, from + (size_t)x * bytes, bytes);
        for (int a = p->ndim - 1; a >= 0; a--) {
            if (is_of_index(p, a))
                continue;
            if (++index[a] < b->hi[a] - b->lo[a])
                break;
            index[a] = 0;
        }
    }
}

/* The number of places from the first on that lie in the same chunk. */
static int64_t places_together(const picks *p, const place *list, int64_t n)
{
    const int j = p->e.axis[p->ndim];
    const int64_t by = j < 0 ? 0 : p->e.by[p->ndim], chunk = j < 0 ? 1 : p->from->chunk[j];
    const int64_t first = j < 0 ? 0 : (p->e.at[j] + list[0].at * by) / chunk;
    int64_t k = 1;
    while (k < n && (list[k].at == list[0].at ||
                     (j >= 0 && (p->e.at[j] + list[k].at * by) / chunk == first)))
        k++;
    return k;
}

/* Reads the part b of a block, with one buffer for the places in a chunk. */
static ig_status read_slab(const picks *p, const box *block, const box *b, const place *list,
                           int64_t n, char *to)
{
    for (int64_t i = 0, k; i < n; i += k) {
        k = places_together(p, list + i, n - i);
        const box have = source_box(p, b, list[i].at, list[i + k - 1].at);
        const int64_t size = box_size(&have, p->from->ndim);
        char *data = memory_get((size_t)size * ig_dtype_bytes(p->from->dtype) + 1);
        const ig_status status = data ? block_read(p->from, &have, data) : IG_ERR_MEMORY;
        for (int64_t m = i; m < i + k && status == IG_OK; m++)
            copy_place(p, block, b, &list[m], &have, data, to);
        memory_free(data);
        TRY(status);
    }
    return IG_OK;
}

static ig_status read_picks(void *context, const int64_t *start, const int64_t *size, void *to)
{
    const picks *p = context;
    box block;
    int64_t n;
    for (int a = 0; a < p->ndim; a++)
        block.hi[a] = (block.lo[a] = start[a]) + size[a];
    place *list = list_places(p, &block, &n);
    ig_status status = list ? IG_OK : IG_ERR_MEMORY;
    const int axis = p->axis;
    if (axis == p->ndim && list)
        status = read_slab(p, &block, &block, list, n, to);
    for (int64_t at = start[axis % p->ndim];
         axis < p->ndim && at < block.hi[axis] && status == IG_OK; at += p->slab) {
        box b = block;
        b.lo[axis] = at;
        b.hi[axis] = at + p->slab < b.hi[axis] ? at + p->slab : b.hi[axis];
        status = read_slab(p, &block, &b, list, n, to);
    }
    memory_free(list);
    return status;
}

static void release_picks(void *context)
{
    picks *p = context;
    block_source_release(p->from);
    ig_release(p->index);
    ig_release(p->seen);
    memory_free(p);
}

/* ---- making ---- */

/* True if every element of the index is in bounds: others get the message of an ordinary read. */
static bool are_in_bounds(const picks *p)
{
    const view *v = &p->index->view;
    int64_t at[IG_MAX_NDIM] = {0};
    for (bool more = true; more;) {
        if (index_at(p, at) < 0)
            return false;
        more = false;
        for (int a = v->ndim - 1; a >= 0 && !more; a--) {
            more = v->stride[a] && ++at[a] < v->shape[a];
            at[a] = more ? at[a] : 0;
        }
    }
    return true;
}

/* True if the root is read at few places of a source, along axes that are not the source's. */
static bool may_pick(const ig_array *root)
{
    const ig_array *x = root->in[1]->root, *index = root->in[0];
    int64_t places = 1;
    if (root->op != OP_read || root->data || x->op != OP_blocks || x->n_in || x->data ||
        view_size(&root->view) == 0 || root->view.ndim == IG_MAX_NDIM)
        return false;
    for (int a = 0; a < root->view.ndim; a++) {
        if (index->view.stride[a] && root->in[1]->view.stride[a] && root->view.shape[a] > 1)
            return false;
        places *= index->view.stride[a] ? root->view.shape[a] : 1;
    }
    int64_t chunk = 1;
    for (int j = 0; j < x->view.ndim; j++)
        if (root->attr.axis_stride % x->view.stride[j] == 0) {
            chunk = x->attr.source->chunk[j];
            break;
        }
    return places <= root->attr.axis_len / SHARE / chunk;
}

/* Evaluates the index if that needs no source. True if its elements can be read. */
static bool has_index(ig_array *index)
{
    if (!index->root->data &&
        (ig_reads_blocks(index) || engine_eval(&block_context, &index, 1, NULL, 0) != IG_OK)) {
        ig_error(NULL); /* the read will fail, too */
        return false;
    }
    const buffer *b = index->root->data;
    return b && !b->device && !b->fetched;
}

/* Chooses slabs of the first axis that is the source's, and returns the bytes of one. */
static uint64_t choose_slab(picks *p, const view *v, uint64_t limit)
{
    const uint64_t most = limit / SLAB_SHARE < SLAB_BYTES ? limit / SLAB_SHARE : SLAB_BYTES;
    const int j = p->e.axis[p->ndim];
    uint64_t bytes = ig_dtype_bytes(p->from->dtype) * (p->from->pairs ? 2 : 1) *
                     (uint64_t)(j < 0 ? 1 : p->from->chunk[j]);
    p->axis = p->ndim;
    for (int a = 0; a < p->ndim; a++) {
        if (is_of_index(p, a))
            continue;
        if (p->axis == p->ndim)
            p->axis = a;
        else
            bytes *= (uint64_t)v->shape[a];
    }
    if (p->axis == p->ndim)
        return bytes;
    const int64_t chunk = p->e.axis[p->axis] < 0 ? 1 : p->from->chunk[p->e.axis[p->axis]];
    const int64_t fit = (int64_t)(most / bytes), all = v->shape[p->axis];
    p->slab = fit < all ? fit / chunk * chunk : (all + chunk - 1) / chunk * chunk;
    p->slab = p->slab > chunk ? p->slab : chunk;
    return bytes * (uint64_t)p->slab;
}

/* The source of a read; NULL if it is not a pick. */
static block_source *pick_make(const ig_array *root, uint64_t limit)
{
    if (!may_pick(root) || !has_index(root->in[0]))
        return NULL;
    block_source *s = memory_new(sizeof *s);
    picks *p = s ? memory_new(sizeof *p) : NULL;
    ig_array *seen = p ? table_seen(root) : NULL;
    if (!seen) {
        memory_free(s);
        memory_free(p);
        return NULL;
    }
    const ig_array *x = root->in[1]->root;
    *p = (picks){.from = block_source_retain(x->attr.source),
                 .index = ig_retain(root->in[0]),
                 .length = root->attr.axis_len,
                 .ndim = root->view.ndim,
                 .seen = ig_retain(seen)};
    *s = (block_source){.refs = 1,
                        .dtype = p->from->dtype,
                        .ndim = p->ndim,
                        .concurrent = p->from->concurrent,
                        .read = read_picks,
                        .release = release_picks,
                        .context = p};
    p->e = (edge){.in = seen, .kind = EDGE_AXES};
    const bool fits = edge_by_axes(&p->e, &seen->view, &x->view) && are_in_bounds(p);
    for (int a = 0; a < p->ndim; a++) {
        s->shape[a] = root->view.shape[a];
        s->chunk[a] = 1;
    }
    const uint64_t places = (uint64_t)view_size(&root->view); /* at most */
    s->scratch = p->from->scratch + choose_slab(p, &root->view, limit) + places * sizeof(place);
    if (fits)
        return s;
    block_source_release(s);
    return NULL;
}

const block_source *picks_from(const block_source *s)
{
    return s && s->read == read_picks ? ((const picks *)s->context)->from : s;
}

ig_status picks_add(block_plan *p)
{
    steps w;
    TRY(steps_make(&w, p->root, p->n_root, 0, p->done, p->n_done));
    ig_status status = IG_OK;
    for (int i = 0; i < w.n && status == IG_OK; i++) {
        const step *s = &w.step[i];
        block_source *pick = s->kind == STEP_READ ? pick_make(s->root, p->limit) : NULL;
        if (!pick)
            continue;
        if (memory_room(&p->done, p->n_done, &p->room_done, sizeof *p->done)) {
            p->done[p->n_done++] = (ready){.root = s->root, .source = pick, .is_pick = true};
        } else {
            block_source_release(pick);
            status = IG_ERR_MEMORY;
        }
    }
    steps_free(&w);
    return status;
}
