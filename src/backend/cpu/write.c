/* WRITE: updates put, or added, at computed places of an output that holds the base already. One after
 * another in row-major order, since later writes win and additions in floating point do not commute. */
#include "backend/cpu/cpu.h"
#include "backend/cpu/raw.h"

enum { CHUNK_BYTES = TAPE_BLOCK * 8 };

#define ADD_JOIN(name, lane) name##_##lane
#define ADD_NAME(name, lane) ADD_JOIN(name, lane)

#define E uint8_t
#define SIZE u8
#include "backend/cpu/write.inc"
#undef E
#undef SIZE

#define E uint16_t
#define SIZE u16
#include "backend/cpu/write.inc"
#undef E
#undef SIZE

#define E uint32_t
#define SIZE u32
#include "backend/cpu/write.inc"
#undef E
#undef SIZE

#define E uint64_t
#define SIZE u64
#include "backend/cpu/write.inc"
#undef E
#undef SIZE

#define E float
#define SIZE f32
#include "backend/cpu/write.inc"
#undef E
#undef SIZE

#define E double
#define SIZE f64
#include "backend/cpu/write.inc"
#undef E
#undef SIZE

static void add_bool(int64_t n, void *base, const int64_t *offset, const void *from)
{
    uint8_t *d = base;
    const uint8_t *a = from;
    for (int64_t i = 0; i < n; i++)
        if (offset[i] < RAW_NOWHERE)
            d[offset[i]] |= a[i];
}

/* Each sum is rounded before the next. */
static void add_half(ig_dtype dtype, int64_t n, void *base, const int64_t *offset, const void *from)
{
    const cpu_level *level = cpu_level_now();
    for (int64_t i = 0; i < n; i++) {
        if (offset[i] >= RAW_NOWHERE)
            continue;
        uint16_t *d = (uint16_t *)base + offset[i];
        float x, y;
        level->convert(dtype, IG_F32, 1, &x, 1, d, 1);
        level->convert(dtype, IG_F32, 1, &y, 1, (const uint16_t *)from + i, 1);
        x += y;
        level->convert(IG_F32, dtype, 1, d, 1, &x, 1);
    }
}

static void add_f16(int64_t n, void *base, const int64_t *offset, const void *from)
{
    add_half(IG_F16, n, base, offset, from);
}

static void add_bf16(int64_t n, void *base, const int64_t *offset, const void *from)
{
    add_half(IG_BF16, n, base, offset, from);
}

/* Signed integers wrap as unsigned ones do. */
static void (*const adds[DTYPE_COUNT])(int64_t n, void *base, const int64_t *offset,
                                       const void *from) = {
    [IG_BOOL] = add_bool, [IG_I8] = add_u8,   [IG_I16] = add_u16,   [IG_I32] = add_u32,
    [IG_I64] = add_u64,   [IG_U8] = add_u8,   [IG_U16] = add_u16,   [IG_U32] = add_u32,
    [IG_U64] = add_u64,   [IG_F16] = add_f16, [IG_BF16] = add_bf16, [IG_F32] = add_f32,
    [IG_F64] = add_f64,
};

size_t cpu_write_scratch(const program *p)
{
    (void)p;
    return 4 * (size_t)CHUNK_BYTES;
}

ig_status cpu_write(const program *p, const binding *b)
{
    const cpu_level *level = cpu_level_now();
    const int64_t size = view_size(&p->in[1].v);
    char *scratch = scratch_of(0), *base = operand_host(&p->out, b);
    char *stored = scratch, *updates = scratch + CHUNK_BYTES;
    int64_t *index = (int64_t *)(updates + CHUNK_BYTES), *offset = index + TAPE_BLOCK;
    cpu_fault fault;
    cpu_fault_clear(&fault);
    for (int64_t i = 0; i < size; i += TAPE_BLOCK) {
        const int64_t n = size - i < TAPE_BLOCK ? size - i : TAPE_BLOCK;
        raw_read(&p->in[0], b, i, n, stored);
        level->convert(p->in[0].dtype, IG_I64, n, index, 1, stored, 1);
        raw_read(&p->in[1], b, i, n, updates);
        raw_index(&p->out, i, n, index, offset, &fault);
        if (p->flag)
            adds[p->out.dtype](n, base, offset, updates);
        else
            raw_moves_of(p->out.dtype)->put(n, base, offset, updates);
    }
    return cpu_fault_status(&fault);
}
