/* The steps of a stage: which nodes it computes, and which blocks of them a block of the result needs. */
#include "engine/blocks/blocks.h"

#include "base/error.h"
#include "base/memory.h"
#include <string.h>

#define REPEATS_MOST 1.5 /* how often a stage may compute an element of a costly step */

/* ---- boxes ---- */

static void box_add(box *b, const box *more, int ndim)
{
    for (int i = 0; i < ndim; i++) {
        b->lo[i] = more->lo[i] < b->lo[i] ? more->lo[i] : b->lo[i];
        b->hi[i] = more->hi[i] > b->hi[i] ? more->hi[i] : b->hi[i];
    }
}

/* Makes a box contiguous: after the first axis with more than one index, all axes are whole. */
static void box_make_linear(box *b, const view *root)
{
    int i = 0;
    while (i < root->ndim && b->hi[i] - b->lo[i] == 1)
        i++;
    for (i++; i < root->ndim; i++) {
        b->lo[i] = 0;
        b->hi[i] = root->shape[i];
    }
}

/* ---- edges ---- */

/* The axis of a root along which a step of `stride` elements, n - 1 times, stays; -1 if there is none. */
static int axis_along(const view *root, int64_t stride, int64_t n)
{
    const int64_t far = stride < 0 ? -stride : stride;
    for (int j = 0; j < root->ndim; j++)
        if (root->shape[j] > 1 && far >= root->stride[j] && far % root->stride[j] == 0 &&
            far / root->stride[j] * (n - 1) < root->shape[j])
            return j;
    return -1;
}

bool edge_by_axes(edge *e, const view *v, const view *root)
{
    int64_t least[IG_MAX_NDIM], most[IG_MAX_NDIM];
    if (view_size(v) == 0 || view_size(root) == 0) /* steps of 0 cover an empty root */
        return false;
    for (int j = 0; j < root->ndim; j++)
        e->at[j] = least[j] = most[j] = v->offset / root->stride[j] % root->shape[j];
    for (int i = 0; i < v->ndim; i++) {
        const bool moves = v->shape[i] > 1 && v->stride[i] != 0;
        const int j = moves ? axis_along(root, v->stride[i], v->shape[i]) : -1;
        e->axis[i] = (int8_t)j;
        e->by[i] = j < 0 ? 0 : v->stride[i] / root->stride[j];
        if (moves && j < 0)
            return false;
        if (j >= 0)
            *(e->by[i] < 0 ? &least[j] : &most[j]) += e->by[i] * (v->shape[i] - 1);
    }
    for (int j = 0; j < root->ndim; j++)
        if (least[j] < 0 || most[j] >= root->shape[j])
            return false;
    return true;
}

static void edge_set(const steps *w, edge *e, ig_array *in, int from, bool whole)
{
    *e = (edge){.in = in, .from = from};
    whole = whole || (from >= 0 && w->step[from].kind == STEP_READY);
    e->kind = from < 0                                                                ? EDGE_LEAF
              : whole || view_size(&in->view) == 0 || view_size(&in->root->view) == 0 ? EDGE_WHOLE
              : edge_by_axes(e, &in->view, &in->root->view)                           ? EDGE_AXES
                                                                                      : EDGE_LINEAR;
}

box edge_box(const edge *e, const box *b)
{
    const view *v = &e->in->view, *root = &e->in->root->view;
    box out = box_whole(root->ndim, root->shape);
    if (e->kind == EDGE_AXES) {
        for (int j = 0; j < root->ndim; j++)
            out.hi[j] = (out.lo[j] = e->at[j]) + 1;
        for (int i = 0; i < v->ndim; i++) {
            if (e->axis[i] < 0)
                continue;
            const int j = e->axis[i];
            const int64_t first = e->by[i] * b->lo[i], last = e->by[i] * (b->hi[i] - 1);
            out.lo[j] += first < last ? first : last;
            out.hi[j] += first < last ? last : first;
        }
    } else if (e->kind == EDGE_LINEAR) {
        int64_t low = v->offset, high = v->offset;
        for (int i = 0; i < v->ndim; i++) {
            const int64_t first = v->stride[i] * b->lo[i], last = v->stride[i] * (b->hi[i] - 1);
            low += first < last ? first : last;
            high += first < last ? last : first;
        }
        box_of_range(root->shape, 0, root->ndim, low, high + 1, &out);
    }
    return out;
}

/* ---- making ---- */

