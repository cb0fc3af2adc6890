/* Tapes as statements: one for each instruction, with the expression of its row of ops.def.
 *
 * The value of instruction k at the u-th point that a thread takes together is "v<k>_<u>". */
#include "engine/emit/held.h"
#include "engine/emit/rows.h"
#include "engine/emit/writer.h"
#include "engine/ops/ops.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 48 };

/* ---- where an operand's elements are ---- */

int emit_split_axis(const tape *t, int64_t inner)
{
    int64_t points = 1;
    int axis = t->ndim;
    while (axis > 0 && points < inner)
        points *= t->shape[--axis];
    return points == inner ? axis : -1;
}

static bool is_constant(const view *v)
{
    for (int i = 0; i < v->ndim; i++)
        if (v->stride[i] && v->shape[i] > 1)
            return false;
    return true;
}

/* True if the elements are contiguous: an element's offset is the linear index. */
static bool is_linear(const view *v) { return view_is_contiguous(v) && !is_constant(v); }

/* True if the statements need the coordinate of an axis. */
static bool needs_axis(const tape *t, int axis)
{
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *inst = &t->inst[i];
        if (inst->operand < 0 || inst->code == TAPE_BITS)
            continue;
        const view *v = &t->operand[inst->operand].v;
        if (!is_linear(v) && v->stride[axis])
            return true;
    }
    return false;
}

/* Coordinates c<axis> of axes [first, end) from a linear index. fixed: lengths are constants of the text. */
static void decode(emit_writer *w, const emit_space *s, int first, int end, const char *from,
                   bool fixed)
{
    const tape *t = s->t;
    int lowest = end;
    for (int i = first; i < end; i++)
        if (needs_axis(t, i)) {
            lowest = i;
            break;
        }
    char rest[NAME_BYTES];
    snprintf(rest, sizeof rest, "%s", from);
    for (int i = end - 1; i >= lowest && i >= first; i--) {
        if (i == first) {
            text_add(&w->body, "    const idx c%d = %s;\n", i, rest);
            break;
        }
        char n[NAME_BYTES];
        if (fixed)
            snprintf(n, sizeof n, "%d", (int)t->shape[i]);
        else
            snprintf(n, sizeof n, "g.n%d", writer_number(w, t->shape[i]));
        if (needs_axis(t, i))
            text_add(&w->body, "    const idx c%d = %s %% %s;\n", i, rest, n);
        text_add(&w->body, "    const idx r%d = %s / %s;\n", i, rest, n);
        snprintf(rest, sizeof rest, "r%d", i);
    }
}

static void decode_point(emit_writer *w, const emit_space *s)
{
    if (s->axis < 0)
        decode(w, s, 0, s->t->ndim, "i", false);
    else {
        decode(w, s, 0, s->axis, "row", false);
        decode(w, s, s->axis, s->t->ndim, "col", w->windows);
    }
}

/* The offset of an operand's element at the point, without the vector's step. */
static void write_offset(emit_writer *w, const emit_space *s, const view *v)
{
    bool any = false;
    if (is_linear(v)) {
        text_add(&w->body, "i");
        return;
    }
    for (int k = 0; k < s->t->ndim; k++) {
        if (!v->stride[k] || v->shape[k] == 1)
            continue;
        text_add(&w->body, "%sc%d", any ? " + " : "", k);
        /* A constant step of 1 along the last axis gives faster code. On a CPU, other steps share one kernel. */
        if (v->stride[k] != 1 || (w->target->cpu && k < s->t->ndim - 1))
            text_add(&w->body, " * g.n%d", writer_number(w, v->stride[k]));
        any = true;
    }
    if (!any)
        text_add(&w->body, "0");
}

/* The distance to the element of the next point of the vector: 0 or 1. */
static int vector_step(const emit_space *s, const view *v)
{
    if (is_linear(v))
        return 1;
    return s->t->ndim ? (int)v->stride[s->t->ndim - 1] : 0;
}

/* ---- vectors ---- */

