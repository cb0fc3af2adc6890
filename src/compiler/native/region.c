/* Regions: the loop over groups or lanes, and the registers that come from the frame and go back to it. */
#include "compiler/native/writer.h"

#include "base/memory.h"

/* The registers of a region. */
typedef struct users {
    uint8_t *how; /* by register: USED, WRITTEN */
} users;
enum { USED = 1, WRITTEN = 2 };

static uint8_t *find_users(writer *w, const native_region *r)
{
    uint8_t *how = memory_new((size_t)w->c->n_reg + 1);
    if (!how) {
        w->failed = true;
        return NULL;
    }
    for (int k = r->from; k < r->to; k++) {
        const code_inst *i = &w->c->inst[k];
        const int32_t read[] = {i->a, i->b, i->c, i->e};
        for (int n = 0; n < 4; n++)
            if (read[n] != CODE_NONE)
                how[read[n]] |= USED;
        if (i->d != CODE_NONE)
            how[i->d] |= WRITTEN;
    }
    return how;
}

static bool is_many(const writer *w, int32_t r) { return w->p->home[r] == HOME_MANY; }
static bool is_special(const writer *w, int32_t r) { return w->c->reg[r].origin != ORIGIN_NONE; }

/* ---- registers of the whole block ---- */

static void write_special_one(writer *w, int32_t r)
{
    static const char *const axes[] = {"b->block[0]", "b->block[1]", "b->block[2]"};
    static const char *const grids[] = {"b->grid[0]", "b->grid[1]", "b->grid[2]"};
    const code_reg *reg = &w->c->reg[r];
    const char *type = write_type(reg->dtype);
    SAY(w, "const %s s%d = ", type, r);
    if (reg->origin == ORIGIN_PARAMETER)
        SAY(w, "%s*(const m_%s *)(b->arguments + %llu)", reg->dtype == IG_BOOL ? "0 != " : "",
            write_element(reg->dtype), (unsigned long long)reg->bits);
    else if (reg->origin >= ORIGIN_BLOCK_X && reg->origin <= ORIGIN_BLOCK_Z)
        SAY(w, "%s", axes[reg->origin - ORIGIN_BLOCK_X]);
    else if (reg->origin >= ORIGIN_BLOCK_DIM_X && reg->origin <= ORIGIN_BLOCK_DIM_Z)
        SAY(w, "%u", w->p->block[reg->origin - ORIGIN_BLOCK_DIM_X]);
    else if (reg->origin >= ORIGIN_GRID_DIM_X && reg->origin <= ORIGIN_GRID_DIM_Z)
        SAY(w, "%s", grids[reg->origin - ORIGIN_GRID_DIM_X]);
    else
        SAY(w, "(u64)b->%s", reg->origin == ORIGIN_SHARED ? "shared" : "globals");
    SAY(w, ";\n");
}

static void write_thread_table(writer *w, int axis)
{
    const uint32_t *dim = w->p->block;
    SAY(w, "static const u32 thread_%d[] = {", axis);
    for (int t = 0; t < w->p->groups * w->p->lanes; t++) {
        const uint32_t u = (uint32_t)t;
        SAY(w, "%u,",
            axis == 0   ? u % dim[0]
            : axis == 1 ? u / dim[0] % dim[1]
                        : u / dim[0] / dim[1]);
    }
    SAY(w, "};\n");
}

/* For regions that run lane by lane. */
static void write_pattern_table(writer *w, int32_t r)
{
    SAY(w, "static const i32 pattern_%d[] = {", r);
    for (int l = 0; l < w->p->lanes; l++)
        SAY(w, "%d,", (int)plan_offset(w->p, r, l));
    SAY(w, "};\n(void)pattern_%d;\n", r);
}

