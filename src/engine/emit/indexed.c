/* Places and keys of elements; see indexed.h. */
#include "engine/emit/indexed.h"

#include <stdio.h>

uint32_t indexed_grid(int64_t blocks, const emit_target *t)
{
    const int64_t most = t->block_limit ? (int64_t)t->block_limit * 8 : INT32_MAX;
    return (uint32_t)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

void write_place(emit_writer *w, const char *name, const view *from, int64_t inner)
{
    view v = *from;
    view *all[1] = {&v};
    view_collapse(all, 1);
    text_add(&w->body, "static __device__ idx %s(sizes g, idx row, idx col)\n{\n", name);
    if (view_is_contiguous(&v)) {
        text_add(&w->body, "    return row * g.n%d + col;\n}\n\n", writer_number(w, inner));
        return;
    }
    text_add(&w->body, "    idx at = row * g.n%d + col, offset = 0;\n", writer_number(w, inner));
    for (int i = v.ndim - 1; i > 0; i--) {
        const int n = writer_number(w, v.shape[i]);
        text_add(&w->body, "    offset += at %% g.n%d * g.n%d;\n    at /= g.n%d;\n", n,
                 writer_number(w, v.stride[i]), n);
    }
    text_add(&w->body, "    return offset + at * g.n%d;\n}\n\n",
             writer_number(w, v.ndim ? v.stride[0] : 0));
}

void lane_at(emit_writer *w, const operand *o, int pointer, const char *offset, char *out,
             size_t room)
{
    if (dtype_is_half(o->dtype)) {
        w->uses |= USES_HALF;
        snprintf(out, room, "%s_to_f32(p%d[%s])", ig_dtype_name(o->dtype), pointer, offset);
    } else
        snprintf(out, room, "p%d[%s]", pointer, offset);
}

/* ---- keys ---- */

const char *bits_type(ig_dtype dtype)
{
    switch (ig_dtype_bytes(dtype)) {
    case 1: return "unsigned char";
    case 2: return "unsigned short";
    case 4: return "unsigned int";
    default: return "unsigned long long";
    }
}

const char *key_type(ig_dtype dtype)
{
    return ig_dtype_bytes(dtype) > 4 ? "unsigned long long" : "unsigned int";
}

void write_keys(emit_writer *w, ig_dtype dtype, bool descending)
{
    static const char *const infinity[DTYPE_COUNT] = {[IG_F16] = "0x7c00u",
                                                      [IG_BF16] = "0x7f80u",
                                                      [IG_F32] = "0x7f800000u",
                                                      [IG_F64] = "0x7ff0000000000000ull"};
    static const char *const all[] = {"0xffu", "0xffffu", "0xffffffffu", "0xffffffffffffffffull"};
    static const char *const sign[] = {"0x80u", "0x8000u", "0x80000000u", "0x8000000000000000ull"};
    const size_t bytes = ig_dtype_bytes(dtype);
    const int size = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
    const bool floats = dtype_is_float(dtype);
    w->uses |= USES_ORDER;
    w->needs_f64 = w->needs_f64 || dtype == IG_F64;
    hole_text(w, "STORAGE", "%s", emit_storage_type(dtype));
    hole_text(w, "BITS", "%s", bits_type(dtype));
    hole_text(w, "KEY", "%s", key_type(dtype));
    hole_text(w, "AS_BITS", "%s",
              dtype == IG_F32   ? "__float_as_uint"
              : dtype == IG_F64 ? "__double_as_longlong"
                                : "");
    hole_int(w, "FLOATS", floats);
    hole_text(w, "KEY_ALL", "%s", all[size]);
    if (floats)
        hole_text(w, "KEY_INFINITY", "%s", infinity[dtype]);
    hole_text(w, "KEY_SIGN", "%s",
              floats || dtype_kind_of(dtype) == DTYPE_KIND_SIGNED ? sign[size]
              : bytes > 4                                         ? "0ull"
                                                                  : "0u");
    hole_text(w, "DESCENDING", "%s", descending ? "true" : "false");
    writer_template(w, "keys.cuh", NULL);
}