const char *emit_vector_type(ig_dtype dtype, int n)
{
    static const char *const four[DTYPE_COUNT] = {
        [IG_BOOL] = "uchar4", [IG_I8] = "char4",      [IG_I16] = "short4",
        [IG_I32] = "int4",    [IG_U8] = "uchar4",     [IG_U16] = "ushort4",
        [IG_U32] = "uint4",   [IG_F16] = "ushort4",   [IG_BF16] = "ushort4",
        [IG_F32] = "float4",  [IG_I64] = "longlong2", [IG_U64] = "ulonglong2",
        [IG_F64] = "double2"};
    static const char *const two[DTYPE_COUNT] = {
        [IG_BOOL] = "uchar2", [IG_I8] = "char2",      [IG_I16] = "short2",
        [IG_I32] = "int2",    [IG_U8] = "uchar2",     [IG_U16] = "ushort2",
        [IG_U32] = "uint2",   [IG_F16] = "ushort2",   [IG_BF16] = "ushort2",
        [IG_F32] = "float2",  [IG_I64] = "longlong2", [IG_U64] = "ulonglong2",
        [IG_F64] = "double2"};
    return n == 4 ? four[dtype] : two[dtype];
}

/* True if the operand is one value for the vector, or n aligned neighbours. */
static bool fits_vector(const tape *t, const operand *o, int n)
{
    const view *v = &o->v;
    if (is_constant(v))
        return true;
    if (v->offset % n)
        return false;
    if (is_linear(v))
        return true;
    const int last = t->ndim - 1;
    if (v->stride[last] != 0 && v->stride[last] != 1)
        return false;
    for (int i = 0; i < last && v->stride[last]; i++)
        if (v->stride[i] % n)
            return false;
    return true;
}

int emit_vector_width(const emit_writer *w, const tape *t)
{
    int n = 4;
    (void)w;
    if (t->ndim == 0 || t->n_inst > 64)
        return 1;
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *inst = &t->inst[i];
        const int code = inst->code;
        if (code == TAPE_READ && t->operand[inst->operand].part_len)
            return 1;
        if (code == TAPE_LOAD || code == TAPE_STORE) {
            if (ig_dtype_bytes(t->operand[inst->operand].dtype) == 8)
                n = 2;
        }
    }
    if (t->shape[t->ndim - 1] % n)
        return 1;
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *inst = &t->inst[i];
        if ((inst->code == TAPE_LOAD || inst->code == TAPE_STORE) &&
            !fits_vector(t, &t->operand[inst->operand], n))
            return 1;
    }
    return n;
}

/* ---- statements ---- */

/* def: of each register, the instruction that wrote it last. */
static void value_name(char name[static NAME_BYTES], const int *def, int reg, int u)
{
    snprintf(name, NAME_BYTES, "v%d_%d", reg < 0 ? 0 : def[reg], u);
}

/* The element x that instruction k loads, as a lane. */
static const char *widen(const emit_space *s, int k, const char *x, char out[static 2 * NAME_BYTES])
{
    const tape_inst *inst = &s->t->inst[k];
    const ig_dtype dtype = s->t->operand[inst->operand].dtype;
    if (dtype_is_half(dtype))
        snprintf(out, 2 * NAME_BYTES, "%s_to_f32%s(%s)", ig_dtype_name(dtype),
                 s->nans[inst->dst] & EMIT_NAN_MOVED ? "" : "_quick", x);
    else
        snprintf(out, 2 * NAME_BYTES, "%s", x);
    return out;
}

/* The field of a one-element input that is passed by value, or -1. */
static int value_field(emit_writer *w, const operand *o)
{
    if (!w->target->by_value || !w->target->by_value[o->slot])
        return -1;
    const uint64_t offset = (uint64_t)o->v.offset * ig_dtype_bytes(o->dtype);
    for (int i = 0; i < w->n_value; i++)
        if (w->value[i].slot == o->slot && w->value[i].offset == offset)
            return i;
    if (w->n_value == EMIT_MOST_POINTERS)
        return -1;
    w->value[w->n_value].slot = o->slot;
    w->value[w->n_value].offset = offset;
    w->value[w->n_value].dtype = o->dtype;
    w->needs_f64 = w->needs_f64 || o->dtype == IG_F64;
    return w->n_value++;
}

const char *const emit_component[4] = {"x", "y", "z", "w"};