static step_kind kind_of(const ig_array *x)
{
    switch (x->op) {
    case OP_blocks: return x->n_in ? STEP_CALL : STEP_SOURCE;
    case OP_iota: return STEP_IOTA;
    case OP_bits: /* the bits of threefry, whose keys have two words, depend on the number of elements */
        return view_size(&x->in[0]->view) == 2 ? STEP_WHOLE : STEP_BITS;
    case OP_read: return x->view.ndim < IG_MAX_NDIM ? STEP_READ : STEP_WHOLE;
    case OP_assemble: return STEP_ASSEMBLE;
    case OP_kernel: return node_cut_of(x).free > 0 ? STEP_STACK : STEP_WHOLE;
    default: break;
    }
    switch (node_program(x)) {
    case PROGRAM_REDUCE:
    case PROGRAM_ARGREDUCE: return STEP_REDUCE;
    case PROGRAM_SCAN:
    case PROGRAM_SORT:
    case PROGRAM_ARGSORT: return STEP_ROWS;
    case PROGRAM_SEARCH: return STEP_SEARCH;
    case PROGRAM_CONTRACT: return STEP_CONTRACT;
    case PROGRAM_MAP: break;
    default: return STEP_WHOLE;
    }
    for (int i = 0; i < x->n_in; i++)
        if (x->in[i]->view.ndim && !view_same_shape(&x->in[i]->view, &x->view))
            return STEP_WHOLE;
    return STEP_MAP;
}

/* The places of an assembly's inputs in its result; false if they are not blocks of it. */
static bool place_inputs(step *s)
{
    const ig_array *x = s->root;
    for (int i = 0; i < x->n_in; i++) {
        unsigned seen = 0;
        edge *e = &s->place[i];
        if (!edge_by_axes(e, &x->attr.dst[i], &x->view))
            return view_size(&x->attr.dst[i]) == 0 && i == 0 && x->n_in == 1;
        for (int a = 0; a < x->attr.dst[i].ndim; a++) {
            if (e->axis[a] < 0)
                continue;
            if (e->by[a] < 0 || (seen >> e->axis[a] & 1))
                return false;
            seen |= 1u << e->axis[a];
        }
    }
    return true;
}

static int find_ready(const ready *done, int n, const ig_array *root)
{
    for (int i = 0; i < n; i++)
        if (done[i].root == root)
            return i;
    return -1;
}

/* How an edge sees a root, for steps that are split: as an input of a step that is itself seen in some way, through a view. */
typedef struct sight {
    int from, input;
    const view *v;
} sight;

enum { SIGHTS_MOST = 16 };

/* The state of steps_make. */
typedef struct maker {
    steps *w;
    const ready *done;
    int n_done;
    bool split;
    sight seen[SIGHTS_MOST]; /* 0: the root as a whole, or in several ways */
    int n_seen;
    int *slot; /* a hash table from roots and sights to steps */
    size_t slots;
} maker;

/* True if computing a part of a root twice is little work. */
static bool is_light(const maker *m, const ig_array *root)
{
    const int known = find_ready(m->done, m->n_done, root);
    if (known >= 0)
        return m->done[known].source;
    if (root->data)
        return false;
    const step_kind kind = kind_of(root);
    return kind == STEP_SOURCE || kind == STEP_MAP || kind == STEP_IOTA || kind == STEP_BITS ||
           (kind == STEP_ASSEMBLE && !root->attr.apart);
}

static int sight_of(maker *m, int from, int input, const ig_array *x)
{
    if (!m->split || !is_light(m, x->root))
        return 0;
    if (input == 0 && view_equal(&x->view, &x->root->view))
        return from;
    for (int i = 1; i < m->n_seen; i++)
        if (m->seen[i].from == from && m->seen[i].input == input &&
            view_equal(m->seen[i].v, &x->view))
            return i;
    if (m->n_seen == SIGHTS_MOST)
        return from;
    m->seen[m->n_seen] = (sight){from, input, &x->view};
    return m->n_seen++;
}

/* Numbers the inputs of which a block needs different blocks, even if they are one array. */
static int input_number(const ig_array *root, int i)
{
    const step_kind kind = kind_of(root);
    return kind == STEP_CONTRACT || kind == STEP_ASSEMBLE || kind == STEP_SEARCH ||
                   kind == STEP_READ
               ? i
               : 0;
}

