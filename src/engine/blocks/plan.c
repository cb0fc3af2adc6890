/* The plan: which stages an evaluation has, and how each is cut into blocks.
 *
 * A stage computes as much as possible in one pass over its sources. It begins as one tile. While a tile takes more
 * memory than it should, the axis is cut that makes the stage read least. A costly step that the blocks of a stage would
 * compute again and again becomes a separate stage, whose result is kept in memory, or in a file if it is large. A
 * reduction or a product may instead be cut into parts of its sums. */
#include "engine/blocks/plan.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/size.h"
#include "base/team.h"
#include "engine/backend/pool.h"
#include "engine/ops/complex.h"
#include <stdlib.h>
#include <string.h>

/* ---- stages ---- */

static ig_status add_stage(block_plan *p, ig_array *const *roots, int n, stage_to to,
                           int first_sink);

static ig_status start_stage(const block_plan *p, stage *s, cut_join join)
{
    steps_free(&s->work);
    s->join = join;
    stage_whole_tile(s);
    s->part = stage_continues(s) ? stage_unit(s) : 0;
    while (stage_continues(s) && s->part < stage_row(s))
        s->part *= 2;
    const unsigned how = s->split ? STEPS_SPLIT : 0;
    if (join == CUT_APART)
        return steps_make(&s->work, s->root, s->n_root, how, p->done, p->n_done);
    if (join == CUT_MERGE)
        return steps_make(&s->work, s->merged, s->merged[1] ? 2 : 1, 0, p->done, p->n_done);
    ig_array *few[INPUTS_FEW], **ends = s->root[0]->in;
    if (join == CUT_UPDATE && !table_ends(s->root[0], ends = few))
        return error_waiting(IG_ERR_MEMORY);
    return steps_make(&s->work, ends, s->root[0]->n_in, how | STEPS_INPUTS, p->done, p->n_done);
}

/* Plans the stage in one way. *fits: a block takes at most `most` bytes. */
static ig_status try_way(const block_plan *p, stage *s, cut_join join, bool all_cut, uint64_t most,
                         bool *fits)
{
    TRY(start_stage(p, s, join));
    s->all_cut = all_cut;
    return stage_cut(p, s, most, fits);
}

/* True if steps that are split may read less, and are not many more. */
static ig_status may_split(const block_plan *p, stage *s, bool *splits)
{
    enum { MORE_STEPS_MOST = 8 };
    s->split = false;
    TRY(start_stage(p, s, CUT_APART));
    const int n = s->work.n;
    s->split = true;
    TRY(start_stage(p, s, CUT_APART));
    *splits = s->work.n <= 2 * n + MORE_STEPS_MOST && steps_are_split(&s->work);
    return IG_OK;
}

/* *once: the stage reads no more than a single block with all elements would. */
static ig_status reads_once(stage *s, bool *once)
{
    box *want = memory_get((size_t)(s->work.n_end + 1) * sizeof *want);
    if (!want)
        return IG_ERR_MEMORY;
    for (int i = 0; i < s->work.n_end; i++) {
        const view *v = &s->work.end[i].in->view;
        want[i] = box_whole(v->ndim, v->shape);
    }
    steps_demand(&s->work, want, -1);
    *once = s->read <= stage_load_bytes(s);
    memory_free(want);
    return IG_OK;
}

/* Plans the stage in the way that reads least: by tiles or by parts of sums, with or without costly steps as separate
 * stages, or always with these if `apart`, and, if `large`, with larger blocks if they read much less; *most becomes their
 * bytes. If none fits, the way that needs least memory. */