static void write_load(emit_writer *w, const emit_space *s, int k)
{
    const operand *o = &s->t->operand[s->t->inst[k].operand];
    const char *type = emit_lane_type(o->dtype);
    const int n = s->vector, field = is_constant(&o->v) ? value_field(w, o) : -1;
    char element[NAME_BYTES], wide[2 * NAME_BYTES];
    if (dtype_is_half(o->dtype))
        w->uses |= USES_HALF;
    if (field >= 0) {
        snprintf(element, sizeof element, "g.x%d", field);
        for (int u = 0; u < n; u++)
            text_add(&w->body, "    const %s v%d_%d = %s;\n", type, k, u,
                     widen(s, k, element, wide));
        return;
    }
    const held_use held = s->held ? held_load(w, s, k) : HELD_NOT;
    if (held == HELD_DONE || (s->locals && rows_local_load(w, s, k)))
        return;
    const int p = writer_operand(w, o, false);
    const int step = vector_step(s, &o->v);
    if (n == 1 || step == 0) {
        text_add(&w->body, "    const %s q%d = p%d[", emit_storage_type(o->dtype), k, p);
        write_offset(w, s, &o->v);
        text_add(&w->body, "];\n");
        snprintf(element, sizeof element, "q%d", k);
        for (int u = 0; u < n; u++)
            text_add(&w->body, "    const %s v%d_%d = %s;\n", type, k, u,
                     widen(s, k, element, wide));
        if (held == HELD_FIRST)
            held_keep(w, s, k);
        return;
    }
    if (s->step > 1) {
        for (int u = 0; u < n; u++) {
            snprintf(element, sizeof element, "p%d[i + %d]", p, u * s->step);
            text_add(&w->body, "    const %s v%d_%d = %s;\n", type, k, u,
                     widen(s, k, element, wide));
        }
        return;
    }
    const char *vector = emit_vector_type(o->dtype, n);
    text_add(&w->body, "    const %s q%d = *(const %s *)(p%d + ", vector, k, vector, p);
    write_offset(w, s, &o->v);
    text_add(&w->body, ");\n");
    for (int u = 0; u < n; u++) {
        snprintf(element, sizeof element, "q%d.%s", k, emit_component[u]);
        text_add(&w->body, "    const %s v%d_%d = %s;\n", type, k, u, widen(s, k, element, wide));
    }
}

static const char *narrowing(const emit_space *s, int value)
{
    return s->nans[value] & EMIT_NAN_COMPUTED ? "_quick" : "";
}

static void narrow(emit_writer *w, const emit_space *s, ig_dtype dtype, int value, const char *x)
{
    if (dtype_is_half(dtype)) {
        w->uses |= USES_HALF;
        text_add(&w->body, "%s_of_f32%s(%s)", ig_dtype_name(dtype), narrowing(s, value), x);
    } else
        text_add(&w->body, "%s", x);
}

/* The value that a store to the dtype must round. A value that was already rounded to the dtype is not rounded
 * again. */
static int unrounded(const tape *t, const int *def, ig_dtype dtype, int value)
{
    const tape_inst *from = &t->inst[def[value]];
    const bool rounds = (from->code == TAPE_ROUND || from->code == TAPE_CAST) &&
                        from->dtype == IG_F32 && from->to == dtype && from->dst == value;
    return rounds && dtype_is_half(dtype) ? from->a : value;
}

static void write_store(emit_writer *w, const emit_space *s, int k, const int *def)
{
    const tape_inst *inst = &s->t->inst[k];
    const operand *o = &s->t->operand[inst->operand];
    const int value = unrounded(s->t, def, o->dtype, inst->a);
    char name[NAME_BYTES];
    const int n = s->vector;
    if ((s->held && held_store(w, s, k, def)) || (s->locals && rows_local_store(w, s, k, def)))
        return;
    const int p = writer_operand(w, o, true);
    if (n == 1) {
        value_name(name, def, value, 0);
        text_add(&w->body, "    p%d[", p);
        write_offset(w, s, &o->v);
        text_add(&w->body, "] = ");
        narrow(w, s, o->dtype, value, name);
        text_add(&w->body, ";\n");
        return;
    }
    const char *vector = emit_vector_type(o->dtype, n);
    text_add(&w->body, "    %s s%d;\n", vector, k);
    for (int u = 0; u < n; u++) {
        value_name(name, def, value, u);
        text_add(&w->body, "    s%d.%s = ", k, emit_component[u]);
        narrow(w, s, o->dtype, value, name);
        text_add(&w->body, ";\n");
    }
    text_add(&w->body, "    *(%s *)(p%d + ", vector, p);
    write_offset(w, s, &o->v);
    text_add(&w->body, ") = s%d;\n", k);
}