void write_block_registers(writer *w)
{
    bool tables[3] = {false};
    for (int r = 0; r < w->c->n_reg; r++) {
        const code_reg *reg = &w->c->reg[r];
        const char *kept = write_kept(reg->dtype);
        const int axis = reg->origin - ORIGIN_THREAD_X;
        if (reg->origin >= ORIGIN_THREAD_X && reg->origin <= ORIGIN_THREAD_Z) {
            if (w->p->kind[r] == KIND_VARY && !tables[axis])
                write_thread_table(w, axis);
            tables[axis] |= w->p->kind[r] == KIND_VARY;
        } else if (is_special(w, r)) {
            if (w->p->kind[r] == KIND_ONE && reg->origin != ORIGIN_CONSTANT)
                write_special_one(w, r);
        } else if (is_many(w, r) && w->p->kind[r] == KIND_ONE) {
            SAY(w, "%s s%d = 0;\n", write_type(reg->dtype), r);
        } else if (w->p->frame[r] >= 0) {
            if (w->p->kind[r] == KIND_PATTERN)
                write_pattern_table(w, r);
            SAY(w, "%s *const f_%d = (%s *)(b->frame + %lld);\n", kept, r, kept,
                (long long)w->p->frame[r]);
        }
    }
    if (w->p->keeps_live)
        SAY(w,
            "i32 *const live_ = (i32 *)(b->frame + %llu);\n"
            "for (int i = 0; i < %d; i++)\nlive_[i] = -(i < %d);\n",
            (unsigned long long)w->p->live_at, w->p->groups * w->p->lanes, w->p->threads);
}

/* ---- registers of a group or a lane ---- */

static void declare_special(writer *w, int32_t r)
{
    const native_plan *p = w->p;
    const code_reg *reg = &w->c->reg[r];
    const bool by_lane = w->mode == MODE_LANE;
    const char *first = by_lane ? "lane" : "first";
    const int axis = reg->origin - ORIGIN_THREAD_X;
    if (p->kind[r] == KIND_ONE)
        return;
    if (reg->origin == ORIGIN_LOCAL) {
        SAY(w, "const u64 s%d = (u64)b->local + (u64)%s * %llu;\n", r, first,
            (unsigned long long)w->c->local_bytes);
    } else if (reg->origin == ORIGIN_LANE) {
        SAY(w, "const u32 s%d = (u32)%s %% 32;\n", r, first);
    } else if (!by_lane && p->kind[r] == KIND_VARY) {
        for (int u = 0; u < p->units; u++)
            SAY(w, "const vu v%d_%d = unpack_u32(thread_%d + first + %d);\n", r, u, axis,
                u * p->width);
    } else {
        const uint32_t before = axis == 0 ? 1 : axis == 1 ? p->block[0] : p->block[0] * p->block[1];
        SAY(w, "const u32 s%d = (u32)%s / %u", r, first, before);
        /* lanes past the end of a block of one row continue the row */
        if (axis < 2 && p->block[axis] * before != (uint32_t)p->threads)
            SAY(w, " %% %u", p->block[axis]);
        SAY(w, ";\n");
    }
}

/* From the frame. Lanes of bool are masks there. */
static void declare_from_frame(writer *w, int32_t r)
{
    const int d = w->c->reg[r].dtype, lanes = w->p->lanes;
    const char *type = write_type(d);
    if (w->mode == MODE_LANE) {
        const bool vary = w->p->kind[r] == KIND_VARY;
        SAY(w, "%s s%d = %s(%s)", type, r, d == IG_BOOL ? "0 != " : "",
            d == IG_BOOL ? "i32" : type);
        if (vary)
            SAY(w, "f_%d[lane];\n", r);
        else if (w->p->kind[r] == KIND_PATTERN)
            SAY(w, "(f_%d[lane / %d] + (%s)pattern_%d[lane %% %d]);\n", r, lanes, write_kept(d), r,
                lanes);
        else
            SAY(w, "(f_%d[lane / %d] + (%s)(lane %% %d) * (%s)%lldll);\n", r, lanes, write_kept(d),
                lanes, write_kept(d), (long long)w->p->stride[r]);
    } else if (w->p->kind[r] != KIND_VARY) {
        SAY(w, "%s s%d = (%s)f_%d[g];\n", type, r, type, r);
    } else {
        for (int u = 0; u < w->p->units; u++)
            SAY(w, "%s v%d_%d = unpack_%s(f_%d + first + %d);\n", write_vector(d), r, u,
                write_kept(d), r, u * w->p->width);
    }
}