static ig_status choose(const block_plan *p, stage *s, uint64_t *most, bool apart, bool large)
{
    enum { APART = 1, PARTS = 2, LARGE = 4, SPLIT = 8, WAYS = 16, LARGE_SHARE = 4 };
    const uint64_t usual = *most;
    const cut_join parts = node_cut_of(s->root[0]).join;
    const bool may_part = s->n_root == 1 && parts != CUT_APART && parts != CUT_MERGE &&
                          (parts != CUT_UPDATE || table_fits(s->root[0])) &&
                          view_size(&s->root[0]->view) > 0 &&
                          view_size(&s->root[0]->in[0]->view) > 0;
    /* A product reads less the larger its tiles are. */
    const uint64_t larger = parts == CUT_ORDERED ? p->limit : p->limit / LARGE_SHARE;
    large = large && larger > usual && !getenv("IG_BLOCK_BYTES");
    bool splits;
    TRY(may_split(p, s, &splits));
    int best = may_part ? APART | PARTS : APART;
    uint64_t least = UINT64_MAX;
    bool fits;
    for (int way = 0; way < WAYS; way++) {
        if ((way & PARTS) && !may_part)
            continue;
        if ((apart && !(way & APART)) || (!large && (way & LARGE)) || (!splits && (way & SPLIT)))
            continue;
        s->split = way & SPLIT;
        TRY(try_way(p, s, way & PARTS ? parts : CUT_APART, way & APART,
                    way & LARGE ? larger : usual, &fits));
        /* Each tile of a table would compute all of it. */
        const bool whole = parts == CUT_UPDATE && s->join == CUT_APART && stage_tiles(s) > 1 &&
                           s->root[0]->op != OP_read && s->root[0]->op != OP_searchsorted;
        const uint64_t now = fits && !(may_part && whole) ? stage_team_cost(p, s) : UINT64_MAX;
        if (now < (way & LARGE ? least / 4 * 3 : least)) {
            least = now;
            best = way;
            bool once = false;
            if (splits && !(way & SPLIT))
                TRY(reads_once(s, &once));
            splits = splits && !once; /* split steps read everything once, too */
        }
    }
    *most = best & LARGE ? larger : usual;
    s->split = best & SPLIT;
    return try_way(p, s, best & PARTS ? parts : CUT_APART, best & APART, *most, &fits);
}

/* Where a result goes that is too large to stay on the device. */
static stage_to far_place(const block_plan *p, uint64_t bytes)
{
    const uint64_t used = p->limit + p->kept; /* of host memory */
    return used < p->host && bytes <= p->host - used ? TO_HOST : TO_FILE;
}

static bool is_large(const block_plan *p, uint64_t bytes) { return bytes > p->limit / p->part; }

/* True if an earlier stage computes the root. */
static bool is_planned(const block_plan *p, const ig_array *root)
{
    for (int i = 0; i < p->n_done; i++)
        if (p->done[i].root == root && !p->done[i].is_pick)
            return true;
    return false;
}

/* Adds stages for the steps that are cut and for copies of sources. */
static ig_status add_cuts(block_plan *p, stage *s, bool *any)
{
    TRY(stage_estimate(s));
    *any = false;
    for (int i = 0; i < s->work.n; i++) {
        const step *at = &s->work.step[i];
        ig_array *root = at->root;
        const copy_to copy = at->cut ? COPY_NOT : stage_copies(p, s, at);
        const uint64_t bytes = root_bytes(root);
        const bool large = at->cut ? is_large(p, bytes) : copy == COPY_TO_FILE;
        if (!at->cut && copy == COPY_NOT)
            continue;
        *any = true;
        if (copy != COPY_NOT && is_planned(p, root)) /* for another step of the same source */
            continue;
        TRY(add_stage(p, &root, 1, large ? far_place(p, bytes) : TO_MEMORY, 0));
    }
    return IG_OK;
}

static ig_status put_ready(block_plan *p, const stage *s)
{
    for (int i = 0; i < s->n_root; i++) {
        if (!memory_room(&p->done, p->n_done, &p->room_done, sizeof *p->done))
            return IG_ERR_MEMORY;
        ready *r = &p->done[p->n_done];
        *r = (ready){.root = s->root[i]};
        const bool far = s->to == TO_FILE || s->to == TO_HOST;
        if (far &&
            !(r->source = s->to == TO_FILE ? spill_make(s->root[i]) : host_make(s->root[i], NULL)))
            return error_waiting(IG_ERR_MEMORY);
        p->kept += s->to == TO_HOST ? root_bytes(s->root[i]) : 0;
        p->n_done++;
    }
    return IG_OK;
}

static uint64_t held_bytes(const block_plan *p)
{
    uint64_t held = 0;
    for (int i = 0; i < p->n; i++)
        held += p->stage[i].held;
    return held;
}

