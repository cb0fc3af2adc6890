/* Searches in sorted rows, and writes at computed indices. */
#include "engine/emit/indexed.h"
#include "engine/emit/tiles.h"

#include "base/error.h"
#include "engine/ops/ops.h"

#include <stdio.h>
#include <string.h>

enum { THREADS = INDEXED_THREADS };

/* ---- searches ---- */

ig_status emit_search(const program *p, const emit_target *t, emitted *out)
{
    const int64_t size = view_size(&p->in[1].v), len = view_size(&p->in[0].v);
    const view *sorted = &p->in[0].v;
    if (size == 0)
        return IG_OK;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    write_keys(&w, p->in[0].dtype, false);
    write_place(&w, "place", &p->in[1].v, 1);
    write_place(&w, "target", &p->out.v, 1);
    hole_int(&w, "THREADS", THREADS);
    hole_int(&w, "RIGHT", p->right);
    hole_size(&w, "SIZE", size);
    hole_size(&w, "LENGTH", len);
    hole_size(&w, "STEP", sorted->ndim > 0 ? sorted->stride[sorted->ndim - 1] : 1);
    hole_pointer(&w, "SORTED", writer_operand(&w, &p->in[0], false));
    hole_pointer(&w, "VALUES", writer_operand(&w, &p->in[1], false));
    hole_pointer(&w, "OUT", writer_operand(&w, &p->out, true));
    writer_template(&w, "search.cu", NULL);
    return writer_launch(&w, "search", indexed_grid(ceil_div(size, THREADS), t), THREADS);
}

/* ---- writes at computed indices ----
 *
 * If the output is larger than a launch can reach, the last launches are repeated for each out_part of it, and skip
 * lines that begin elsewhere. If the updates are larger than that, they are written some rows at a time, in order. */

/* The range where lines may begin: elements [first, first + len) of the output; len 0: anywhere. */
typedef struct out_part {
    int64_t first, len;
} out_part;

/* The buffer of the output, starting at the part. Spots count from the start of the buffer, because spots of a view
 * with negative strides are before its first element. */
static operand part_out(const program *p, out_part of)
{
    operand o = p->out;
    o.v.offset = of.first;
    return o;
}

/* The length of a line: the trailing axes along which the index is constant and the output position moves. Elements of
 * one line never overlap. */
static int64_t line_length(const program *p, int *axis)
{
    const view *out = &p->out.v, *index = &p->in[0].v;
    int64_t length = 1;
    int i = out->ndim;
    while (i > 0 && index->stride[i - 1] == 0 &&
           (out->stride[i - 1] != 0 || out->shape[i - 1] == 1)) {
        i--;
        length *= out->shape[i];
    }
    *axis = i;
    return length;
}

static view part_of(const view *v, int first, int end)
{
    view part = {.ndim = end - first};
    memcpy(part.shape, v->shape + first, (size_t)part.ndim * sizeof *part.shape);
    memcpy(part.stride, v->stride + first, (size_t)part.ndim * sizeof *part.stride);
    return part;
}

/* spot(line): the offset in the output's buffer where a line begins. at(line, k): the offset of its k-th element. */
static void write_spots(emit_writer *w, const program *p, int axis, int64_t length)
{
    const int nd = p->out.v.ndim;
    const view lead_out = part_of(&p->out.v, 0, axis), lead_index = part_of(&p->in[0].v, 0, axis);
    const view line_out = part_of(&p->out.v, axis, nd);
    const int index = writer_operand(w, &p->in[0], false);
    char start[32] = "", offset[32] = "";
    if (p->out.first_index)
        snprintf(start, sizeof start, "g.n%d + ", writer_number(w, p->out.first_index));
    if (p->out.v.offset)
        snprintf(offset, sizeof offset, "g.n%d + ", writer_number(w, p->out.v.offset));
    write_place(w, "lead_place", &lead_out, 1);
    write_place(w, "index_place", &lead_index, 1);
    write_place(w, "line_place", &line_out, length);
    write_place(w, "update_place", &p->in[1].v, length);
    text_add(&w->body,
             "static __device__ idx spot(PARAMS, idx line)\n{\n"
             "    const idx index = (idx)check_index((long long)p%d[index_place(g, line, 0)], "
             "g.n%d, %s(long long)line * g.n%d, g.n%d, fault);\n"
             "    return %slead_place(g, line, 0) + index * g.n%d;\n}\n\n",
             index, writer_number(w, p->out.axis_len), start, writer_number(w, length),
             writer_record(w, 0), offset, writer_number(w, p->out.axis_stride));
}

