/* Searches in sorted rows, and writes at computed places. */
#include "kernel/emit/indexed.h"

#include "base/error.h"
#include "ops/ops.h"

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

/* ---- writes at computed places ---- */

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
    write_place(w, "lead_place", &lead_out, 1);
    write_place(w, "index_place", &lead_index, 1);
    write_place(w, "line_place", &line_out, length);
    write_place(w, "update_place", &p->in[1].v, length);
    text_add(&w->body,
             "static __device__ idx spot(PARAMS, idx line)\n{\n"
             "    const idx index = (idx)check_index((long long)p%d[index_place(g, line, 0)], "
             "g.n%d, (long long)line * g.n%d, g.n%d, fault);\n"
             "    return lead_place(g, line, 0) + index * g.n%d;\n}\n\n",
             index, writer_number(w, p->out.axis_len), writer_number(w, length),
             writer_record(w, 0), writer_number(w, p->out.axis_stride));
}

/* Adds updates in order: lines are sorted by their spot, then each run of equal spots is added up. */
static ig_status emit_add(const program *p, const emit_target *t, emitted *out)
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
    out->scratch_bytes = radix_layout(&r, t);
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
    ig_status status = writer_finish(&w, "write_keys", grid, block, 0);
    writer_drop(&w);
    TRY(status);
    TRY(radix_sort(&r, t, out, &last));
    TRY(writer_start(&w, t, out));
    w.wide = wide_index;
    write_spots(&w, p, axis, length);
    const int to = writer_operand(&w, &p->out, true), from = writer_operand(&w, &p->in[1], false);
    const int keys = writer_scratch(&w, r.type, r.item[last]);
    const int order = writer_scratch(&w, "unsigned int", r.number[last]);
    const int all = writer_number(&w, size), len = writer_number(&w, length);
    const int count = writer_number(&w, lines);
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
             "        if (first > 0 && p%d[first - 1] == key)\n            continue;\n"
             "        const idx at = (idx)key + line_place(g, 0, col);\n"
             "        %s sum = %s%sp%d[at]%s;\n"
             "        for (idx k = first; k < g.n%d && p%d[k] == key; k++) {\n"
             "            const %s x = %s%sp%d[update_place(g, (idx)p%d[k], col)]%s;\n",
             THREADS, all, THREADS, len, len, r.type, keys, keys, lane, half ? name : "",
             half ? "_to_f32(" : "", to, half ? ")" : "", count, keys, lane, half ? name : "",
             half ? "_to_f32(" : "", from, order, half ? ")" : "");
    text_add(&w.body, "            sum = ");
    if (p->dtype == IG_BOOL)
        text_add(&w.body, "sum | x");
    else if (half) /* each sum is rounded before the next */
        text_add(&w.body, "round_%s(sum + x)", name);
    else
        emit_expression(&w.body, OP_add, p->dtype, "sum", "x");
    text_add(&w.body, ";\n        }\n        p%d[at] = %s%ssum%s;\n    }\n}\n", to,
             half ? name : "", half ? "_of_f32(" : "", half ? ")" : "");
    const uint32_t second[3] = {indexed_grid(ceil_div(size, THREADS), t), 1, 1};
    status = writer_finish(&w, "write_sums", second, block, 0);
    writer_drop(&w);
    return status;
}

/* The last update of each place wins: the greatest line that has its spot. */
static ig_status emit_put(const program *p, const emit_target *t, emitted *out)
{
    static const char *const steps[3] = {"write_clear", "write_claim", "write_put"};
    int axis;
    const int64_t length = line_length(p, &axis), size = view_size(&p->out.v);
    const int64_t lines = size / length;
    const int64_t elements = t->slot_len[p->out.slot] / (int64_t)ig_dtype_bytes(p->dtype);
    if (lines >= UINT32_MAX)
        FAIL(IG_ERR_UNSUPPORTED, "scatter: %lld updates; a device takes up to 4294967294",
             (long long)lines);
    out->scratch_bytes = (uint64_t)elements * 4;
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
        if (step == 0)
            text_add(&w.body, "        p%d[spot(ARGS, job)] = 0u;\n", claim);
        else if (step == 1)
            text_add(&w.body, "        atomicMax(&p%d[spot(ARGS, job)], (unsigned int)job + 1u);\n",
                     claim);
        else {
            const int to = writer_operand(&w, &p->out, true);
            const int from = writer_operand(&w, &p->in[1], false);
            const int len = writer_number(&w, length);
            text_add(
                &w.body,
                "        const idx line = job / g.n%d, col = job %% g.n%d, at = spot(ARGS, line);\n"
                "        if (p%d[at] == (unsigned int)line + 1u)\n"
                "            p%d[at + line_place(g, 0, col)] = p%d[update_place(g, line, col)];\n",
                len, len, claim, to, from);
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

ig_status emit_write(const program *p, const emit_target *t, emitted *out)
{
    if (view_size(&p->out.v) == 0)
        return IG_OK;
    return p->add ? emit_add(p, t, out) : emit_put(p, t, out);
}