static void write_to_frame(writer *w, int32_t r)
{
    const int d = w->c->reg[r].dtype, lanes = w->p->lanes;
    const char *kept = write_kept(d);
    if (w->mode == MODE_LANE) {
        if (w->p->kind[r] == KIND_VARY)
            SAY(w, "f_%d[lane] = %s(%s)s%d;\n", r, d == IG_BOOL ? "-" : "", kept, r);
        else if (w->p->kind[r] == KIND_PATTERN)
            SAY(w, "f_%d[lane / %d] = (%s)s%d - (%s)pattern_%d[lane %% %d];\n", r, lanes, kept, r,
                kept, r, lanes);
        else
            SAY(w, "f_%d[lane / %d] = (%s)s%d - (%s)(lane %% %d) * (%s)%lldll;\n", r, lanes, kept,
                r, kept, lanes, kept, (long long)w->p->stride[r]);
    } else if (w->p->kind[r] != KIND_VARY) {
        SAY(w, "f_%d[g] = s%d;\n", r, r);
    } else {
        for (int u = 0; u < w->p->units; u++)
            SAY(w, "pack_%s(f_%d + first + %d, v%d_%d);\n", kept, r, u * w->p->width, r, u);
    }
}

static void declare_local(writer *w, int32_t r)
{
    const int d = w->c->reg[r].dtype;
    if (write_is_scalar(w, r)) {
        SAY(w, "%s s%d = 0;\n", write_type(d), r);
        return;
    }
    for (int u = 0; u < w->p->units; u++)
        SAY(w, "%s v%d_%d = {0};\n", write_vector(d), r, u);
}

/* ---- interleaved arrays ---- */

enum { OWN_MOST = 128 /* elements of an array that the text declares; others stay in the frame */ };

static bool uses_own(const writer *w, const native_region *r, int own)
{
    for (int k = r->from; k < r->to; k++)
        if (plan_own_of(w->p, &w->c->inst[k]) == own)
            return true;
    return false;
}

static bool is_repeated(const writer *w, const native_region *r)
{
    for (int o = w->p->opener[r->from]; o >= 0; o = w->p->opener[o])
        if (w->c->inst[o].op == CODE_LOOP)
            return true;
    return false;
}

/* Copies an array to or from the frame, if another region, or another run of this one, may need it. */
static void copy_own(writer *w, const native_region *r, int own, bool back)
{
    const native_own *o = &w->p->own[own];
    if (o->elements > OWN_MOST || (o->home != HOME_MANY && !is_repeated(w, r)))
        return;
    SAY(w, "for (int n = 0; n < %d; n++)\n", o->elements * w->p->units);
    SAY(w, "%c%d[n] = %c%d[n];\n", back ? 'r' : 'q', own, back ? 'q' : 'r', own);
}

static void declare_own(writer *w, const native_region *r)
{
    for (int n = 0; n < w->c->n_object; n++) {
        const native_own *o = &w->p->own[n];
        const char *vector = write_vector(o->dtype);
        if (!o->fits || !uses_own(w, r, n))
            continue;
        const bool here = o->elements <= OWN_MOST;
        const long long bytes = (long long)ig_dtype_bytes((ig_dtype)o->dtype);
        SAY(w, "%s *const %c%d = (%s *)(b->frame + %lldll + (i64)g * %lldll);\n", vector,
            here ? 'r' : 'q', n, vector, (long long)o->frame,
            (o->elements + 1) * w->p->lanes * bytes);
        if (here)
            SAY(w, "%s q%d[%d] = {{0}};\n(void)r%d;\n", vector, n, (o->elements + 1) * w->p->units,
                n);
        copy_own(w, r, n, false);
    }
}