static size_t place_of(const maker *m, const ig_array *root, int seen)
{
    size_t h = (((uintptr_t)root >> 4) + (size_t)seen) * 0x9e3779b97f4a7c15u >> 20;
    for (int at; (at = m->slot[h % m->slots]) >= 0; h++)
        if (m->w->step[at].root == root && m->w->step[at].sight == seen)
            break;
    return h % m->slots;
}

static bool slots_grow(maker *m)
{
    const steps *w = m->w;
    if ((size_t)w->n * 2 + 2 <= m->slots)
        return true;
    const size_t slots = (size_t)w->n * 4 + 64;
    int *more = memory_get(slots * sizeof *more);
    if (!more)
        return false;
    memory_free(m->slot);
    m->slot = more;
    m->slots = slots;
    memset(more, -1, slots * sizeof *more);
    for (int i = 0; i < w->n; i++)
        more[place_of(m, w->step[i].root, w->step[i].sight)] = i;
    return true;
}

/* The step of x's root, an input of a step or an end; -1 if there is none. */
static int step_of(maker *m, int from, int input, const ig_array *x)
{
    return m->slot[place_of(m, x->root, sight_of(m, from, input, x))];
}

static ig_status step_make(maker *m, ig_array *root, int seen)
{
    steps *w = m->w;
    const int known = find_ready(m->done, m->n_done, root);
    if (!memory_room(&w->step, w->n, &w->room, sizeof *w->step))
        return IG_ERR_MEMORY;
    step *s = &w->step[w->n];
    *s = (step){.root = root,
                .sight = seen,
                .kind = known < 0               ? kind_of(root)
                        : m->done[known].source ? STEP_SOURCE
                                                : STEP_READY};
    if (s->kind == STEP_SOURCE) {
        s->source = known >= 0 ? m->done[known].source : root->attr.source;
    } else if (s->kind == STEP_READY) {
        s->n_in = 0;
    } else if (root->n_in) {
        s->source = root->attr.source;
        s->n_in = root->n_in;
        const size_t edges = (size_t)root->n_in * (s->kind == STEP_ASSEMBLE ? 2 : 1);
        if (!(s->in = memory_new(edges * sizeof *s->in)))
            return IG_ERR_MEMORY;
        s->place = s->in + root->n_in;
    }
    if (s->kind == STEP_ASSEMBLE && !place_inputs(s))
        s->kind = STEP_WHOLE;
    s->cut_by =
        s->kind == STEP_WHOLE || s->kind == STEP_READY ? node_cut_whole() : node_cut_of(root);
    if (s->kind == STEP_SOURCE) /* whatever computed its elements */
        s->cut_by.free = root->view.ndim;
    for (int i = 0; i < s->n_in; i++) {
        ig_array *in = s->kind == STEP_READ && i == 1 ? table_seen(root) : root->in[i];
        if (!in)
            return error_waiting(IG_ERR_MEMORY);
        edge_set(w, &s->in[i], in, step_of(m, seen, input_number(root, i), root->in[i]),
                 s->kind == STEP_WHOLE);
    }
    m->slot[place_of(m, root, seen)] = w->n++;
    return slots_grow(m) ? IG_OK : IG_ERR_MEMORY;
}

/* Adds the steps of a root that is seen in some way, inputs first. */
static ig_status add_steps(maker *m, ig_array *first, int seen)
{
    typedef struct visit {
        ig_array *at;
        int seen, next;
    } visit;
    visit *stack = NULL;
    int used = 0, room = 0;
    ig_status status = IG_OK;
    if (!memory_room(&stack, used, &room, sizeof *stack))
        return IG_ERR_MEMORY;
    stack[used++] = (visit){first, seen, 0};
    while (used && status == IG_OK) {
        visit *v = &stack[used - 1];
        ig_array *root = v->at;
        const bool known = find_ready(m->done, m->n_done, root) >= 0;
        const bool listed = (root->data && !known) || m->slot[place_of(m, root, v->seen)] >= 0;
        const bool ends = known || v->next == root->n_in;
        if (listed) {
            used--;
        } else if (ends) {
            used--;
            status = step_make(m, root, v->seen);
        } else {
            ig_array *in = root->in[v->next];
            const int how = sight_of(m, v->seen, input_number(root, v->next), in);
            v->next++;
            if (memory_room(&stack, used, &room, sizeof *stack))
                stack[used++] = (visit){in->root, how, 0};
            else
                status = IG_ERR_MEMORY;
        }
    }
    memory_free(stack);
    return status;
}

