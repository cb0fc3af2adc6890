/* Fills kernels/contract_tile.cuh: the holes of a contraction, and its device functions: offsets of its operands'
 * elements, and the epilogue. kernels/contract_names.cuh defines the names: c0_ROWS, m0_TILE. */
#include "engine/emit/contract.h"

#include "base/error.h"

#include <stdio.h>

/* name(at): the offset of the at-th point of the group. If `special`, the text also depends on whether all strides are
 * 0, and on whether one is 1. */
static void write_group(emit_writer *w, const char *name, const view *v, contract_axes a,
                        bool special)
{
    view part = {.ndim = a.n};
    for (int i = 0; i < a.n; i++) {
        part.shape[i] = v->shape[a.first + i];
        part.stride[i] = v->stride[a.first + i];
    }
    view *all[1] = {&part};
    view_collapse(all, 1);
    text_add(&w->body, "static __device__ idx %s(sizes g, idx at)\n{\n", name);
    if (special && part.ndim == 0)
        text_add(&w->body, "    return 0;\n");
    else if (special && part.ndim == 1 && part.stride[0] == 1)
        text_add(&w->body, "    return at;\n");
    else {
        text_add(&w->body, "    idx offset = 0;\n");
        for (int i = part.ndim - 1; i > 0; i--) {
            const int n = writer_number(w, part.shape[i]);
            text_add(&w->body, "    offset += at %% g.n%d * g.n%d;\n    at /= g.n%d;\n", n,
                     writer_number(w, part.stride[i]), n);
        }
        text_add(&w->body, "    return offset + at * g.n%d;\n",
                 writer_number(w, part.ndim ? part.stride[0] : 0));
    }
    text_add(&w->body, "}\n\n");
}

ig_dtype contraction_lane(const program *p)
{
    return dtype_lane(p->post.n_inst > 0 ? (ig_dtype)p->post.inst[0].dtype : p->dtype);
}

/* The name of a hole or function of the contraction c, or of its side m or n; valid for the next seven calls. Without
 * memory it is empty: then no module can be built either. */
static const char *name_of(char letter, const contraction *c, const char *name)
{
    char *at = thread_text();
    if (at)
        snprintf(at, THREAD_TEXT_BYTES, "%c%d_%s", letter, c->number, name);
    return at ? at : "";
}

/* c0_total(ARGS, row, col, core...): the epilogue. */
static void write_epilogue(emit_writer *w, const contraction *c)
{
    const program *p = c->p;
    const char *lane = emit_lane_type(contraction_lane(p));
    const emit_space s = {.t = &p->post,
                          .axis = emit_split_axis(&p->post, p->extent[2]),
                          .vector = c->vector,
                          .core = "core",
                          .locals = c->locals,
                          .rows = c->chain_rows,
                          .held = c->held,
                          .program = c->program};
    text_add(&w->body, "static __device__ void c%d_total(PARAMS, %sidx row, idx col", c->number,
             CONTRACT_LOCAL_PARAMS(c));
    for (int u = 0; u < c->vector; u++)
        text_add(&w->body, c->vector > 1 ? ", %s core%d" : ", %s core", lane, u);
    if (c->held)
        held_params(w, c->held);
    text_add(&w->body, ")\n{\n    const idx i = row * g.n%d + col;\n    (void)i;\n",
             writer_number(w, p->extent[2]));
    emit_tape(w, &s);
    text_add(&w->body, "}\n\n");
}