/* The number of the u-th point. In a tile, numbers continue from the previous tile; they have 64 bits, even if an idx
 * has 32. */
static void write_point(emit_writer *w, const emit_space *s, int u)
{
    const operand *last = s->t->n_operand ? &s->t->operand[s->t->n_operand - 1] : NULL;
    text_add(&w->body, "(long long)i + %d", u);
    if (!last || last->slot >= 0)
        return;
    const int low = writer_number(w, (int32_t)(uint32_t)(uint64_t)last->first_index);
    const int high = writer_number(w, (int32_t)(uint32_t)((uint64_t)last->first_index >> 32));
    text_add(&w->body,
             " + (long long)((unsigned long long)(unsigned int)g.n%d << 32 | (unsigned int)g.n%d)",
             high, low);
}

/* The checked index of a TAPE_READ or TAPE_UNPACK, without the end of the statement. */
static void write_index(emit_writer *w, const emit_space *s, int k, const int *def, int u)
{
    const tape_inst *inst = &s->t->inst[k];
    const int len = writer_number(w, s->t->operand[inst->operand].axis_len);
    char index[NAME_BYTES];
    value_name(index, def, inst->a, u);
    text_add(&w->body, "    const idx j%d_%d = (idx)check_index(%s, g.n%d, ", k, u, index, len);
    write_point(w, s, u);
    text_add(&w->body, ", (int)g.n%d, fault)", writer_record(w, s->program));
}

/* dst = operand at the point, moved by the index times the stride of the indexed axis. */
static void write_read(emit_writer *w, const emit_space *s, int k, const int *def, int u)
{
    const tape_inst *inst = &s->t->inst[k];
    const operand *o = &s->t->operand[inst->operand];
    const int number = is_constant(&o->v) && !o->part_len ? value_field(w, o) : -1;
    char element[NAME_BYTES], wide[2 * NAME_BYTES];
    if (dtype_is_half(o->dtype))
        w->uses |= USES_HALF;
    if (number >= 0) { /* one element at all indices: only the check matters */
        write_index(w, s, k, def, u);
        snprintf(element, sizeof element, "g.x%d", number);
        text_add(&w->body, ";\n    (void)j%d_%d;\n    const %s v%d_%d = %s;\n", k, u,
                 emit_lane_type(o->dtype), k, u, widen(s, k, element, wide));
        return;
    }
    const int stride = writer_number(w, o->axis_stride);
    const int p = writer_operand(w, o, false);
    write_index(w, s, k, def, u);
    if (o->part_len)
        text_add(&w->body, " - g.n%d;\n    if (j%d_%d < 0 || j%d_%d >= g.n%d)\n        return;\n",
                 writer_number(w, o->part_first), k, u, k, u, writer_number(w, o->part_len));
    else
        text_add(&w->body, ";\n");
    text_add(&w->body, "    const %s q%d_%d = p%d[", emit_storage_type(o->dtype), k, u, p);
    write_offset(w, s, &o->v);
    if (u && vector_step(s, &o->v))
        text_add(&w->body, " + %d * g.n%d", u, writer_number(w, vector_step(s, &o->v)));
    text_add(&w->body, " + j%d_%d * g.n%d];\n", k, u, stride);
    snprintf(element, sizeof element, "q%d_%d", k, u);
    text_add(&w->body, "    const %s v%d_%d = %s;\n", emit_lane_type(o->dtype), k, u,
             widen(s, k, element, wide));
}