ig_status steps_make(steps *w, ig_array *const *ends, int n, unsigned how, const ready *done,
                     int n_done)
{
    *w = (steps){.end = memory_new((size_t)n * sizeof *w->end), .are_inputs = how & STEPS_INPUTS};
    maker m = {.w = w, .done = done, .n_done = n_done, .split = how & STEPS_SPLIT, .n_seen = 1};
    ig_status status = w->end && slots_grow(&m) ? IG_OK : IG_ERR_MEMORY;
    for (int i = 0; i < n && status == IG_OK; i++) {
        const int input = w->are_inputs ? i : 0;
        status = add_steps(&m, ends[i]->root, sight_of(&m, 0, input, ends[i]));
        const int from = status == IG_OK ? step_of(&m, 0, input, ends[i]) : -1;
        if (from >= 0)
            w->step[from].is_end = true;
        if (status == IG_OK)
            edge_set(w, &w->end[w->n_end++], ends[i], from, false);
    }
    memory_free(m.slot);
    if (status != IG_OK)
        steps_free(w);
    return status;
}

bool steps_are_split(const steps *w)
{
    for (int i = 0; i < w->n; i++)
        for (int k = 0; k < i && w->step[i].kind == STEP_SOURCE && w->step[i].sight; k++)
            if (w->step[k].root == w->step[i].root)
                return true;
    return false;
}

void steps_free(steps *w)
{
    for (int i = 0; i < w->n; i++)
        memory_free(w->step[i].in);
    memory_free(w->step);
    memory_free(w->end);
    *w = (steps){0};
}

/* ---- demand ---- */

/* The block of an assembly's input that lies in a block of the result; false if there is none. */
static bool box_of_part(const step *s, int i, const box *b, box *out)
{
    const edge *p = &s->place[i];
    const view *v = &s->root->attr.dst[i];
    bool along[IG_MAX_NDIM] = {false};
    if (view_size(v) == 0)
        return false;
    for (int a = 0; a < v->ndim; a++) {
        out->lo[a] = 0;
        out->hi[a] = v->shape[a];
        const int j = p->axis[a];
        if (j < 0)
            continue;
        along[j] = true;
        const int64_t by = p->by[a], from = b->lo[j] - p->at[j], to = b->hi[j] - p->at[j];
        const int64_t lo = from > 0 ? (from + by - 1) / by : 0,
                      hi = to > 0 ? (to + by - 1) / by : 0;
        out->lo[a] = lo;
        out->hi[a] = hi < v->shape[a] ? hi : v->shape[a];
        if (out->lo[a] >= out->hi[a])
            return false;
    }
    for (int j = 0; j < s->root->view.ndim; j++)
        if (!along[j] && (p->at[j] < b->lo[j] || p->at[j] >= b->hi[j]))
            return false;
    return true;
}

/* The block of input i, a view, that a block of the step needs; false if none. */
static bool input_box(const step *s, int i, const box *b, box *out)
{
    if (s->kind == STEP_ASSEMBLE)
        return box_of_part(s, i, b, out);
    *out = s->kind == STEP_CALL ? map_input(s, i, b)
                                : node_cut_box(&s->cut_by, i, b, &s->in[i].in->view);
    return true;
}

static void want(steps *w, const edge *e, const box *b)
{
    if (e->from < 0)
        return;
    step *s = &w->step[e->from];
    const box more = edge_box(e, b);
    if (s->wanted)
        box_add(&s->want, &more, s->root->view.ndim);
    else
        s->want = more;
    s->wanted = true;
    s->linear = s->linear || e->kind == EDGE_LINEAR;
}

/* Widens the block of a step to one that it can compute. */
static void widen(step *s)
{
    const view *v = &s->root->view;
    for (int i = s->cut_by.free; i < v->ndim; i++) { /* whole rows, or matrices */
        s->want.lo[i] = 0;
        s->want.hi[i] = v->shape[i];
    }
    s->asked = 1;
    for (int i = 0; s->source && i < v->ndim; i++) {
        const int64_t chunk = s->source->chunk[i];
        s->asked *= s->want.hi[i] - s->want.lo[i];
        s->want.lo[i] = s->want.lo[i] / chunk * chunk;
        const int64_t end = (s->want.hi[i] + chunk - 1) / chunk * chunk;
        s->want.hi[i] = end < v->shape[i] ? end : v->shape[i];
    }
    if (s->linear || s->kind == STEP_BITS)
        box_make_linear(&s->want, v);
}