/* Holes of a side whose panel goes through registers. */
static void fill_loads(emit_writer *w, const contraction *c, int side)
{
    const contract_side *s = &c->side[side];
    const char x = side ? 'n' : 'm';
    const int threads = c->shape.threads, points = c->shape.points;
    const int across = (s->along_k ? points : s->tile) / s->vector;
    const int loads = s->tile * points / s->vector / threads;
    const bool one_row = !s->along_k && threads % across == 0;
    hole_int(w, name_of(x, c, "TOGETHER"),
             !s->along_k && s->vector > 1 && s->vector == c->shape.vector);
    hole_text(w, name_of(x, c, "LANES"), "%s", emit_vector_type(contraction_lane(c->p), s->vector));
    hole_int(w, name_of(x, c, "VECTOR"), s->vector);
    hole_int(w, name_of(x, c, "ACROSS"), across);
    hole_int(w, name_of(x, c, "LOADS"), loads);
    hole_int(w, name_of(x, c, "ROW_LOADS"), one_row ? 1 : loads);
    hole_int(w, name_of(x, c, "PITCH"), s->pitch);
    hole_int(w, name_of(x, c, "TABLE"), s->table);
    hole_int(w, name_of(x, c, "TABLE_AT"),
             side && c->side[0].table ? contraction_table_bytes(w, c->p) / (w->wide ? 8 : 4) : 0);
}

static void fill_side(emit_writer *w, const contraction *c, int side)
{
    static const char *const parts[3] = {"b", "row", "k"};
    const contract_side *s = &c->side[side];
    const operand *o = &c->p->in[side];
    const contract_groups q = contraction_groups(c->p, side);
    const contract_axes all[3] = {q.batch, q.rows, q.k};
    const emit_local *from = side ? NULL : c->from;
    const char x = side ? 'n' : 'm', *lane = emit_lane_type(contraction_lane(c->p));
    const int64_t bytes = (int64_t)ig_dtype_bytes(o->dtype);
    for (int i = 0; i < 3; i++) {
        /* On a CPU, a known step of 1 helps only in the inner loop that copies a panel. */
        const bool inner = i == (s->along_k ? 2 : 1);
        write_group(w, name_of(x, c, parts[i]), &o->v, all[i], inner || !w->target->cpu);
    }
    const bool packed = !storage_is_plain(o->stored);
    const char *load = s->vector > 1 && !w->target->cpu ? emit_vector_type(o->dtype, s->vector)
                       : packed                         ? "float"
                                                        : emit_storage_type(o->dtype);
    hole_text(w, name_of(x, c, "LOAD"), "%s", load);
    if (packed && dtype_is_half(o->dtype)) {
        hole_text(w, name_of(x, c, "LANE_OF(x)"), "(%s)round_%s(x)", lane, ig_dtype_name(o->dtype));
    } else if (dtype_is_half(o->dtype)) {
        w->uses |= USES_HALF;
        hole_text(w, name_of(x, c, "LANE_OF(x)"), "(%s)%s_to_f32_quick(x)", lane,
                  ig_dtype_name(o->dtype));
    } else
        hole_text(w, name_of(x, c, "LANE_OF(x)"), "(%s)(x)", lane);
    hole_int(w, name_of(x, c, "TILE"), s->tile);
    hole_int(w, name_of(x, c, "ALONG_K"), s->along_k);
    hole_int(w, name_of(x, c, "LOCAL"), from != NULL);
    if (from) {
        hole_text(w, name_of(x, c, "LOAD_AT(at)"), "((const %s *)local)[at]",
                  emit_storage_type(o->dtype));
        hole_size(w, name_of(x, c, "LOCAL_AT"), from->offset / bytes);
        hole_size(w, name_of(x, c, "LOCAL_ROW"), from->own);
    } else if (packed) {
        char at[EMIT_UNPACK_BYTES], first[EMIT_UNPACK_BYTES];
        snprintf(first, sizeof first, "g.n%d + (at)", writer_number(w, o->v.offset));
        hole_text(w, name_of(x, c, "LOAD_AT(at)"), "%s", writer_unpack(w, o, first, at));
    } else if (side || !c->in_registers)
        hole_text(w, name_of(x, c, "LOAD_AT(at)"), "(*(const %s *)(p%d + (at)))", load,
                  writer_operand(w, o, false));
    if (!w->target->cpu)
        fill_loads(w, c, side);
}

