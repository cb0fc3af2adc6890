/* Memory: addresses, loads, stores and atomics. Neighbouring lanes of neighbouring elements become vector loads and
 * stores; an address that is one value for the group is accessed once. */
#include "compiler/native/writer.h"

#include <string.h>

static const char *const index_types[] = {"vi", "vu", "vl", "vq"};
static const char *const index_elements[] = {"i32", "u32", "i64", "u64"};
static const char *const memory_types[] = {"i8",  "u8",  "i16", "u16", "i32",
                                           "u32", "f32", "i64", "u64", "f64"};
enum { INDEX_I32, INDEX_U32, INDEX_I64, INDEX_ADDRESS };

static int index_kind(const code_inst *i)
{
    return i->dtype == IG_I64 ? INDEX_I64 : i->dtype == IG_U32 ? INDEX_U32 : INDEX_I32;
}

static void use_index(writer *w, const char *type, int kind)
{
    for (int t = 0; t < BY_INDEX_TYPES; t++)
        if (strcmp(memory_types[t], type) == 0)
            w->by_index[t][kind] = true;
}

void write_index_functions(const writer *w, text *to)
{
    for (int t = 0; t < BY_INDEX_TYPES; t++)
        for (int k = 0; k < BY_INDEX_KINDS; k++)
            if (w->by_index[t][k]) {
                const bool is_signed = memory_types[t][0] == 'i';
                const bool wide = memory_types[t][1] == '6';
                const char *v = memory_types[t][0] == 'f' ? wide ? "vd" : "vf"
                                : wide                    ? is_signed ? "vl" : "vq"
                                : is_signed               ? "vi"
                                                          : "vu";
                text_add(to, "BY_INDEX(%s, %s, %s, %s)\n", memory_types[t], v, index_types[k],
                         index_elements[k]);
            }
}

static long long scale_of(const writer *w, const code_inst *i)
{
    return i->flags & CODE_LOCALS ? (long long)w->c->local_bytes : i->scale;
}

/* The address of the first lane. */
static void write_place(writer *w, const code_inst *i)
{
    SAY(w, "(");
    write_scalar(w, i->a);
    if (i->b != CODE_NONE) {
        SAY(w, " + (u64)((i64)");
        write_scalar(w, i->b);
        SAY(w, " * %lldll)", scale_of(w, i));
    }
    if (i->offset)
        SAY(w, " + (u64)%dll", i->offset);
    SAY(w, ")");
}

/* The addresses of a unit, as a vector. */
static void write_places(writer *w, const code_inst *i, int unit)
{
    SAY(w, "(");
    write_lanes(w, i->a, unit);
    if (i->b != CODE_NONE) {
        SAY(w, " + (vq)(TO(vl, ");
        write_lanes(w, i->b, unit);
        SAY(w, ") * %lldll)", scale_of(w, i));
    }
    if (i->offset)
        SAY(w, " + (u64)%dll", i->offset);
    SAY(w, ")");
}

static bool is_one_place(const writer *w, const code_inst *i)
{
    return write_is_one(w, i->a) && write_is_one(w, i->b);
}

/* The lanes of a group access neighbours, if the index does not wrap. */
static bool are_neighbours(const writer *w, const code_inst *i)
{
    const native_plan *p = w->p;
    const int64_t bytes = (int64_t)ig_dtype_bytes((ig_dtype)i->to);
    if (p->kind[i->a] == KIND_AFFINE)
        return p->stride[i->a] == bytes && (i->b == CODE_NONE || plan_scalar(p, i->b));
    return plan_scalar(p, i->a) && i->b != CODE_NONE && p->kind[i->b] == KIND_AFFINE &&
           p->stride[i->b] == 1 && scale_of(w, i) == bytes;
}

/* Writes the condition under which the index of the group's lanes does not wrap; false: it never does. */
static bool write_no_wrap(writer *w, const code_inst *i)
{
    const int kind = index_kind(i);
    int64_t most = 0;
    if (w->p->kind[i->a] == KIND_AFFINE || kind == INDEX_I64)
        return false;
    for (int l = 0; l < w->p->lanes; l++)
        most = plan_offset(w->p, i->b, l) > most ? plan_offset(w->p, i->b, l) : most;
    SAY(w, "LIKELY(");
    write_scalar(w, i->b);
    SAY(w, kind == INDEX_I32 ? " <= 2147483647 - %d)" : " <= 4294967295u - %du)", (int)most);
    return true;
}