static bool is_apart(const step *s) { return s->kind == STEP_ASSEMBLE && s->root->attr.apart; }

/* True if computing the step's block again for every block of the stage would be much work. */
static bool repeats(const steps *w, const step *s, double blocks)
{
    const view *v = &s->root->view;
    const bool heavy = s->kind == STEP_REDUCE || s->kind == STEP_ROWS || s->kind == STEP_SEARCH ||
                       s->kind == STEP_CONTRACT || s->kind == STEP_STACK || s->kind == STEP_WHOLE ||
                       s->kind == STEP_CALL || is_apart(s) ||
                       (blocks == 0 && s->kind == STEP_READ && s->in[1].from >= 0);
    const bool whole = box_size(&s->want, v->ndim) == view_size(v) && blocks > 1;
    return heavy && (!s->is_end || w->are_inputs) &&
           (blocks == 0 || whole || is_apart(s) ||
            blocks * (double)box_size(&s->want, v->ndim) > REPEATS_MOST * (double)view_size(v));
}

void steps_demand(steps *w, const box *wanted, double blocks)
{
    for (int i = 0; i < w->n; i++)
        w->step[i].wanted = w->step[i].linear = false;
    for (int i = 0; i < w->n_end; i++)
        want(w, &w->end[i], &wanted[i]);
    for (int k = w->n - 1; k >= 0; k--) {
        step *s = &w->step[k];
        if (!s->wanted)
            continue;
        widen(s);
        if (blocks >= 0)
            s->cut = s->cut || repeats(w, s, blocks);
        for (int i = 0; i < s->n_in && !(s->cut && blocks >= 0); i++) {
            box b;
            if (input_box(s, i, &s->want, &b))
                want(w, &s->in[i], &b);
        }
    }
}

/* ---- building ---- */

/* The linear index, in a root, of the first element of a block. */
static int64_t box_start(const box *b, const view *root)
{
    int64_t at = 0;
    for (int i = 0; i < root->ndim; i++)
        at += b->lo[i] * root->stride[i];
    return at;
}

/* A block of the view e->in, as a view of the block that its step has made. */
static ig_array *see(const steps *w, const edge *e, const box *b)
{
    view v = e->in->view;
    box_shape(b, v.ndim, v.shape);
    ig_array *base = e->from >= 0 ? w->step[e->from].made
                     : w->leaf    ? w->leaf(w->context, e->in->root)
                                  : e->in->root;
    if (!base)
        return NULL;
    if (e->kind == EDGE_AXES) {
        const box *want = &w->step[e->from].want;
        v.offset = 0;
        for (int j = 0; j < base->view.ndim; j++)
            v.offset += (e->at[j] - want->lo[j]) * base->view.stride[j];
        for (int i = 0; i < v.ndim; i++)
            v.stride[i] = e->axis[i] < 0 ? 0 : e->by[i] * base->view.stride[e->axis[i]];
    } else if (e->kind == EDGE_LINEAR) {
        v.offset -= box_start(&w->step[e->from].want, &e->in->root->view);
    }
    for (int i = 0; i < v.ndim; i++)
        v.offset += b->lo[i] * v.stride[i];
    if (view_same_shape(&v, &base->view) && view_is_contiguous(&v) && v.offset == base->view.offset)
        return base;
    return array_view(OP_slice, base, &v);
}

/* Linear indices of a block, as i64. */
static ig_array *indices(const step *s)
{
    const view *v = &s->root->view;
    int64_t shape[IG_MAX_NDIM];
    box_shape(&s->want, v->ndim, shape);
    box linear = s->want;
    box_make_linear(&linear, v);
    if (box_size(&linear, v->ndim) == box_size(&s->want, v->ndim))
        return ig_add(build_iota(v->ndim, shape), build_scalar_int(box_start(&s->want, v), IG_I64));
    ig_array *sum = build_scalar_int(box_start(&s->want, v), IG_I64);
    for (int i = 0; i < v->ndim; i++) {
        int64_t one[IG_MAX_NDIM];
        for (int k = 0; k < v->ndim; k++)
            one[k] = k == i ? shape[i] : 1;
        ig_array *along = build_reshape(OP_reshape, build_iota(1, &shape[i]), v->ndim, one);
        sum = ig_add(sum, ig_multiply(along, build_scalar_int(v->stride[i], IG_I64)));
    }
    return sum;
}