/* Chooses how the stage is cut into blocks of at most *most bytes, and adds the stages that it depends on. Each round makes
 * some costly steps ready, and another way may then be better. */
static ig_status cut_and_add(block_plan *p, stage *s, uint64_t *most, bool apart, bool large)
{
    const uint64_t usual = *most;
    bool any = true;
    while (any) {
        *most = usual;
        TRY(choose(p, s, most, apart, large));
        TRY(add_cuts(p, s, &any));
    }
    s->all_cut = false;
    return IG_OK;
}

enum { LIMIT_LEAST = 4096 }; /* of limits that are tried, in bytes */

#define SHARE_LEAST \
    0.02 /* of the limit, for the blocks in flight; below it they are cut as for one worker */

/* By how much the blocks in flight should be smaller. */
static double smaller_share(uint64_t limit, uint64_t held, uint64_t peak)
{
    const double fits = held < limit ? (double)(limit - held) / (double)peak : 0;
    return fits < 0.75 ? 0.75 : fits > 0.97 ? 0.97 : fits;
}

/* Makes blocks smaller until they fit in the limit. p->refused: they do not. */
static ig_status settle(block_plan *p, stage *s, uint64_t most, bool apart)
{
    const uint64_t usual = plan_block_bytes(p->limit);
    uint64_t held, least = UINT64_MAX, load = UINT64_MAX;
    int worse = 0;
    s->ahead = stage_tiles(s) * stage_parts(s) > 1;
    for (;;) {
        held = held_bytes(p) + s->held;
        TRY(stage_estimate(s));
        TRY(stage_measure(p, s));
        if (held + s->peak <= p->limit && !stage_is_dear(s))
            break;
        if (held + s->peak <= p->limit) { /* smaller blocks cost more */
            p->refused = true;
            return IG_ERR_MEMORY;
        }
        if (s->ahead && most <= usual) {
            s->ahead = 0;
            continue;
        }
        const bool sums = s->join == CUT_TREE || s->join == CUT_ORDERED;
        const uint64_t block = s->load + (sums && s->load ? 0 : stage_tile_bytes(s, false));
        const bool useless =
            !sums && s->load >= load && block < s->load / 8 * 9; /* the same chunks */
        const bool flight_shrinks = p->n_dev && s->share > SHARE_LEAST;
        const bool helps = most > usual || flight_shrinks || (s->peak < least && !useless);
        worse = helps ? 0 : worse + 1;
        least = s->peak < least ? s->peak : least;
        load = s->load;
        if (most == 0 || worse == 2) { /* there are no smaller blocks */
            p->refused = true;
            return IG_ERR_MEMORY;
        }
        if (flight_shrinks)
            s->share *= smaller_share(p->limit, held, s->peak);
        else
            most = most > usual ? most / 4 * 3 : (most < block ? most : block) / 2;
        uint64_t smaller = most;
        bool fits;
        if (s->join == CUT_MERGE)
            TRY(try_way(p, s, CUT_MERGE, false, most, &fits));
        else
            TRY(cut_and_add(p, s, &smaller, apart, false));
    }
    p->peak = held + s->peak > p->peak ? held + s->peak : p->peak;
    return IG_OK;
}

/* How many times the bytes of a piece of a row are read to get it: its chunks have elements of other rows, too. */
static ig_status read_factor(const block_plan *p, ig_array *x, int64_t length, int64_t *factor)
{
    stage one = {.n_root = 0};
    box b = box_whole(x->view.ndim, x->view.shape);
    TRY(steps_make(&one.work, &x, 1, 0, p->done, p->n_done));
    for (int a = 0; a < x->view.ndim - 1; a++)
        b.hi[a] = 1;
    b.hi[x->view.ndim - 1] = length;
    steps_demand(&one.work, &b, -1);
    const uint64_t bytes = (uint64_t)length * ig_dtype_bytes((ig_dtype)x->dtype);
    *factor = (int64_t)((stage_load_bytes(&one) + bytes / 2) / bytes);
    *factor = *factor > 1 ? *factor : 1;
    steps_free(&one.work);
    return IG_OK;
}