/* The arguments base, index and scale of BY_INDEX's functions, after its name. */
static void write_by_index(writer *w, const code_inst *i, const char *name, const char *type,
                           int unit)
{
    const bool from_one = plan_scalar(w->p, i->a) && i->b != CODE_NONE;
    const int kind = from_one ? index_kind(i) : INDEX_ADDRESS;
    use_index(w, type, kind);
    SAY(w, "%s_%s_%s(", name, type, index_types[kind]);
    if (!from_one) {
        SAY(w, "0, ");
        write_places(w, i, unit);
        SAY(w, ", 1, ");
        return;
    }
    write_scalar(w, i->a);
    SAY(w, " + (u64)%dll, (%s)", i->offset, index_types[kind]);
    write_lanes(w, i->b, unit);
    SAY(w, ", %lldll, ", scale_of(w, i));
}

void write_address(writer *w, const code_inst *i)
{
    if (write_is_scalar(w, i->d)) {
        SAY(w, "s%d = ", i->d);
        write_place(w, i);
        SAY(w, ";\n");
        return;
    }
    for (int u = 0; u < w->p->units; u++) {
        write_assign(w, i, u);
        write_places(w, i, u);
        write_assigned(w, i, u);
    }
}

/* ---- interleaved arrays of lanes ---- */

/* The index of the first lane's element, or of all lanes as a vector of 64-bit integers. */
static void write_own_index(writer *w, const code_inst *i, int own, int unit, bool vector)
{
    const int bytes = (int)ig_dtype_bytes((ig_dtype)i->to);
    const long long at = (i->offset - (long long)w->c->object[own].offset) / bytes;
    if (i->b == CODE_NONE) {
        SAY(w, "%lldll", at);
        return;
    }
    SAY(w, vector ? "TO(vl, " : "(i64)");
    if (vector)
        write_lanes(w, i->b, unit);
    else
        write_scalar(w, i->b);
    SAY(w, "%s * %dll + %lldll", vector ? ")" : "", i->scale / bytes, at);
}

static bool has_one_index(const writer *w, const code_inst *i)
{
    return i->b == CODE_NONE || plan_scalar(w->p, i->b);
}

static void write_own_element(writer *w, const code_inst *i, int own, int unit)
{
    SAY(w, "q%d[AT(", own);
    write_own_index(w, i, own, unit, false);
    SAY(w, ", %d) * %d + %d]", w->p->own[own].elements, w->p->units, unit);
}

static void write_own_place(writer *w, const code_inst *i, const char *how, int own, int unit)
{
    SAY(w, "%s(%s, %s, q%d, %d, %d, %d, ", how, write_type(i->to), write_vector(i->to), own,
        w->p->own[own].elements, w->p->units, unit);
    write_own_index(w, i, own, unit, true);
}

static void load_own(writer *w, const code_inst *i, int own)
{
    for (int u = 0; u < w->p->units; u++) {
        write_assign(w, i, u);
        if (has_one_index(w, i)) {
            write_own_element(w, i, own, u);
        } else {
            write_own_place(w, i, "OWN_GET", own, u);
            SAY(w, ")");
        }
        write_assigned(w, i, u);
    }
}

static void store_own(writer *w, const code_inst *i, int own)
{
    const char *vector = write_vector(i->to);
    for (int u = 0; u < w->p->units; u++) {
        const bool one = has_one_index(w, i);
        if (one) {
            write_own_element(w, i, own, u);
            if (w->mode == MODE_MASKED)
                SAY(w, " = pick_%s(m_%d, (%s)(", vector, u, vector);
            else
                SAY(w, " = ((%s)(", vector);
        } else {
            write_own_place(w, i, "OWN_SET", own, u);
            SAY(w, ", ");
            write_bits(w, u);
            SAY(w, ", ((%s)(", vector);
        }
        write_lanes(w, i->c, u);
        SAY(w, ")");
        if (one && w->mode == MODE_MASKED) {
            SAY(w, ", ");
            write_own_element(w, i, own, u);
        }
        SAY(w, one ? ");\n" : "))\n");
    }
}

/* ---- loads ---- */

/* The places of the lanes are constants apart. */
static bool has_pattern(const writer *w, const code_inst *i)
{
    return w->mode == MODE_FULL && plan_scalar(w->p, i->a) && i->b != CODE_NONE &&
           w->p->kind[i->b] == KIND_PATTERN &&
           scale_of(w, i) % (long long)ig_dtype_bytes((ig_dtype)i->to) == 0;
}

static void write_pattern(writer *w, const code_inst *i, int unit)
{
    const native_plan *p = w->p;
    const char *type = write_element(i->to);
    const long long step = scale_of(w, i) / (long long)ig_dtype_bytes((ig_dtype)i->to);
    SAY(w, "__extension__({\nconst m_%s *const at_ = (const m_%s *)", type, type);
    write_place(w, i);
    SAY(w, ";\n(%s){", write_vector(i->to));
    for (int l = unit * p->width; l < (unit + 1) * p->width; l++)
        SAY(w, "at_[%lld],", (long long)plan_offset(p, i->b, l) * step);
    SAY(w, "};\n})");
}