static void finish_own(writer *w, const native_region *r)
{
    for (int n = 0; n < w->c->n_object; n++)
        if (w->p->own[n].fits && uses_own(w, r, n))
            copy_own(w, r, n, true);
}

/* Values of the block that the region changes: each group begins with the old value, and the last one gives
 * the new value. */
static bool is_changed(const writer *w, const uint8_t *how, int32_t r)
{
    return how[r] & WRITTEN && w->p->kind[r] == KIND_ONE && is_many(w, r);
}

static void declare(writer *w, const uint8_t *how)
{
    for (int r = 0; r < w->c->n_reg; r++) {
        if (!how[r])
            continue;
        if (is_special(w, r))
            declare_special(w, r);
        else if (is_changed(w, how, r))
            SAY(w, "%s s%d = i_%d;\n", write_type(w->c->reg[r].dtype), r, r);
        else if (w->p->frame[r] >= 0)
            declare_from_frame(w, r);
        else if (!is_many(w, r))
            declare_local(w, r);
    }
}

static void finish(writer *w, const uint8_t *how)
{
    for (int r = 0; r < w->c->n_reg; r++) {
        if (is_changed(w, how, r))
            SAY(w, "o%d = s%d;\n", r, r);
        else if (how[r] & WRITTEN && w->p->frame[r] >= 0)
            write_to_frame(w, r);
    }
}

/* ---- the loop over lanes ---- */

static void by_lane(writer *w, const native_region *r, const uint8_t *how)
{
    w->mode = MODE_LANE;
    SAY(w, "for (int lane = 0; lane < %d; lane++) {\n", w->p->threads);
    if (w->p->keeps_live)
        SAY(w, "if (!live_[lane])\ncontinue;\n");
    declare(w, how);
    write_list(w, r->from, r->to);
    finish(w, how);
    SAY(w, "gone_%d:;\n", w->region);
    if (r->leaves && w->p->keeps_live)
        SAY(w, "some_ |= live_[lane];\n");
    SAY(w, "}\n");
}

/* ---- the loop over groups ---- */

static void declare_masks(writer *w, const native_region *r)
{
    bool seen[CODE_LEVELS] = {false};
    for (int k = r->from; k < r->to; k++) {
        const int level = w->c->inst[k].level;
        if (!plan_opens(w->c->inst[k].op) || seen[level])
            continue;
        seen[level] = true;
        for (int u = 0; u < w->p->units; u++)
            SAY(w, "vi e%d_%d = {0}, w%d_%d = {0}, x%d_%d = {0};\n", level, u, level, u, level, u);
    }
}

static void write_any(writer *w, const char *op)
{
    for (int u = 0; u < w->p->units; u++)
        SAY(w, "%sbits(m_%d)", u ? op : "", u);
}

