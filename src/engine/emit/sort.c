/* Sorts. Short rows are sorted in shared memory by one block each, longer ones by radix.c. */
#include "engine/emit/indexed.h"

#include "base/error.h"

enum { THREADS = INDEXED_THREADS, SORT_SHORT = 1024 };

/* Rows in shared memory: kernels/sort.cu. */
static ig_status sort_short(const program *p, const emit_target *t, emitted *out)
{
    int width = 4; /* for 2 the loops have one pass, and PoCL 3.1 leaves the swap out */
    while (width < p->inner)
        width *= 2;
    const int threads = width / 2 < 32 ? 32 : width / 2 > THREADS ? THREADS : width / 2;
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1);
    const int in = writer_operand(&w, &p->in[0], false);
    write_keys(&w, p->in[0].dtype, p->descending);
    write_place(&w, "place", &p->in[0].v, p->inner);
    write_place(&w, "target", &p->out.v, p->kept);
    hole_int(&w, "THREADS", threads);
    hole_int(&w, "WIDTH", width);
    hole_size(&w, "ROWS", p->outer);
    hole_size(&w, "INNER", p->inner);
    hole_size(&w, "KEPT", p->kept);
    hole_pointer(&w, "IN", in);
    hole_pointer(&w, "OUT", writer_operand(&w, &p->out, true));
    if (p->kind == PROGRAM_ARGSORT)
        hole_text(&w, "OUTPUT_OF(row, index)", "(long long)index");
    else
        hole_text(&w, "OUTPUT_OF(row, index)", "p%d[place(g, row, (idx)index)]", in);
    writer_template(&w, "sort.cu", NULL);
    return writer_launch(&w, "sort", indexed_grid(p->outer, t), threads);
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