/* The vector of a unit. */
static void write_loaded(writer *w, const code_inst *i, int unit)
{
    const char *type = write_element(i->to);
    const bool by_pattern = has_pattern(w, i), neighbours = by_pattern || are_neighbours(w, i);
    const bool may_wrap = neighbours && write_no_wrap(w, i);
    if (by_pattern) {
        SAY(w, may_wrap ? " ? " : "");
        write_pattern(w, i, unit);
    } else if (neighbours) {
        SAY(w, "%snear_%s((const char *)", may_wrap ? " ? " : "", type);
        write_place(w, i);
        SAY(w, " + %d, ", unit * w->p->width * (int)ig_dtype_bytes((ig_dtype)i->to));
        write_bits(w, unit);
        SAY(w, ")");
    }
    if (may_wrap || !neighbours) {
        write_by_index(w, i, may_wrap ? " : get" : "get", type, unit);
        write_bits(w, unit);
        SAY(w, ")");
    }
}

static bool widens(const writer *w, const code_inst *i)
{
    return (i->to == IG_F16 || i->to == IG_BF16) && w->c->reg[i->d].dtype == IG_F32;
}

static void load_one(writer *w, const code_inst *i)
{
    const char *type = write_element(i->to);
    const bool vector = !write_is_scalar(w, i->d);
    SAY(w, "{\nconst %s x_ = *(const m_%s *)", type, type);
    write_place(w, i);
    if (widens(w, i))
        SAY(w, ";\nf32 y_;\nb->convert(%d, %d, 1, &y_, &x_);\n", i->to, IG_F32);
    else
        SAY(w, ";\nconst %s y_ = %sx_;\n", type, i->to == IG_BOOL ? "0 != " : "");
    for (int u = 0; u < w->p->units && vector; u++) {
        write_assign(w, i, u);
        SAY(w, i->to == IG_BOOL ? "MASK(y_)" : "SPLAT_%s(y_)", write_vector(w->c->reg[i->d].dtype));
        write_assigned(w, i, u);
    }
    if (!vector)
        SAY(w, "s%d = y_;\n", i->d);
    SAY(w, "}\n");
}

static void load_halves(writer *w, const code_inst *i)
{
    SAY(w, "{\nu16 x_[%d];\nf32 y_[%d];\n", w->p->lanes, w->p->lanes);
    for (int u = 0; u < w->p->units; u++) {
        SAY(w, "pack_u16(x_ + %d, ", u * w->p->width);
        write_loaded(w, i, u);
        SAY(w, ");\n");
    }
    SAY(w, "b->convert(%d, %d, %d, y_, x_);\n", i->to, IG_F32, w->p->lanes);
    write_from_array(w, i, "y_", IG_F32);
    SAY(w, "}\n");
}

void write_load(writer *w, const code_inst *i)
{
    const int own = plan_own_of(w->p, i);
    if (own >= 0) {
        load_own(w, i, own);
        return;
    }
    if (is_one_place(w, i) && (write_is_scalar(w, i->d) || !(i->flags & CODE_VOLATILE))) {
        load_one(w, i);
        return;
    }
    if (is_one_place(w, i) && w->mode == MODE_FULL) {
        load_one(w, i);
        return;
    }
    if (widens(w, i)) {
        load_halves(w, i);
        return;
    }
    for (int u = 0; u < w->p->units; u++) {
        write_assign(w, i, u);
        SAY(w, "(");
        write_loaded(w, i, u);
        SAY(w, i->to == IG_BOOL ? ") != 0" : ")");
        write_assigned(w, i, u);
    }
}

/* ---- stores ---- */

static void write_stored_value(writer *w, const code_inst *i, bool narrows)
{
    if (narrows)
        SAY(w, "d_");
    else
        write_scalar(w, i->c);
}

static bool narrows(const writer *w, const code_inst *i)
{
    return (i->to == IG_F16 || i->to == IG_BF16) && w->c->reg[i->c].dtype == IG_F32;
}

/* One value to one address. */
static void store_one(writer *w, const code_inst *i)
{
    const char *type = write_element(i->to);
    const bool half = narrows(w, i);
    SAY(w, "{\n");
    if (half) {
        SAY(w, "const f32 x_ = ");
        write_scalar(w, i->c);
        SAY(w, ";\nu16 d_;\nb->convert(%d, %d, 1, &d_, &x_);\n", IG_F32, i->to);
    }
    SAY(w, "*(m_%s *)", type);
    write_place(w, i);
    SAY(w, " = ");
    write_stored_value(w, i, half);
    SAY(w, ";\n}\n");
}