/* Plans stages that write sorted runs to files, and the stage as one that merges them. */
static ig_status merge_runs(block_plan *p, stage *s, uint64_t most)
{
    enum { SHARE = 4, LEAST = 256, PIECE = 8 };
    ig_array *root = s->root[0], *x = root->in[0], *made[2][2];
    const int64_t n = x->view.shape[x->view.ndim - 1];
    const uint64_t each = ig_dtype_bytes((ig_dtype)x->dtype) + (root->op == OP_argsort ? 8 : 0);
    const uint64_t held = held_bytes(p), room = p->limit > held ? p->limit - held : 0;
    int64_t length = (int64_t)((room < SHARE * most ? room : SHARE * most) / SHARE / each), factor;
    length = length < n ? length : n;
    p->refused = true;
    if (length < LEAST)
        return IG_ERR_MEMORY;
    TRY(read_factor(p, x, length, &factor));
    length = length / factor > LEAST ? length / factor : LEAST;
    for (; p->refused && length >= LEAST; length /= 2) {
        ig_status status = IG_OK;
        const int pieces = sort_runs(root, length, made);
        p->refused = false;
        for (int i = 0; i < pieces && status == IG_OK; i++) {
            p->piece = made[i][0];
            const uint64_t bytes =
                root_bytes(made[i][0]) + (made[i][1] ? root_bytes(made[i][1]) : 0);
            status = add_stage(p, made[i], made[i][1] ? 2 : 1, far_place(p, bytes), 0);
        }
        if (pieces == 0 || (status != IG_OK && !p->refused))
            return error_waiting(IG_ERR_MEMORY);
        if (p->refused)
            continue;
        s->merged[1] = NULL;
        s->runs = (n + length - 1) / length;
        if (!sort_merged(root, length, made, pieces, p->done, p->n_done, s->merged))
            return error_waiting(IG_ERR_MEMORY);
        bool fits;
        TRY(try_way(p, s, CUT_MERGE, false, most, &fits));
        TRY(settle(p, s, most, false));
        const int last = root->view.ndim - 1;
        if (s->tile[last] >= root->view.shape[last] || s->tile[last] >= PIECE * s->runs)
            return IG_OK;
        p->refused = true; /* a tile would have few elements of each run */
        return IG_ERR_MEMORY;
    }
    return IG_ERR_MEMORY;
}

/* True if a step sorts rows: as a separate stage it may merge runs. */
static bool sorts(const stage *s)
{
    for (int i = 0; i < s->work.n; i++)
        if (s->work.step[i].kind == STEP_ROWS && sort_fits(s->work.step[i].root))
            return true;
    return false;
}

/* Plans a stage for roots that are not evaluated yet, and before it the stages that it depends on. */
static ig_status plan_stage(block_plan *p, stage *s)
{
    const uint64_t usual = plan_block_bytes(p->limit);
    uint64_t most = usual;
    ig_status status = IG_ERR_MEMORY;
    s->held = 0;
    for (int i = 0; i < s->n_root; i++)
        s->held += s->to == TO_MEMORY ? root_bytes(s->root[i]) : 0;
    if (held_bytes(p) + s->held > p->limit) { /* the results alone: no way to cut helps */
        p->refused = true;
        return IG_ERR_MEMORY;
    }
    for (int apart = 0; apart < 2 && status != IG_OK && (!apart || sorts(s)); apart++) {
        p->refused = false;
        most = usual;
        TRY(cut_and_add(p, s, &most, apart, true));
        status = settle(p, s, most, apart);
        if (status != IG_OK && !p->refused)
            return status;
        if (status != IG_OK && s->n_root == 1 && sort_fits(s->root[0]) && s->root[0] != p->piece)
            TRY(status = merge_runs(p, s, most));
    }
    if (status != IG_OK)
        return status;
    for (int i = 0; i < s->n_root; i++)
        s->write += s->to == TO_FILE || s->to == TO_SINK ? root_bytes(s->root[i]) : 0;
    return put_ready(p, s);
}

static void stage_free(stage *s)
{
    steps_free(&s->work);
    memory_free(s->root);
}