/* dst = the element of blocks at the point, moved by the index, if there is one. */
static void write_unpack(emit_writer *w, const emit_space *s, int k, const int *def, int u)
{
    const tape_inst *inst = &s->t->inst[k];
    const operand *o = &s->t->operand[inst->operand];
    char at[NAME_BYTES], element[EMIT_UNPACK_BYTES];
    if (inst->a >= 0) {
        write_index(w, s, k, def, u);
        text_add(&w->body, ";\n");
    }
    text_add(&w->body, "    const idx e%d_%d = g.n%d + ", k, u, writer_number(w, o->v.offset));
    write_offset(w, s, &o->v);
    if (u && vector_step(s, &o->v))
        text_add(&w->body, " + %d * g.n%d", u, writer_number(w, vector_step(s, &o->v)));
    if (inst->a >= 0)
        text_add(&w->body, " + j%d_%d * g.n%d", k, u, writer_number(w, o->axis_stride));
    snprintf(at, sizeof at, "e%d_%d", k, u);
    text_add(&w->body, ";\n    const float v%d_%d = %s;\n", k, u, writer_unpack(w, o, at, element));
}

/* True if four values of Philox come from one block: the neighbours of one thread, or of neighbouring lanes. */
static bool shares_blocks(const emit_space *s, const tape_inst *inst)
{
    const operand *o = &s->t->operand[inst->operand];
    return s->vector == 4 && view_size(&o->v) == 4 && inst->to != IG_U64 && o->first_index % 4 == 0;
}

static void write_bits(emit_writer *w, const emit_space *s, int k, int u)
{
    const tape_inst *inst = &s->t->inst[k];
    const operand *o = &s->t->operand[inst->operand];
    const int words = (int)view_size(&o->v), p = writer_operand(w, o, false);
    const char *type = emit_lane_type((ig_dtype)inst->to);
    w->uses |= USES_RANDOM;
    /* The index of the first point has 64 bits, even if an idx has 32. */
    const int low = writer_number(w, (int32_t)(uint32_t)(uint64_t)o->first_index);
    const int high = writer_number(w, (int32_t)(uint32_t)((uint64_t)o->first_index >> 32));
    const int step = writer_number(w, words > 1 ? o->v.stride[o->v.ndim - 1] : 1);
    if (shares_blocks(s, inst)) {
        if (u == 0)
            text_add(&w->body,
                     "    const philox_block b%d = philox%s(p%d, g.n%d, (unsigned long long)i + "
                     "((unsigned long long)(unsigned int)g.n%d << 32 | (unsigned int)g.n%d));\n",
                     k, s->step > 1 ? "_lanes" : "_four", p, step, high, low);
        text_add(&w->body, "    const %s v%d_%d = (%s)b%d.x[%d];\n", type, k, u, type, k, u);
        return;
    }
    text_add(&w->body, "    const %s v%d_%d = (%s)%s_%s(p%d, g.n%d, (unsigned long long)(", type, k,
             u, type, words == 4 ? "philox" : "threefry", inst->to == IG_U64 ? "u64" : "u32", p,
             step);
    text_add(&w->body,
             "i + %d) + ((unsigned long long)(unsigned int)g.n%d << 32 | (unsigned int)g.n%d));\n",
             u * (s->step > 1 ? s->step : 1), high, low);
}

/* True if only roundings to halves read the value of instruction k. */
static bool is_for_halves(const tape *t, int k)
{
    const int value = t->inst[k].dst;
    for (int i = k + 1; i < t->n_inst; i++) {
        const tape_inst *in = &t->inst[i];
        const bool rounds = (in->code == TAPE_ROUND || in->code == TAPE_CAST) &&
                            in->dtype == IG_F32 && dtype_is_half((ig_dtype)in->to);
        if (!rounds && (in->a == value || in->b == value || in->c == value))
            return false;
        if (in->code != TAPE_STORE && in->dst == value)
            break;
    }
    return true;
}

static void write_map(emit_writer *w, const emit_space *s, int k, const int *def, int u)
{
    const tape_inst *inst = &s->t->inst[k];
    const bool truth = op_rows[inst->op].result == RESULT_TRUTH;
    char a[NAME_BYTES], b[NAME_BYTES], c[NAME_BYTES];
    value_name(a, def, inst->a, u);
    value_name(b, def, inst->b, u);
    value_name(c, def, inst->c, u);
    w->needs_f64 = w->needs_f64 || inst->dtype == IG_F64;
    text_add(&w->body, "    const %s v%d_%d = ",
             truth ? "unsigned char" : emit_lane_type((ig_dtype)inst->dtype), k, u);
    if (inst->op == OP_where)
        text_add(&w->body, "%s ? %s : %s", a, b, c);
    else if (w->target->halves && inst->op == OP_gelu_erf && is_for_halves(s->t, k)) {
        w->uses |= USES_MATH;
        text_add(&w->body, "m_gelu_half(%s)", a);
    } else {
        if (emit_needs_math(inst->op))
            w->uses |= USES_MATH;
        emit_expression(&w->body, inst->op, (ig_dtype)inst->dtype, a, inst->b >= 0 ? b : NULL);
    }
    text_add(&w->body, ";\n");
}