static ig_array *build_parts(const steps *w, const step *s)
{
    const ig_array *x = s->root;
    view whole;
    int64_t shape[IG_MAX_NDIM];
    box_shape(&s->want, x->view.ndim, shape);
    view_contiguous(&whole, x->view.ndim, shape);
    view *dst = memory_get((size_t)s->n_in * sizeof *dst);
    ig_array **in = memory_get((size_t)s->n_in * sizeof *in);
    bool ok = dst && in;
    int n = 0;
    for (int i = 0; i < s->n_in && ok; i++) {
        box b;
        if (!box_of_part(s, i, &s->want, &b))
            continue;
        const edge *p = &s->place[i];
        view *v = &dst[n];
        *v = x->attr.dst[i];
        box_shape(&b, v->ndim, v->shape);
        v->offset = 0;
        for (int j = 0; j < whole.ndim; j++)
            v->offset += (p->at[j] - s->want.lo[j]) * whole.stride[j];
        for (int a = 0; a < v->ndim; a++) {
            v->stride[a] = p->axis[a] < 0 ? 0 : p->by[a] * whole.stride[p->axis[a]];
            v->offset += b.lo[a] * v->stride[a];
        }
        ok = (in[n++] = see(w, &s->in[i], &b)) != NULL;
    }
    ig_array *y = NULL;
    if (ok) {
        const node_attr attr = {.dst = dst, .copy = x->attr.copy};
        y = array_node(OP_assemble, (ig_dtype)x->dtype, whole.ndim, shape, in, n, &attr);
    } else {
        memory_free(dst);
    }
    memory_free(in);
    return y;
}

bool steps_inputs(const steps *w, int k, ig_array **in)
{
    const step *s = &w->step[k];
    for (int i = 0; i < s->n_in; i++) {
        box b;
        input_box(s, i, &s->want, &b);
        if (!(in[i] = see(w, &s->in[i], &b)))
            return false;
    }
    return true;
}

/* The result of a kernel for a part of its stacks. */
static ig_array *build_stack(const ig_array *x, ig_array *const *in)
{
    ig_array *y = x->attr.kernel->batched(x->attr.kernel, (int)x->attr.result, in);
    return y ? y->root : NULL;
}

static ig_array *build_step(const steps *w, int k)
{
    const step *s = &w->step[k];
    const ig_array *x = s->root;
    ig_array *few[INPUTS_FEW], **in = few;
    if (s->kind == STEP_IOTA)
        return indices(s);
    if (s->kind == STEP_ASSEMBLE)
        return build_parts(w, s);
    if (s->n_in > INPUTS_FEW && !(in = memory_get((size_t)s->n_in * sizeof *in)))
        return NULL;
    bool ok = steps_inputs(w, k, in);
    node_attr attr = x->attr;
    int64_t shape[IG_MAX_NDIM];
    box_shape(&s->want, x->view.ndim, shape);
    if (s->kind == STEP_BITS)
        attr.first_index += box_start(&s->want, &x->view);
    const int n_dst = !attr.dst ? 0 : x->op == OP_assemble ? x->n_in : 1;
    if (ok && n_dst) { /* the node is built as a whole */
        view *dst = memory_get((size_t)n_dst * sizeof *dst);
        if (dst)
            memcpy(dst, x->attr.dst, (size_t)n_dst * sizeof *dst);
        ok = (attr.dst = dst) != NULL;
    }
    ig_array *y = !ok                     ? NULL
                  : s->kind == STEP_CALL  ? map_run(s, in)
                  : s->kind == STEP_READ  ? table_pick(in[0], in[1])
                  : s->kind == STEP_STACK ? build_stack(x, in)
                                          : array_node(x->op, (ig_dtype)x->dtype, x->view.ndim,
                                                       shape, in, s->n_in, &attr);
    if (in != few)
        memory_free(in);
    return y;
}

ig_status steps_build(steps *w, const box *wanted, ig_array *const *loaded, ig_array **made)
{
    for (int k = 0; k < w->n; k++) {
        step *s = &w->step[k];
        if (!s->wanted)
            continue;
        s->made = loaded[k] || s->kind == STEP_SOURCE || s->kind == STEP_READY ? loaded[k]
                                                                               : build_step(w, k);
        if (!s->made)
            return error_waiting(IG_ERR_MEMORY);
    }
    for (int i = 0; i < w->n_end; i++)
        if (!(made[i] = see(w, &w->end[i], &wanted[i])))
            return error_waiting(IG_ERR_MEMORY);
    return IG_OK;
}