static ig_status add_stage(block_plan *p, ig_array *const *roots, int n, stage_to to,
                           int first_sink)
{
    stage s = {.to = to, .n_root = n, .first_sink = first_sink, .share = 1, .ahead = 1};
    if (!(s.root = memory_get((size_t)n * sizeof(ig_array *))))
        return IG_ERR_MEMORY;
    memcpy(s.root, roots, (size_t)n * sizeof(ig_array *));
    ig_status status = plan_stage(p, &s);
    if (status == IG_OK && !memory_room(&p->stage, p->n, &p->room, sizeof *p->stage))
        status = IG_ERR_MEMORY;
    if (status != IG_OK) {
        stage_free(&s);
        return status;
    }
    p->stage[p->n++] = s;
    return IG_OK;
}

/* Drops the stages. */
static void block_plan_clear(block_plan *p)
{
    for (int i = 0; i < p->n; i++)
        stage_free(&p->stage[i]);
    for (int i = 0; i < p->n_done; i++)
        block_source_release(p->done[i].source);
    p->n = p->n_done = 0;
    p->peak = p->kept = 0;
    p->refused = false;
}

/* True if parts of rows of x, whose lengths are powers of 2, would not be whole chunks of the sink. */
static bool is_apart(const ig_array *x, const ig_block_sink *sink)
{
    const int last = x->view.ndim - 1;
    const int64_t chunk = sink->chunk.v && last >= 0 ? sink->chunk.v[last] : 1;
    return node_program(x) == PROGRAM_SCAN && (chunk & (chunk - 1)) && chunk < x->view.shape[last];
}

/* x, or a copy of it, such that its root has x's elements in order, is not evaluated, and can be written to the sink.
 * If there are other results, it is always a copy: a stage for one of them may need the same root, and compute it first. */
static ig_array *as_root(ig_array *x, const ig_block_sink *sink, bool alone)
{
    if (alone && !x->root->data && view_equal(&x->view, &x->root->view) && !is_apart(x->root, sink))
        return x;
    view *dst = memory_get(sizeof *dst);
    if (!dst)
        return NULL;
    view_contiguous(dst, x->view.ndim, x->view.shape);
    return build_assemble(OP_assemble, (ig_dtype)x->dtype, x->view.ndim, x->view.shape, &x, dst, 1);
}

/* Where n results that are asked for go. */
static stage_to place_of_results(const block_plan *p, ig_array *const *roots, int n)
{
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += root_bytes(roots[i]);
    return p->sink                                                ? TO_SINK
           : is_large(p, bytes) && far_place(p, bytes) == TO_HOST ? TO_HOST
                                                                  : TO_MEMORY;
}

/* True if leaves in host memory are read block by block: several devices compute, or one with its own memory. */
static bool reads_leaves(const block_plan *p)
{
    const backend *one = p->n_root ? engine_device_of(p->root[0]) : NULL;
    return p->n_dev > 1 || (one && one->pool && one->computes);
}

static bool is_listed(ig_array *const *roots, int n, const ig_array *root)
{
    for (int i = 0; i < n; i++)
        if (roots[i] == root)
            return true;
    return false;
}

static ig_status plan_stages(block_plan *p, uint64_t limit)
{
    block_plan_clear(p);
    p->limit = limit;
    if (reads_leaves(p))
        TRY(host_leaves(p));
    TRY(picks_add(p));
    for (int i = 0, k; i < p->n_root; i = k) { /* neighbours of one shape are computed together */
        k = i + 1;
        while (k < p->n_root && view_same_shape(&p->root[i]->view, &p->root[k]->view) &&
               !p->root[k]->data && !is_planned(p, p->root[k]) &&
               !is_listed(p->root + i, k - i, p->root[k]))
            k++;
        if (p->root[i]->data || is_planned(p, p->root[i]))
            continue;
        const ig_status status =
            add_stage(p, p->root + i, k - i, place_of_results(p, p->root + i, k - i), i);
        if (status == IG_OK)
            continue;
        if (!p->refused || k - i == 1)
            return status;
        for (int each = i; each < k; each++) /* one by one they may fit */
            if (!is_planned(p, p->root[each]))
                TRY(add_stage(p, p->root + each, 1, place_of_results(p, p->root + each, 1), each));
    }
    return IG_OK;
}