/* Unit u of the array c_, which has the values as elements. */
static void write_stored(writer *w, const code_inst *i, int unit)
{
    const char *type = write_element(i->to);
    const bool neighbours = are_neighbours(w, i);
    if (is_one_place(w, i)) { /* the last lane wins */
        SAY(w, "{\nconst u32 k_ = ");
        write_bits(w, unit);
        SAY(w, ";\nif (k_)\n*(m_%s *)", type);
        write_place(w, i);
        SAY(w, " = c_[%d + 31 - __builtin_clz(k_)];\n}\n", unit * w->p->width);
        return;
    }
    const bool may_wrap = neighbours && (SAY(w, "if ("), write_no_wrap(w, i));
    if (neighbours) {
        SAY(w, may_wrap ? ")\nput_%s((char *)" : "1)\nput_%s((char *)", type);
        write_place(w, i);
        SAY(w, " + %d, ", unit * w->p->width * (int)ig_dtype_bytes((ig_dtype)i->to));
        write_bits(w, unit);
        SAY(w, ", unpack_%s(c_ + %d));\n", type, unit * w->p->width);
    }
    if (may_wrap || !neighbours) {
        SAY(w, may_wrap ? "else\n" : "");
        write_by_index(w, i, "set", type, unit);
        write_bits(w, unit);
        SAY(w, ", unpack_%s(c_ + %d));\n", type, unit * w->p->width);
    }
}

void write_store(writer *w, const code_inst *i)
{
    const int own = plan_own_of(w->p, i);
    if (own >= 0) {
        store_own(w, i, own);
        return;
    }
    if (is_one_place(w, i) && write_is_one(w, i->c)) {
        store_one(w, i);
        return;
    }
    SAY(w, "{\n");
    if (narrows(w, i)) {
        write_array(w, "x_", i->c, IG_F32);
        SAY(w, "u16 c_[%d];\nb->convert(%d, %d, %d, c_, x_);\n", w->p->lanes, IG_F32, i->to,
            w->p->lanes);
    } else {
        write_array(w, "c_", i->c, i->to);
    }
    for (int u = 0; u < w->p->units; u++)
        write_stored(w, i, u);
    SAY(w, "}\n");
}

/* ---- atomics ---- */

static const char *const atomics[] = {[ATOMIC_ADD] = "add",
                                      [ATOMIC_SUB] = "sub",
                                      [ATOMIC_MIN] = "min",
                                      [ATOMIC_MAX] = "max",
                                      [ATOMIC_AND] = "and",
                                      [ATOMIC_OR] = "or",
                                      [ATOMIC_XOR] = "xor",
                                      [ATOMIC_EXCHANGE] = "exchange",
                                      [ATOMIC_COMPARE] = "compare",
                                      [ATOMIC_INCREMENT] = "increment",
                                      [ATOMIC_DECREMENT] = "decrement"};

static void atomic_by_lane(writer *w, const code_inst *i)
{
    if (i->d != CODE_NONE)
        SAY(w, "s%d = ", i->d);
    SAY(w, "atomic_%s_%s(", atomics[i->row], write_element(i->to));
    write_place(w, i);
    SAY(w, ", ");
    write_scalar(w, i->c);
    SAY(w, ", ");
    if (i->e == CODE_NONE)
        SAY(w, "0");
    else
        write_scalar(w, i->e);
    SAY(w, ", %d);\n", (i->flags & CODE_OWN) != 0);
}

void write_atomic(writer *w, const code_inst *i)
{
    const char *type = write_element(i->to);
    if (w->mode == MODE_LANE) {
        atomic_by_lane(w, i);
        return;
    }
    SAY(w, "{\nu64 a_[%d];\n%s d_[%d] = {0};\n", w->p->lanes, type, w->p->lanes);
    for (int u = 0; u < w->p->units; u++) {
        SAY(w, "pack_u64(a_ + %d, ", u * w->p->width);
        write_places(w, i, u);
        SAY(w, ");\n");
    }
    write_array(w, "c_", i->c, i->to);
    write_array(w, "e_", i->e, i->to);
    for (int u = 0; u < w->p->units; u++) {
        SAY(w, "for (u32 k_ = ");
        write_bits(w, u);
        SAY(w, "; k_; k_ &= k_ - 1) {\nconst int i_ = %d + __builtin_ctz(k_);\n", u * w->p->width);
        SAY(w, "d_[i_] = atomic_%s_%s(a_[i_], c_[i_], %s, %d);\n}\n", atomics[i->row], type,
            i->e == CODE_NONE ? "0" : "e_[i_]", (i->flags & CODE_OWN) != 0);
    }
    if (i->d != CODE_NONE)
        write_from_array(w, i, "d_", i->to);
    SAY(w, "}\n");
}
