/* Searches in sorted rows, and writes at computed places. */
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
    const int in = writer_operand(&w, &p->in[0], false),
              values = writer_operand(&w, &p->in[1], false);
    const int to = writer_operand(&w, &p->out, true);
    const char *key = key_type(p->in[0].dtype);
    write_bits_of(&w, p->in[0].dtype);
    write_key_of(&w, p->in[0].dtype, false);
    write_place(&w, "place", &p->in[1].v, 1);
    write_place(&w, "target", &p->out.v, 1);
    const int n = writer_number(&w, size), length = writer_number(&w, len);
    const int step = writer_number(&w, sorted->ndim > 0 ? sorted->stride[sorted->ndim - 1] : 1);
    text_add(&w.body,
             "extern \"C\" __global__ void search(PARAMS)\n{\n"
             "    for (idx at = (idx)blockIdx.x * %d + threadIdx.x; at < g.n%d; at += "
             "(idx)gridDim.x * %d) {\n"
             "        const %s key = key_of(bits_of(p%d[place(g, at, 0)]));\n"
             "        idx low = 0, high = g.n%d;\n"
             "        while (low < high) {\n"
             "            const idx middle = low + (high - low) / 2;\n"
             "            const %s here = key_of(bits_of(p%d[middle * g.n%d]));\n"
             "            if (%s)\n                low = middle + 1;\n"
             "            else\n                high = middle;\n        }\n"
             "        p%d[target(g, at, 0)] = (long long)low;\n    }\n}\n",
             THREADS, n, THREADS, key, values, length, key, in, step,
             p->right ? "here <= key" : "here < key", to);
    const uint32_t grid[3] = {indexed_grid(ceil_div(size, THREADS), t), 1, 1},
                   block[3] = {THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "search", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* ---- writes at computed places ----
 *
 * If the output is larger than a launch can reach, the last launches are repeated for each out_part of it, and leave out lines
 * that begin elsewhere. If the updates are, they are written some rows at a time, in order. */

/* Where lines may begin: elements [first, first + len) of the output; len 0: anywhere. */
typedef struct out_part {
    int64_t first, len;
} out_part;

/* The output from the part on. */
static operand part_out(const program *p, out_part of)
{
    operand o = p->out;
    o.v.offset += of.first;
    return o;
}

/* Lines that begin outside of the part are left out: `spot` becomes the place in the part. */
static void write_part(emit_writer *w, out_part of, const char *spot)
{
    if (of.len)
        text_add(&w->body,
                 "        const idx inside = (idx)%s - g.n%d;\n"
                 "        if (inside < 0 || inside >= g.n%d)\n            continue;\n",
                 spot, writer_number(w, of.first), writer_number(w, of.len));
}

/* The trailing axes along which the index stays and the place moves: lines, whose elements never meet. */
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

/* spot(line): where a line begins in the output; at(line, k): where its k-th element goes. */
static void write_spots(emit_writer *w, const program *p, int axis, int64_t length)
{
    const int nd = p->out.v.ndim;
    const view lead_out = part_of(&p->out.v, 0, axis), lead_index = part_of(&p->in[0].v, 0, axis);
    const view line_out = part_of(&p->out.v, axis, nd);
    const int index = writer_operand(w, &p->in[0], false);
    char start[32] = "";
    if (p->out.first_index)
        snprintf(start, sizeof start, "g.n%d + ", writer_number(w, p->out.first_index));
    write_place(w, "lead_place", &lead_out, 1);
    write_place(w, "index_place", &lead_index, 1);
    write_place(w, "line_place", &line_out, length);
    write_place(w, "update_place", &p->in[1].v, length);
    text_add(&w->body,
             "static __device__ idx spot(PARAMS, idx line)\n{\n"
             "    const idx index = (idx)check_index((long long)p%d[index_place(g, line, 0)], "
             "g.n%d, %s(long long)line * g.n%d, g.n%d, fault);\n"
             "    return lead_place(g, line, 0) + index * g.n%d;\n}\n\n",
             index, writer_number(w, p->out.axis_len), start, writer_number(w, length),
             writer_record(w, 0), writer_number(w, p->out.axis_stride));
}

/* Adds the lines that were sorted, each run of equal spots one after another. */
static ig_status write_sums(const program *p, const emit_target *t, const radix *r, int last,
                            out_part of, emitted *out)
{
    int axis;
    const int64_t length = line_length(p, &axis), size = view_size(&p->out.v);
    const operand target = part_out(p, of);
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    write_spots(&w, p, axis, length);
    const int to = writer_operand(&w, &target, true), from = writer_operand(&w, &p->in[1], false);
    const int keys = writer_scratch(&w, r->type, r->item[last]);
    const int order = writer_scratch(&w, "unsigned int", r->number[last]);
    const int all = writer_number(&w, size), len = writer_number(&w, length);
    const int count = writer_number(&w, size / length);
    const char *lane = emit_lane_type(p->dtype), *name = ig_dtype_name(p->dtype);
    const bool half = dtype_is_half(p->dtype);
    if (half)
        w.uses |= USES_HALF;
    w.needs_f64 = w.needs_f64 || p->dtype == IG_F64;
    text_add(&w.body,
             "extern \"C\" __global__ void write_sums(PARAMS)\n{\n"
             "    for (idx job = (idx)blockIdx.x * %d + threadIdx.x; job < g.n%d; job += "
             "(idx)gridDim.x * %d) {\n"
             "        const idx first = job / g.n%d, col = job %% g.n%d;\n"
             "        const %s key = p%d[first];\n"
             "        if (first > 0 && p%d[first - 1] == key)\n            continue;\n",
             THREADS, all, THREADS, len, len, r->type, keys, keys);
    write_part(&w, of, "key");
    text_add(&w.body,
             "        const idx at = %s + line_place(g, 0, col);\n"
             "        %s sum = %s%sp%d[at]%s;\n"
             "        for (idx k = first; k < g.n%d && p%d[k] == key; k++) {\n"
             "            const %s x = %s%sp%d[update_place(g, (idx)p%d[k], col)]%s;\n",
             of.len ? "inside" : "(idx)key", lane, half ? name : "", half ? "_to_f32(" : "", to,
             half ? ")" : "", count, keys, lane, half ? name : "", half ? "_to_f32(" : "", from,
             order, half ? ")" : "");
    text_add(&w.body, "            sum = ");
    if (p->dtype == IG_BOOL)
        text_add(&w.body, "sum | x");
    else if (half) /* each sum is rounded before the next */
        text_add(&w.body, "round_%s(sum + x)", name);
    else
        emit_expression(&w.body, OP_add, p->dtype, "sum", "x");
    text_add(&w.body, ";\n        }\n        p%d[at] = %s%ssum%s;\n    }\n}\n", to,
             half ? name : "", half ? "_of_f32(" : "", half ? ")" : "");
    const uint32_t grid[3] = {indexed_grid(ceil_div(size, THREADS), t), 1, 1},
                   block[3] = {THREADS, 1, 1};
    const ig_status status = writer_finish(&w, "write_sums", grid, block, 0);
    writer_drop(&w);
    return status;
}

/* Adds updates in order: lines are sorted by their spot, then each run of equal spots is added up. */
static ig_status emit_add(const program *p, const emit_target *t, out_part each, emitted *out)
{
    int axis, last, bits = 0;
    const int64_t length = line_length(p, &axis), size = view_size(&p->out.v);
    const int64_t lines = size / length;
    const bool wide_index = !emit_is_narrow(p, 1);
    const int64_t elements = t->slot_len[p->out.slot] / (int64_t)ig_dtype_bytes(p->dtype);
    while (bits < 63 && elements >> bits)
        bits++;
    radix r = {.rows = 1,
               .inner = lines,
               .bits = bits,
               .item_bytes = bits > 32 ? 8 : 4,
               .type = bits > 32 ? "unsigned long long" : "unsigned int",
               .numbers = true,
               .wide = wide_index};
    const uint64_t bytes = radix_layout(&r, t);
    out->scratch_bytes = out->scratch_bytes < bytes ? bytes : out->scratch_bytes;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = wide_index;
    write_spots(&w, p, axis, length);
    const int key = writer_scratch(&w, r.type, r.item[0]);
    const int index = writer_scratch(&w, "unsigned int", r.number[0]);
    const int n = writer_number(&w, lines);
    text_add(&w.body,
             "extern \"C\" __global__ void write_keys(PARAMS)\n{\n"
             "    for (idx line = (idx)blockIdx.x * %d + threadIdx.x; line < g.n%d; line += "
             "(idx)gridDim.x * %d) {\n"
             "        p%d[line] = (%s)spot(ARGS, line);\n        p%d[line] = (unsigned int)line;\n "
             "   }\n}\n",
             THREADS, n, THREADS, key, r.type, index);
    const uint32_t block[3] = {THREADS, 1, 1};
    const uint32_t grid[3] = {indexed_grid(ceil_div(lines, THREADS), t), 1, 1};
    const ig_status status = writer_finish(&w, "write_keys", grid, block, 0);
    writer_drop(&w);
    TRY(status);
    TRY(radix_sort(&r, t, out, &last));
    if (!each.len)
        return write_sums(p, t, &r, last, each, out);
    for (; each.first < elements; each.first += each.len)
        TRY(write_sums(p, t, &r, last, each, out));
    return IG_OK;
}

/* The last update of each place wins: the greatest line that has its spot. */
static ig_status put_part(const program *p, const emit_target *t, out_part of, emitted *out)
{
    static const char *const steps[3] = {"write_clear", "write_claim", "write_put"};
    int axis;
    const int64_t length = line_length(p, &axis), size = view_size(&p->out.v);
    const int64_t lines = size / length;
    const operand target = part_out(p, of);
    const char *at = of.len ? "inside" : "spot(ARGS, job)";
    for (int step = 0; step < 3; step++) {
        emit_writer w;
        TRY(writer_start(&w, t, out));
        w.wide = !emit_is_narrow(p, 1);
        write_spots(&w, p, axis, length);
        const int claim = writer_scratch(&w, "unsigned int", 0);
        const int64_t jobs = step == 2 ? size : lines;
        const int n = writer_number(&w, jobs);
        text_add(&w.body,
                 "extern \"C\" __global__ void %s(PARAMS)\n{\n"
                 "    for (idx job = (idx)blockIdx.x * %d + threadIdx.x; job < g.n%d; job += "
                 "(idx)gridDim.x * %d) {\n",
                 steps[step], THREADS, n, THREADS);
        if (step < 2)
            write_part(&w, of, "spot(ARGS, job)");
        if (step == 0)
            text_add(&w.body, "        p%d[%s] = 0u;\n", claim, at);
        else if (step == 1)
            text_add(&w.body, "        atomicMax(&p%d[%s], (unsigned int)job + 1u);\n", claim, at);
        else {
            const int to = writer_operand(&w, &target, true);
            const int from = writer_operand(&w, &p->in[1], false);
            const int len = writer_number(&w, length);
            text_add(&w.body, "        const idx line = job / g.n%d, col = job %% g.n%d%s;\n", len,
                     len, of.len ? "" : ", at = spot(ARGS, line)");
            write_part(&w, of, "spot(ARGS, line)");
            text_add(
                &w.body,
                "        if (p%d[%s] == (unsigned int)line + 1u)\n"
                "            p%d[%s + line_place(g, 0, col)] = p%d[update_place(g, line, col)];\n",
                claim, of.len ? "inside" : "at", to, of.len ? "inside" : "at", from);
        }
        text_add(&w.body, "    }\n}\n");
        const uint32_t grid[3] = {indexed_grid(ceil_div(jobs, THREADS), t), 1, 1};
        const uint32_t block[3] = {THREADS, 1, 1};
        const ig_status status = writer_finish(&w, steps[step], grid, block, 0);
        writer_drop(&w);
        TRY(status);
    }
    return IG_OK;
}

static ig_status emit_put(const program *p, const emit_target *t, out_part each, emitted *out)
{
    int axis;
    const int64_t length = line_length(p, &axis), lines = view_size(&p->out.v) / length;
    const int64_t elements = t->slot_len[p->out.slot] / (int64_t)ig_dtype_bytes(p->dtype);
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

/* Parts of a large output that a launch reaches, with what lines reach behind their spots; len 0: it reaches all. */
static ig_status part_size(const program *p, const emit_target *t, out_part *of)
{
    int axis;
    const view *v = &p->out.v;
    *of = (out_part){0, 0};
    if (!emit_has_large(p, 1, t) || t->slot_len[p->out.slot] <= (int64_t)t->buffer_bytes)
        return IG_OK;
    line_length(p, &axis);
    int64_t line = 1;
    for (int i = 0; i < v->ndim; i++) {
        if (v->stride[i] < 0 || p->out.axis_stride < 0)
            return emit_too_large(t);
        line += i >= axis ? (v->shape[i] - 1) * v->stride[i] : 0;
    }
    /* A claim of a scatter has 4 bytes. */
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