/* Plans all stages within the limit. p->refused: it does not fit, even if nearly all results of stages leave memory. */
static ig_status plan_all(block_plan *p, uint64_t limit)
{
    enum { PART = 4, PART_MOST = 1024, PART_STEP = 16 };
    ig_status status = IG_ERR_MEMORY;
    p->refused = true;
    for (p->part = PART; p->refused && p->part <= PART_MOST; p->part *= PART_STEP)
        status = plan_stages(p, limit);
    return status;
}

/* Plans for smaller limits, after the limit was refused: a larger limit leads to other ways to cut, none of which may fit,
 * but a plan for a smaller limit does. */
static ig_status plan_smaller(block_plan *p, uint64_t limit)
{
    enum { ROUNDS = 5 };
    ig_status status = IG_ERR_MEMORY;
    uint64_t less = limit / 4 * 3;
    for (int i = 0; i < ROUNDS && p->refused && less >= LIMIT_LEAST; i++, less = less / 4 * 3)
        status = plan_all(p, less);
    return status;
}

/* True if the roots read what builders have selected, which with a larger limit they keep in memory. */
static bool reads_selections(const block_plan *p)
{
    steps w;
    bool found = false;
    if (steps_make(&w, p->root, p->n_root, 0, NULL, 0) != IG_OK)
        return false;
    for (int i = 0; i < w.n; i++)
        found = found || (w.step[i].kind == STEP_SOURCE && source_is_selection(w.step[i].source));
    steps_free(&w);
    return found;
}

/* Fails with the smallest limit for which there is a plan. */
static ig_status refuse(block_plan *p, uint64_t limit, uint64_t used)
{
    enum { STEPS = 10, MOST = 40 };
    uint64_t low = limit, high = limit < LIMIT_LEAST ? LIMIT_LEAST : limit;
    char now[SIZE_ROOM], least[SIZE_ROOM];
    for (int i = 0; i < MOST && plan_all(p, high) != IG_OK; i++) {
        if (!p->refused)
            return error_waiting(IG_ERR_MEMORY);
        low = high;
        high *= 2;
    }
    for (int i = 0; i < STEPS; i++) {
        const uint64_t middle = low + (high - low) / 2;
        const ig_status status = plan_all(p, middle);
        if (status != IG_OK && !p->refused)
            return status;
        *(status == IG_OK ? &high : &low) = middle;
    }
    const ig_status status =
        ig_fail(IG_ERR_MEMORY,
                "the evaluation does not fit in the memory limit of %s, not even block by block; "
                "the smallest limit that works is %llu bytes (%s)",
                size_text(limit + used, now), (unsigned long long)(high + used),
                size_text(high + used, least));
    return reads_selections(p) ? evaluate_early(status) : status;
}

static uint64_t left_of_host(uint64_t *used)
{
    const uint64_t most = ig_memory_limit();
    *used = ig_memory_used();
    return most > *used ? most - *used : 0;
}

/* The bytes that are free on the host and on the devices, whichever are fewer. A block is on both at the same time. A device
 * of several has only the blocks of its workers. */
static uint64_t free_bytes(const block_plan *p, uint64_t *used)
{
    uint64_t free = left_of_host(used);
    const backend *one = p->n_root ? engine_device_of(p->root[0]) : NULL;
    for (int i = 0; i < (p->n_dev ? p->n_dev : one ? 1 : 0); i++) {
        const backend *dev = p->n_dev ? p->dev[i] : one;
        uint64_t here = dev->pool ? pool_free(dev->pool) : UINT64_MAX;
        if (dev->limits.alloc_bytes && !dev->limits.reach_bytes && here > dev->limits.alloc_bytes)
            here = dev->limits.alloc_bytes; /* a block may be one buffer */
        if (dev->pool && p->n_dev)
            here = here / (uint64_t)device_workers(dev) * (uint64_t)p->workers;
        if (here < free) {
            free = here;
            *used = pool_limit(dev->pool) - here;
        }
    }
    return free;
}

