/* Sorts. Short rows are sorted in shared memory by one block each, longer ones by radix.c. */
#include "engine/emit/indexed.h"

#include "base/error.h"

enum { THREADS = INDEXED_THREADS, SORT_SHORT = 1024 };

/* Writes what the program wants of the sorted items: indices, or elements. */
static void write_sorted(emit_writer *w, const program *p, const char *row, const char *col,
                         const char *index)
{
    const int to = writer_operand(w, &p->out, true);
    if (p->kind == PROGRAM_ARGSORT)
        text_add(&w->body, "p%d[target(g, %s, %s)] = (long long)%s;\n", to, row, col, index);
    else
        text_add(&w->body, "p%d[target(g, %s, %s)] = p%d[place(g, %s, (idx)%s)];\n", to, row, col,
                 writer_operand(w, &p->in[0], false), row, index);
}

/* Rows in shared memory: bitonic, by key and index, so that it is stable. */
static ig_status sort_short(const program *p, const emit_target *t, emitted *out)
{
    int width = 2;
    while (width < p->inner)
        width *= 2;
    const int threads = width / 2 < 32 ? 32 : width / 2 > THREADS ? THREADS : width / 2;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    const int in = writer_operand(&w, &p->in[0], false);
    write_bits_of(&w, p->in[0].dtype);
    write_key_of(&w, p->in[0].dtype, p->descending);
    write_place(&w, "place", &p->in[0].v, p->inner);
    write_place(&w, "target", &p->out.v, p->kept);
    const char *key = key_type(p->in[0].dtype);
    const int inner = writer_number(&w, p->inner), rows = writer_number(&w, p->outer);
    const int kept = writer_number(&w, p->kept);
    text_add(
        &w.body,
        "extern \"C\" __global__ void sort(PARAMS)\n{\n"
        "    __shared__ %s key[%d];\n    __shared__ unsigned int index[%d];\n"
        "    for (idx row = blockIdx.x; row < g.n%d; row += gridDim.x) {\n"
        "        for (int i = threadIdx.x; i < %d; i += %d) {\n"
        "            key[i] = i < g.n%d ? (%s)key_of(bits_of(p%d[place(g, row, i)])) : (%s)~0ull;\n"
        "            index[i] = i;\n        }\n        __syncthreads();\n"
        "        for (int size = 2; size <= %d; size *= 2)\n"
        "            for (int step = size / 2; step > 0; step /= 2) {\n"
        "                for (int i = threadIdx.x; i < %d; i += %d) {\n"
        "                    const int a = 2 * i - (i & (step - 1)), b = a + step;\n"
        "                    const bool up = (a & size) == 0;\n"
        "                    const %s x = key[a], y = key[b];\n"
        "                    const unsigned int j = index[a], k = index[b];\n"
        "                    const bool after = x > y || (x == y && j > k);\n"
        "                    if (after == up) {\n"
        "                        key[a] = y;\n                        key[b] = x;\n"
        "                        index[a] = k;\n                        index[b] = j;\n"
        "                    }\n                }\n                __syncthreads();\n"
        "            }\n"
        "        for (int i = threadIdx.x; i < g.n%d; i += %d)\n            ",
        key, width, width, rows, width, threads, inner, key, in, key, width, width / 2, threads,
        key, kept, threads);
    write_sorted(&w, p, "row", "i", "index[i]");
    text_add(&w.body, "        __syncthreads();\n    }\n}\n");
    const uint32_t grid[3] = {indexed_grid(p->outer, t), 1, 1},
                   block[3] = {(uint32_t)threads, 1, 1};
    const ig_status status = writer_finish(&w, "sort", grid, block, 0);
    writer_drop(&w);
    return status;
}

static ig_status sort_long(const program *p, const emit_target *t, emitted *out)
{
    int last;
    if (p->inner > INT32_MAX)
        FAIL(IG_ERR_UNSUPPORTED, "sort: rows of %lld elements; a device sorts up to 2147483647",
             (long long)p->inner);
    radix r = {.rows = p->outer,
               .inner = p->inner,
               .bits = 8 * (int)ig_dtype_bytes(p->in[0].dtype),
               .item_bytes = (int)ig_dtype_bytes(p->in[0].dtype),
               .type = bits_type(p->in[0].dtype),
               .numbers = p->kind == PROGRAM_ARGSORT,
               .in = &p->in[0],
               .out = p,
               .wide = !emit_is_narrow(p, 1)};
    out->scratch_bytes = radix_layout(&r, t);
    return radix_sort(&r, t, out, &last);
}

ig_status emit_sort(const program *p, const emit_target *t, emitted *out)
{
    if (p->outer == 0 || p->inner == 0 || p->kept == 0)
        return IG_OK;
    return p->inner <= SORT_SHORT ? sort_short(p, t, out) : sort_long(p, t, out);
}