/* Starts a kernel of kernels/write.cu with its common holes. */
static ig_status start_write(emit_writer *w, const program *p, const emit_target *t, out_part of,
                             emitted *out)
{
    int axis;
    const int64_t length = line_length(p, &axis), size = view_size(&p->out.v);
    TRY(writer_start(w, t, out));
    w->wide = !emit_is_narrow(p, 1);
    write_spots(w, p, axis, length);
    hole_int(w, "THREADS", THREADS);
    hole_size(w, "LINES", size / length);
    hole_size(w, "LENGTH", length);
    hole_size(w, "SIZE", size);
    hole_int(w, "PARTS", of.len > 0);
    if (of.len) {
        hole_size(w, "PART_FIRST", of.first);
        hole_size(w, "PART_LEN", of.len);
    }
    return IG_OK;
}

static ig_status finish_write(emit_writer *w, const char *hole, const char *entry, int64_t jobs)
{
    writer_template(w, "write.cu", hole);
    return writer_launch(w, entry, indexed_grid(ceil_div(jobs, THREADS), w->target), THREADS);
}

static void fill_arrays(emit_writer *w, const program *p, out_part of)
{
    const operand target = part_out(p, of);
    hole_pointer(w, "OUT", writer_operand(w, &target, true));
    hole_pointer(w, "UPDATES", writer_operand(w, &p->in[1], false));
}

/* Adds the sorted lines: each run of equal spots in order. */
static ig_status write_sums(const program *p, const emit_target *t, const radix *r, int last,
                            out_part of, emitted *out)
{
    const char *name = ig_dtype_name(p->dtype);
    emit_writer w;
    TRY(start_write(&w, p, t, of, out));
    fill_arrays(&w, p, of);
    hole_text(&w, "KEY", "%s", r->type);
    hole_pointer(&w, "KEYS", writer_scratch(&w, r->type, r->item[last]));
    hole_pointer(&w, "ORDER", writer_scratch(&w, "unsigned int", r->number[last]));
    hole_text(&w, "LANE", "%s", emit_lane_type(p->dtype));
    if (dtype_is_half(p->dtype)) { /* each sum is rounded before the next */
        w.uses |= USES_HALF;
        hole_text(&w, "LANE_OF", "%s_to_f32", name);
        hole_text(&w, "ELEMENT_OF", "%s_of_f32", name);
        hole_text(&w, "ADD(sum, x)", "round_%s(sum + x)", name);
    } else {
        w.needs_f64 = w.needs_f64 || p->dtype == IG_F64;
        hole_text(&w, "LANE_OF", " ");
        hole_text(&w, "ELEMENT_OF", " ");
        text_add(&w.body, "#define ADD(sum, x) ");
        if (p->dtype == IG_BOOL)
            text_add(&w.body, "sum | x");
        else
            emit_expression(&w.body, OP_add, p->dtype, "sum", "x");
        text_add(&w.body, "\n");
    }
    return finish_write(&w, "WRITE_SUMS", "write_sums", view_size(&p->out.v));
}

/* Adds updates in order: lines are sorted by their spot, then each run of equal spots is added up. */
static ig_status emit_add(const program *p, const emit_target *t, out_part each, emitted *out)
{
    int axis, last, bits = 0;
    const int64_t lines = view_size(&p->out.v) / line_length(p, &axis);
    const int64_t elements = emit_slot_bytes(t, p->out.slot) / (int64_t)ig_dtype_bytes(p->dtype);
    while (bits < 63 && elements >> bits)
        bits++;
    radix r = {.rows = 1,
               .inner = lines,
               .bits = bits,
               .item_bytes = bits > 32 ? 8 : 4,
               .type = bits > 32 ? "unsigned long long" : "unsigned int",
               .numbers = true,
               .wide = !emit_is_narrow(p, 1)};
    const uint64_t bytes = radix_layout(&r, t);
    out->scratch_bytes = out->scratch_bytes < bytes ? bytes : out->scratch_bytes;
    emit_writer w;
    TRY(start_write(&w, p, t, (out_part){0, 0}, out));
    hole_text(&w, "KEY", "%s", r.type);
    hole_pointer(&w, "KEYS", writer_scratch(&w, r.type, r.item[0]));
    hole_pointer(&w, "ORDER", writer_scratch(&w, "unsigned int", r.number[0]));
    TRY(finish_write(&w, "WRITE_KEYS", "write_keys", lines));
    TRY(radix_sort(&r, t, out, &last));
    if (!each.len)
        return write_sums(p, t, &r, last, each, out);
    for (; each.first < elements; each.first += each.len)
        TRY(write_sums(p, t, &r, last, each, out));
    return IG_OK;
}