/* Holes for the threads' sums. */
static void fill_shape(emit_writer *w, const contraction *c)
{
    const contract_shape *s = &c->shape;
    const ig_dtype lane = contraction_lane(c->p);
    const int x = s->vector < s->rows ? s->vector : s->rows;
    const int y = s->vector < s->cols ? s->vector : s->cols;
    hole_int(w, name_of('c', c, "THREADS"), s->threads);
    hole_int(w, name_of('c', c, "WARPS_N"), s->warps_n);
    hole_int(w, name_of('c', c, "ROWS"), s->rows);
    hole_int(w, name_of('c', c, "COLS"), s->cols);
    hole_int(w, name_of('c', c, "GROUP_M"), s->rows < GROUP ? s->rows : GROUP);
    hole_int(w, name_of('c', c, "GROUP_N"), s->cols < GROUP ? s->cols : GROUP);
    hole_int(w, name_of('c', c, "X_VECTOR"), x);
    hole_int(w, name_of('c', c, "Y_VECTOR"), y);
    hole_text(w, name_of('c', c, "X_TYPE"), "%s",
              x > 1 ? emit_vector_type(lane, x) : emit_lane_type(lane));
    hole_text(w, name_of('c', c, "Y_TYPE"), "%s",
              y > 1 ? emit_vector_type(lane, y) : emit_lane_type(lane));
    /* Compilers need nearly twice the time for 16 unrolled points as for 4. That only pays if the floating-point unit
     * would otherwise wait. */
    hole_int(w, name_of('c', c, "FLOATS"), dtype_is_float(lane));
    hole_int(w, name_of('c', c, "STORE"), c->vector);
    hole_int(w, name_of('c', c, "MATRICES"), s->matrices);
    hole_int(w, name_of('c', c, "LARGE"), s->large);
    hole_int(w, name_of('c', c, "SAME"), w->target->same);
}

static void fill_multiply(emit_writer *w, const contraction *c)
{
    const ig_dtype lane = contraction_lane(c->p);
    const char *hole = name_of('c', c, "MULTIPLY_ADD(a, b, c)");
    if (lane == IG_F32)
        hole_text(w, hole, "fmaf(a, b, c)");
    else if (lane == IG_F64)
        hole_text(w, hole, "fma(a, b, c)");
    else
        hole_text(
            w, hole,
            "(%s)((unsigned long long)(c) + (unsigned long long)(a) * (unsigned long long)(b))",
            emit_lane_type(lane));
}

void contraction_fill(emit_writer *w, const contraction *c)
{
    const program *p = c->p;
    w->needs_f64 = w->needs_f64 || contraction_lane(p) == IG_F64;
    if (c->number == 0) {
        hole_int(w, "TILE_K", TILE_K);
        hole_int(w, "GROUP", GROUP);
        hole_int(w, "LANES_N", LANES_N);
        hole_int(w, "LANES_M", LANES_M);
    }
    for (int side = 0; side < 2; side++)
        fill_side(w, c, side);
    fill_multiply(w, c);
    hole_text(w, name_of('c', c, "LANE"), "%s", emit_lane_type(contraction_lane(p)));
    hole_int(w, name_of('c', c, "CPU"), w->target->cpu);
    hole_int(w, name_of('c', c, "POINTS"), c->shape.points);
    hole_int(w, name_of('c', c, "PANEL_BYTES"), contraction_panel_bytes(w, c));
    hole_text(w, name_of('c', c, "EXTRA_ARGS"), "%s", CONTRACT_LOCAL_ARGS(c));
    hole_size(w, name_of('c', c, "M_END"), p->extent[1]);
    hole_size(w, name_of('c', c, "N_END"), p->extent[2]);
    hole_size(w, name_of('c', c, "K_END"), p->extent[3]);
    hole_size(w, name_of('c', c, "BLOCK"), contraction_block(w, p));
    if (w->target->cpu) {
        hole_int(w, name_of('c', c, "SERIAL_ROWS"), SERIAL_ROWS);
        hole_int(w, name_of('c', c, "SERIAL_COLS"), SERIAL_COLS);
    } else
        fill_shape(w, c);
    write_epilogue(w, c);
}
