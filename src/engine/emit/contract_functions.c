/* The device functions of a contraction: where the elements of its operands are, how they become lanes, how two are
 * multiplied, and the epilogue. */
#include "engine/emit/contract.h"

#include <stdio.h>

/* name(at): the offset of the at-th point of the group. Only if `special`, the text depends on whether all strides are
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

/* lane_of_m0(x): an element as a lane of the sums. */
static void write_lane_of(emit_writer *w, const contraction *c, int side)
{
    const ig_dtype dtype = c->p->in[side].dtype;
    const char *lane = emit_lane_type(contraction_lane(c->p));
    text_add(&w->body, "static __device__ %s lane_of_%s(%s x)\n{\n    return (%s)", lane,
             c->side[side].name, emit_storage_type(dtype), lane);
    if (dtype_is_half(dtype)) {
        w->uses |= USES_HALF;
        text_add(&w->body, "%s_to_f32_quick(x);\n}\n\n", ig_dtype_name(dtype));
    } else
        text_add(&w->body, "x;\n}\n\n");
}

static void write_multiply(emit_writer *w, int number, ig_dtype lane)
{
    const char *type = emit_lane_type(lane);
    text_add(&w->body, "static __device__ %s multiply_add%d(%s a, %s b, %s c)\n{\n    return ",
             type, number, type, type, type);
    if (lane == IG_F32)
        text_add(&w->body, "fmaf(a, b, c);\n}\n\n");
    else if (lane == IG_F64)
        text_add(&w->body, "fma(a, b, c);\n}\n\n");
    else
        text_add(
            &w->body,
            "(%s)((unsigned long long)c + (unsigned long long)a * (unsigned long long)b);\n}\n\n",
            type);
}

/* total0(row, col, core...): the epilogue. */
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
    text_add(&w->body, "static __device__ void total%d(PARAMS, %sidx row, idx col", c->number,
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

void contraction_functions(emit_writer *w, const contraction *c)
{
    static const char *const parts[3] = {"b", "row", "k"};
    w->needs_f64 = w->needs_f64 || contraction_lane(c->p) == IG_F64;
    for (int side = 0; side < 2; side++) {
        const contract_groups q = contraction_groups(c->p, side);
        const contract_axes all[3] = {q.batch, q.rows, q.k};
        write_lane_of(w, c, side);
        for (int i = 0; i < 3; i++) {
            char name[24];
            snprintf(name, sizeof name, "%s_%s", c->side[side].name, parts[i]);
            /* A CPU gains by a step of 1 in the inner loop that copies a panel only. */
            const bool inner = i == (c->side[side].along_k ? 2 : 1);
            write_group(w, name, &c->p->in[side].v, all[i], inner || !w->target->cpu);
        }
    }
    write_multiply(w, c->number, contraction_lane(c->p));
    write_epilogue(w, c);
}