/* The last update of each element wins: the greatest line with the same spot. */
static ig_status put_part(const program *p, const emit_target *t, out_part of, emitted *out)
{
    static const char *const entries[3] = {"write_clear", "write_claim", "write_put"};
    static const char *const holes[3] = {"WRITE_CLEAR", "WRITE_CLAIM", "WRITE_PUT"};
    int axis;
    const int64_t size = view_size(&p->out.v), lines = size / line_length(p, &axis);
    for (int step = 0; step < 3; step++) {
        emit_writer w;
        TRY(start_write(&w, p, t, of, out));
        hole_pointer(&w, "CLAIM", writer_scratch(&w, "unsigned int", 0));
        if (step == 2)
            fill_arrays(&w, p, of);
        TRY(finish_write(&w, holes[step], entries[step], step == 2 ? size : lines));
    }
    return IG_OK;
}

static ig_status emit_put(const program *p, const emit_target *t, out_part each, emitted *out)
{
    int axis;
    const int64_t length = line_length(p, &axis), lines = view_size(&p->out.v) / length;
    const int64_t elements = emit_slot_bytes(t, p->out.slot) / (int64_t)ig_dtype_bytes(p->dtype);
    const uint64_t bytes = (uint64_t)(each.len ? each.len : elements) * 4;
    if (lines >= UINT32_MAX)
        FAIL(IG_ERR_UNSUPPORTED, "scatter: %lld updates; a device takes up to 4294967294",
             (long long)lines);
    out->scratch_bytes = out->scratch_bytes < bytes ? bytes : out->scratch_bytes;
    if (!each.len)
        return put_part(p, t, each, out);
    for (; each.first < elements; each.first += each.len)
        TRY(put_part(p, t, each, out));
    return IG_OK;
}

/* The size of the parts of a large output that a launch reaches, including the part of a line after its spot; len 0: a
 * launch reaches all of it. */
static ig_status part_size(const program *p, const emit_target *t, out_part *of)
{
    int axis;
    const view *v = &p->out.v;
    *of = (out_part){0, 0};
    if (!emit_has_large(p, 1, t) || emit_slot_bytes(t, p->out.slot) <= (int64_t)t->buffer_bytes)
        return IG_OK;
    line_length(p, &axis);
    int64_t line = 1;
    for (int i = 0; i < v->ndim; i++) {
        if (v->stride[i] < 0 || p->out.axis_stride < 0)
            return emit_too_large(t);
        line += i >= axis ? (v->shape[i] - 1) * v->stride[i] : 0;
    }
    /* A scatter's claim takes 4 bytes. */
    const int64_t size = (int64_t)ig_dtype_bytes(p->dtype), reach = (int64_t)t->reach_bytes;
    of->len = reach / (size > 4 ? size : 4) - line;
    return of->len > 0 ? IG_OK : emit_too_large(t);
}

static ig_status emit_rows_of(const program *p, const emit_target *t, emitted *out)
{
    out_part of;
    TRY(part_size(p, t, &of));
    return p->add ? emit_add(p, t, of, out) : emit_put(p, t, of, out);
}

/* The updates [from, to) along the first axis. */
static program updates_of(const program *p, int64_t from, int64_t to)
{
    program q = *p;
    view *const views[3] = {&q.in[0].v, &q.in[1].v, &q.out.v};
    for (int i = 0; i < 3; i++) {
        views[i]->offset += from * views[i]->stride[0];
        views[i]->shape[0] = to - from;
    }
    q.out.first_index = view_size(&p->out.v) / p->out.v.shape[0] * from;
    return q;
}

ig_status emit_write(const program *p, const emit_target *t, emitted *out)
{
    if (view_size(&p->out.v) == 0)
        return IG_OK;
    const int64_t rows = p->out.v.ndim ? p->out.v.shape[0] : 1;
    int64_t len = rows;
    bool fits =
        !emit_has_large(p, 1, t) || (emit_reaches(t, &p->in[0]) && emit_reaches(t, &p->in[1]));
    while (!fits && len > 1) {
        len /= 2;
        const program q = updates_of(p, 0, len);
        fits = emit_reaches(t, &q.in[0]) && emit_reaches(t, &q.in[1]);
    }
    if (!fits || rows / len > TILES_MOST)
        return emit_too_large(t);
    if (len == rows)
        return emit_rows_of(p, t, out);
    for (int64_t from = 0; from < rows; from += len) {
        const program q = updates_of(p, from, from + len < rows ? from + len : rows);
        TRY(emit_rows_of(&q, t, out));
    }
    return IG_OK;
}