static void write_convert(emit_writer *w, const emit_space *s, int k, const int *def, int u)
{
    const tape_inst *inst = &s->t->inst[k];
    char a[NAME_BYTES];
    value_name(a, def, inst->a, u);
    text_add(&w->body, "    const %s v%d_%d = ", emit_lane_type((ig_dtype)inst->to), k, u);
    if (dtype_is_half((ig_dtype)inst->to) && dtype_lane((ig_dtype)inst->dtype) == IG_F32) {
        w->uses |= USES_HALF;
        text_add(&w->body, "round_%s%s(%s)", ig_dtype_name((ig_dtype)inst->to),
                 narrowing(s, inst->a), a);
    } else
        emit_cast(w, (ig_dtype)inst->dtype, (ig_dtype)inst->to, a);
    text_add(&w->body, ";\n");
}

static void write_inst(emit_writer *w, const emit_space *s, int k, const int *def)
{
    const tape_inst *inst = &s->t->inst[k];
    if (inst->code == TAPE_LOAD) {
        write_load(w, s, k);
        return;
    }
    if (inst->code == TAPE_STORE) {
        write_store(w, s, k, def);
        return;
    }
    for (int u = 0; u < s->vector; u++)
        switch (inst->code) {
        case TAPE_MAP: write_map(w, s, k, def, u); break;
        case TAPE_CAST:
        case TAPE_ROUND: write_convert(w, s, k, def, u); break;
        case TAPE_IOTA:
            text_add(&w->body, "    const long long v%d_%d = ", k, u);
            write_point(w, s, u * (s->step > 1 ? s->step : 1));
            text_add(&w->body, ";\n");
            break;
        case TAPE_BITS: write_bits(w, s, k, u); break;
        case TAPE_READ: write_read(w, s, k, def, u); break;
        case TAPE_UNPACK: write_unpack(w, s, k, def, u); break;
        case TAPE_CORE:
            text_add(&w->body, "    const %s v%d_%d = %s", emit_lane_type((ig_dtype)inst->dtype), k,
                     u, s->core);
            if (s->vector > 1)
                text_add(&w->body, "%d", u);
            text_add(&w->body, ";\n");
            break;
        default: w->failed = true;
        }
}

void emit_tape(emit_writer *w, const emit_space *space)
{
    const tape *t = space->t;
    int def[INT16_MAX / 8] = {0};
    uint8_t nans[INT16_MAX / 8] = {0};
    if (t->n_reg > INT16_MAX / 8) {
        w->failed = true;
        return;
    }
    emit_space with_nans = *space;
    const emit_space *s = &with_nans;
    emit_find_nans(t, nans);
    with_nans.nans = nans;
    decode_point(w, s);
    for (int k = 0; k < t->n_inst; k++) {
        write_inst(w, s, k, def);
        if (t->inst[k].code != TAPE_STORE && t->inst[k].dst >= 0)
            def[t->inst[k].dst] = k;
    }
    for (int u = 0; t->result >= 0 && s->step > 1 && u < s->vector; u++)
        text_add(&w->body, "    out[%d] = v%d_%d;\n", u, def[t->result], u);
    if (t->result >= 0 && s->step <= 1)
        text_add(&w->body, "    return v%d_0;\n", def[t->result]);
}

bool emit_has_steps(const tape *t)
{
    bool random = false;
    for (int i = 0; i < t->n_inst; i++) {
        const tape_inst *inst = &t->inst[i];
        const view *v = inst->operand >= 0 ? &t->operand[inst->operand].v : NULL;
        random = random || inst->code == TAPE_BITS;
        if (inst->code == TAPE_STORE || inst->code == TAPE_READ || inst->code == TAPE_UNPACK ||
            (inst->code == TAPE_LOAD && !is_linear(v) && !is_constant(v)))
            return false;
    }
    return random && t->size % 4 == 0;
}
