/* The device functions of programs that work row by row: values at a point, joins, results, and the addresses of row
 * values that only a chain uses. */
#include "engine/emit/held.h"
#include "engine/emit/rows.h"

#include <stdio.h>

uint32_t rows_grid(int64_t blocks, const emit_target *t)
{
    const int64_t most = t->block_limit ? (int64_t)t->block_limit : EMIT_MOST_BLOCKS;
    return (uint32_t)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

/* ---- values in shared memory ---- */

static const emit_local *local_of(const emit_space *s, int k)
{
    const int slot = s->t->operand[s->t->inst[k].operand].slot;
    for (int i = 0; i < s->locals->n; i++)
        if (s->locals->at[i].slot == slot)
            return &s->locals->at[i];
    return NULL;
}

/* The place of the point's element in the row of the warp. */
static void local_place(emit_writer *w, const emit_space *s, int k, const emit_local *l)
{
    const operand *o = &s->t->operand[s->t->inst[k].operand];
    const int64_t bytes = (int64_t)ig_dtype_bytes(o->dtype);
    const int first = s->axis < 0 ? 0 : s->axis;
    text_add(&w->body, "((%s *)local)[g.n%d + local_row * g.n%d", emit_storage_type(o->dtype),
             writer_number(w, l->offset / bytes), writer_number(w, l->own));
    /* The only row of a chain may be read as far as some column. */
    const bool whole = l->own * s->rows == s->t->size || s->rows == 1;
    if (l->own > 1 && (s->axis < 0 || (view_is_contiguous(&o->v) && whole)))
        text_add(&w->body, " + col");
    else
        for (int i = first; i < s->t->ndim && l->own > 1; i++)
            if (o->v.stride[i] && o->v.shape[i] > 1)
                text_add(&w->body, " + c%d * g.n%d", i, writer_number(w, o->v.stride[i]));
    text_add(&w->body, "]");
}

bool rows_local_load(emit_writer *w, const emit_space *s, int k)
{
    const emit_local *l = local_of(s, k);
    if (!l)
        return false;
    const operand *o = &s->t->operand[s->t->inst[k].operand];
    const bool half = dtype_is_half(o->dtype);
    text_add(&w->body, "    const %s v%d_0 = ", emit_lane_type(o->dtype), k);
    if (half)
        text_add(&w->body, "%s_to_f32(", ig_dtype_name(o->dtype));
    local_place(w, s, k, l);
    text_add(&w->body, "%s;\n", half ? ")" : "");
    return true;
}

bool rows_local_store(emit_writer *w, const emit_space *s, int k, const int *def)
{
    const emit_local *l = local_of(s, k);
    if (!l)
        return false;
    const tape_inst *inst = &s->t->inst[k];
    const operand *o = &s->t->operand[inst->operand];
    text_add(&w->body, "    ");
    local_place(w, s, k, l);
    if (dtype_is_half(o->dtype))
        text_add(&w->body, " = %s_of_f32(v%d_0);\n", ig_dtype_name(o->dtype), def[inst->a]);
    else
        text_add(&w->body, " = v%d_0;\n", def[inst->a]);
    return true;
}

/* ---- functions of one program ---- */

const char *rows_type(const program *p) { return emit_lane_type(p->dtype); }

int64_t rows_type_bytes(const program *p) { return (int64_t)ig_dtype_bytes(dtype_lane(p->dtype)); }

void rows_value(emit_writer *w, const program *p, int k, int64_t rows, const emit_locals *locals,
                const held_values *held)
{
    const int64_t inner = rows ? p->pre.size / rows : 0;
    const emit_space s = {.t = &p->pre,
                          .axis = emit_split_axis(&p->pre, inner),
                          .vector = 1,
                          .locals = locals,
                          .rows = rows,
                          .held = held,
                          .program = k};
    text_add(&w->body, "static __device__ %s value%d(PARAMS, %sidx row, idx col",
             p->pre.result >= 0 ? rows_type(p) : "void", k, ROWS_LOCAL_PARAMS(locals));
    if (held)
        held_params(w, held);
    text_add(&w->body, ")\n{\n");
    if (program_is_span(p))
        text_add(&w->body, "    col += g.n%d;\n", writer_number(w, p->first));
    text_add(&w->body, "    const idx i = row * g.n%d + col;\n", writer_number(w, inner));
    emit_tape(w, &s);
    text_add(&w->body, "}\n\n");
}

void rows_values(emit_writer *w, const program *p, int k, int64_t rows)
{
    const emit_space s = {.t = &p->pre, .axis = -1, .vector = 4, .step = FOLD_WIDTH};
    text_add(&w->body,
             "static __device__ void values%d(PARAMS, idx row, idx col, %s *out)\n{\n"
             "    const idx i = row * g.n%d + col;\n",
             k, rows_type(p), writer_number(w, p->pre.size / rows));
    emit_tape(w, &s);
    text_add(&w->body, "}\n\n");
}

void rows_result(emit_writer *w, const program *p, int k, const emit_locals *locals)
{
    const emit_space s = {.t = &p->post,
                          .axis = p->post.ndim,
                          .vector = 1,
                          .core = "core",
                          .locals = locals,
                          .rows = p->post.size,
                          .program = k};
    const ig_dtype core = p->kind == PROGRAM_ARGREDUCE ? IG_I64 : p->dtype;
    text_add(&w->body,
             "static __device__ void result%d(PARAMS, %sidx row, %s core)\n{\n"
             "    const idx i = row;\n    (void)i;\n",
             k, ROWS_LOCAL_PARAMS(locals), emit_lane_type(core));
    emit_tape(w, &s);
    text_add(&w->body, "}\n\n");
}

void rows_join(emit_writer *w, const program *p, int k)
{
    const char *type = rows_type(p);
    if (emit_needs_math(p->fold))
        w->uses |= USES_MATH;
    w->needs_f64 = w->needs_f64 || p->dtype == IG_F64;
    text_add(&w->body, "static __device__ %s join%d(%s x, %s y)\n{\n    return ", type, k, type,
             type);
    emit_expression(&w->body, p->fold, p->dtype, "x", "y");
    text_add(&w->body, ";\n}\n\n");
    text_add(&w->body, "static __device__ %s identity%d()\n{\n    return ", type, k);
    emit_identity(&w->body, p->fold, p->dtype);
    text_add(&w->body, ";\n}\n\n");
}

/* The name of a hole of the k-th program: "INNER1". */
static const char *hole_of(char name[static 32], const char *hole, int k)
{
    snprintf(name, 32, "%s%d", hole, k);
    return name;
}

void rows_fill(emit_writer *w, const program *p, int k, int64_t rows, rows_shared shared)
{
    char name[32];
    const bool reduces = p->kind == PROGRAM_REDUCE, shuffles = w->target->subgroup == FOLD_WIDTH;
    const char *type = rows_type(p);
    const int64_t inner = reduces ? p->inner : rows ? p->pre.size / rows : 0;
    hole_int(w, hole_of(name, "REDUCES", k), reduces);
    if (w->windows)
        hole_int(w, hole_of(name, "INNER", k), inner);
    else
        hole_size(w, hole_of(name, "INNER", k), inner);
    hole_text(w, hole_of(name, "TYPE", k), "%s", type);
    text_add(&w->body, "#define DOWN%d(x, n) (%s)__shfl_down_sync(0xffffffffu, x, n)\n", k, type);
    text_add(&w->body, "#define FOLD_PARAMS%d ", k);
    if (reduces && shared == ROWS_CHUNK_SHARED)
        text_add(&w->body, ", %s *chunk", type);
    if (reduces && shared != ROWS_NO_SHARED && !shuffles)
        text_add(&w->body, ", %s *s", type);
    text_add(&w->body, "\n#define FOLD_ARGS%d %s\n", k, shuffles ? "" : ", s");
}

void rows_functions(emit_writer *w, const program *p, int k, int64_t rows,
                    const emit_locals *locals, const held_values *held, rows_shared shared)
{
    rows_value(w, p, k, rows, locals, held);
    if (p->kind == PROGRAM_REDUCE) {
        rows_join(w, p, k);
        rows_result(w, p, k, locals);
    }
    rows_fill(w, p, k, rows, shared);
    text_add(&w->body, "#undef K\n#define K %d\n#include \"rows_lanes.cuh\"\n", k);
    if (shared == ROWS_NO_SHARED)
        text_add(&w->body, "#include \"rows_serial.cuh\"\n");
}

void rows_fill_common(emit_writer *w, const emit_locals *locals)
{
    hole_int(w, "SHUFFLES", w->target->subgroup == FOLD_WIDTH);
    hole_int(w, "FOLD_CHUNK", FOLD_CHUNK);
    hole_int(w, "ROWS_WARPS", ROWS_WARPS);
    hole_text(w, "ROW_PARAMS", "%s", ROWS_LOCAL_PARAMS(locals));
    hole_text(w, "ROW_ARGS", "%s", ROWS_ARGS(locals));
}

void rows_declare_shared(emit_writer *w, const program *p, int k, int chunks)
{
    if (p->kind != PROGRAM_REDUCE)
        return;
    if (w->target->subgroup != FOLD_WIDTH)
        text_add(&w->body, "__shared__ %s s%d[%d]; ", rows_type(p), k, ROWS_THREADS);
    if (chunks)
        text_add(&w->body, "__shared__ %s chunk%d[%d]; ", rows_type(p), k, chunks);
}

int64_t rows_shared_bytes(const program *p, int n, const emit_target *t, int chunks)
{
    const int64_t values = chunks + (t->subgroup != FOLD_WIDTH ? ROWS_THREADS : 0);
    int64_t bytes = 0;
    for (int k = 0; k < n; k++)
        if (p[k].kind == PROGRAM_REDUCE)
            bytes += values * rows_type_bytes(&p[k]);
    return bytes;
}

void rows_pass_shared(emit_writer *w, const program *p, int k, bool chunks)
{
    if (p->kind != PROGRAM_REDUCE)
        return;
    if (chunks)
        text_add(&w->body, ", chunk%d", k);
    if (w->target->subgroup != FOLD_WIDTH)
        text_add(&w->body, ", s%d", k);
}

void rows_set_lengths(const program *p, int n, emit_locals *locals)
{
    for (int i = 0; i < locals->n; i++) {
        emit_local *l = &locals->at[i];
        int64_t element = 0;
        for (int k = 0; k < n && !element; k++) {
            const tape *tapes[2] = {&p[k].pre, &p[k].post};
            for (int j = 0; j < 2; j++)
                for (int o = 0; o < tapes[j]->n_operand && !element; o++)
                    if (tapes[j]->operand[o].slot == l->slot)
                        element = (int64_t)ig_dtype_bytes(tapes[j]->operand[o].dtype);
        }
        l->own /= element ? element : 1;
    }
}