/* The same on the rank that has fewest. */
static ig_status free_of_ranks(const block_plan *p, uint64_t *free, uint64_t *used)
{
    *free = free_bytes(p, used);
    return team_shares() ? team_least(TEAM_MAIN, free) : IG_OK;
}

static ig_status check_setting(void)
{
    const char *asked = getenv("IG_BLOCK_BYTES");
    const size_t digits = asked ? strspn(asked, "0123456789") : 0;
    if (asked && *asked && (asked[digits] || digits > 18))
        FAIL(IG_ERR_ARGUMENT,
             "IG_BLOCK_BYTES is '%.40s', which is not a number of bytes; set it to "
             "one, such as 100000000, or unset it",
             asked);
    return IG_OK;
}

ig_status block_plan_make(block_plan *p, ig_array *const *arrays, const ig_block_sink *sinks, int n)
{
    uint64_t free, used;
    *p = (block_plan){.sink = sinks};
    TRY(check_setting());
    if (!(p->root = memory_new((size_t)(n + 1) * sizeof *p->root)))
        return IG_ERR_MEMORY;
    for (int i = 0; i < n; i++) {
        ig_array *x = complex_pairs(arrays[i]);
        if (sinks && x)
            x = as_root(x, &sinks[i], n == 1);
        if (!x)
            return error_waiting(IG_ERR_MEMORY);
        p->root[p->n_root++] = x->root;
    }
    if (p->n_root)
        TRY(devices_set(p, engine_device_of(p->root[0])));
    if (!team_shares()) /* else all ranks make the same plan, and meet in files */
        p->host = left_of_host(&(uint64_t){0});
    TRY(free_of_ranks(p, &free, &used));
    ig_status status = plan_all(p, free);
    if (status != IG_OK && p->refused && p->n_dev) { /* one block at a time, on one device */
        p->n_dev = p->workers = 0;
        TRY(free_of_ranks(p, &free, &used));
        status = plan_all(p, free);
    }
    if (status != IG_OK && p->refused)
        status = plan_smaller(p, free);
    return status != IG_OK && p->refused ? refuse(p, free, used) : status;
}

void block_plan_free(block_plan *p)
{
    block_plan_clear(p);
    memory_free(p->stage);
    memory_free(p->done);
    memory_free(p->root);
    *p = (block_plan){0};
}

/* ---- for people ---- */

static void shape_text(const stage *s, text *t)
{
    char all[400], one[400];
    const view *v = &s->root[0]->view;
    text_add(t, "%s in %lld tiles of %s", view_shape_text(v->ndim, v->shape, all),
             (long long)stage_tiles(s), view_shape_text(v->ndim, s->tile, one));
    if (s->join == CUT_MERGE)
        text_add(t, ", merges %lld runs", (long long)s->runs);
    else if (s->join != CUT_APART)
        text_add(t, ", %s of %lld in parts of %lld", stage_continues(s) ? "rows" : "sums",
                 (long long)stage_row(s), (long long)s->part);
}

void block_plan_text(const block_plan *p, text *t)
{
    static const char *const to[] = {"memory", "file", "output", "host"};
    uint64_t read = 0, write = 0, spill = 0;
    char one[SIZE_ROOM], two[SIZE_ROOM], three[SIZE_ROOM], four[SIZE_ROOM];
    text_add(t, "block by block: %d stages", p->n);
    for (int i = 0; i < p->n_dev; i++)
        text_add(t, "%s%s", i ? ", " : " on ", p->dev[i]->name);
    text_add(t, "\n");
    for (int i = 0; i < p->n; i++) {
        const stage *s = &p->stage[i];
        text_add(t, "  %d %s ", i + 1, op_rows[s->root[0]->op].name);
        shape_text(s, t);
        text_add(t, " -> %s | read %s, write %s, peak %s\n", to[s->to], size_text(s->read, one),
                 size_text(s->write, two), size_text(s->peak + s->held, three));
        read += s->read;
        write += s->to == TO_SINK ? s->write : 0;
        spill += s->to == TO_FILE ? s->write : 0;
    }
    text_add(t, "total read %s, write %s, spill %s, peak %s\n", size_text(read, one),
             size_text(write, two), size_text(spill, three), size_text(p->peak, four));
}