static void by_group(writer *w, const native_region *r, const uint8_t *how)
{
    const native_plan *p = w->p;
    const bool whole = p->threads % p->lanes == 0 && !p->keeps_live;
    w->mode = MODE_FULL;
    SAY(w, "for (int g = 0; g < %d; g++) {\nconst int first = g * %d;\n", p->groups, p->lanes);
    for (int u = 0; u < p->units; u++) {
        if (p->keeps_live)
            SAY(w, "vi m_%d = unpack_i32(live_ + first + %d);\n", u, u * p->width);
        else if (whole)
            SAY(w, "vi m_%d = MASK(1);\n", u);
        else
            SAY(w, "vi m_%d = (vi)((vi){IOTA} + (first + %d) < %d);\n", u, u * p->width,
                p->threads);
    }
    if (!whole) {
        SAY(w, "if (!(");
        write_any(w, " | ");
        SAY(w, "))\ncontinue;\n");
    }
    declare(w, how);
    declare_own(w, r);
    declare_masks(w, r);
    if (!whole) {
        SAY(w, "if ((");
        write_any(w, " & ");
        SAY(w, ") == FULL) {\n");
    }
    write_list(w, r->from, r->to);
    if (!whole) {
        SAY(w, "} else {\n");
        w->mode = MODE_MASKED;
        write_list(w, r->from, r->to);
        w->mode = MODE_FULL;
        SAY(w, "}\n");
    }
    if (r->leaves) {
        SAY(w, "if (!(");
        write_any(w, " | ");
        SAY(w, "))\ngoto gone_%d;\n", w->region);
    }
    finish(w, how);
    finish_own(w, r);
    SAY(w, "gone_%d:;\n", w->region);
    for (int u = 0; u < p->units && r->leaves && p->keeps_live; u++)
        SAY(w, "pack_i32(live_ + first + %d, m_%d);\nsome_ |= (int)bits(m_%d);\n", u * p->width, u,
            u);
    SAY(w, "}\n");
}

void write_region(writer *w, int region)
{
    const native_region *r = &w->p->region[region];
    uint8_t *how = find_users(w, r);
    if (!how)
        return;
    w->region = region;
    SAY(w, "{ /* region %d */\nint some_ = %d;\n", region, !r->leaves || !w->p->keeps_live);
    for (int n = 0; n < w->c->n_reg; n++)
        if (is_changed(w, how, n)) {
            const char *type = write_type(w->c->reg[n].dtype);
            SAY(w, "const %s i_%d = s%d;\n%s o%d = s%d;\n", type, n, n, type, n, n);
        }
    (r->by_lane ? by_lane : by_group)(w, r, how);
    for (int n = 0; n < w->c->n_reg; n++)
        if (is_changed(w, how, n))
            SAY(w, "s%d = o%d;\n", n, n);
    SAY(w, "if (!some_)\ngoto end;\n}\n");
    w->mode = MODE_BLOCK;
    w->region = REGION_NONE;
    memory_free(how);
}

/* ---- barriers ---- */

static void write_vote_of_lane(writer *w, const code_inst *i)
{
    const native_kind kind = (native_kind)w->p->kind[i->a];
    if (w->p->keeps_live)
        SAY(w, "if (!live_[lane])\ncontinue;\n");
    SAY(w, "voters_++;\nvotes_ += 0 != ");
    if (kind == KIND_ONE)
        write_scalar(w, i->a);
    else if (kind == KIND_VARY)
        SAY(w, "f_%d[lane]", i->a);
    else
        SAY(w, "f_%d[lane / %d]", i->a, w->p->lanes);
    SAY(w, ";\n");
}

void write_barrier(writer *w, int k)
{
    const native_plan *p = w->p;
    const code_inst *i = &w->c->inst[k];
    if (i->a == CODE_NONE || i->d == CODE_NONE)
        return;
    SAY(w, "{\ni32 votes_ = 0, voters_ = 0;\nfor (int lane = 0; lane < %d; lane++) {\n",
        p->threads);
    write_vote_of_lane(w, i);
    SAY(w, "}\nconst i32 said_ = %s;\n",
        i->row == BARRIER_COUNT ? "votes_"
        : i->row == BARRIER_AND ? "votes_ == voters_"
                                : "votes_ > 0");
    if (p->kind[i->d] == KIND_ONE)
        SAY(w, "s%d = said_;\n", i->d);
    else
        SAY(w, "for (int n = 0; n < %d; n++)\nf_%d[n] = said_;\n",
            p->kind[i->d] == KIND_VARY ? p->groups * p->lanes : p->groups, i->d);
    SAY(w, "}\n");
}
