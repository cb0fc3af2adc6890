/* Runs blocks as native code. */
#include "engine/backend/cpu/native/run.h"

#include "base/clock.h"
#include "base/memory.h"

#include <string.h>

static void convert(int from, int to, long long n, void *d, const void *a)
{
    cpu_level_now()->convert((ig_dtype)from, (ig_dtype)to, n, d, 1, a, 1);
}

static void round_lanes(int to, long long n, float *d, const float *a)
{
    cpu_level_now()->round((ig_dtype)to, n, d, a);
}

static unsigned long long now(void) { return (unsigned long long)clock_ns(); }

static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

bool native_room_begin(native_room *room, const native_image *code, const lane_code *lanes,
                       const gang_launch *l, int (*is_over)(void *context), void *context)
{
    const size_t threads = (size_t)l->block[0] * l->block[1] * l->block[2];
    const size_t frame = padded(code->frame_bytes);
    const size_t shared = padded(lanes->shared_bytes + l->dynamic_bytes + 64);
    /* Groups may be larger than the block. */
    const size_t local = padded(lanes->local_bytes * (threads + WARP_LANES));
    room->bytes = frame + shared + local;
    room->memory = memory_data_get(room->bytes);
    if (!room->memory)
        return false;
    memset(room->memory, 0, room->bytes);
    room->code = code;
    room->b = (native_block){.arguments = l->arguments,
                             .globals = l->globals,
                             .frame = room->memory,
                             .shared = room->memory + frame,
                             .local = room->memory + frame + shared,
                             .loop = code->loop,
                             .convert = convert,
                             .round = round_lanes,
                             .clock = now,
                             .is_over = is_over,
                             .context = context};
    memcpy(room->b.grid, l->grid, sizeof room->b.grid);
    return true;
}

void native_room_end(native_room *room)
{
    if (room->memory)
        memory_data_free(room->memory, room->bytes);
    room->memory = NULL;
}

bool native_room_run(native_room *room, const lane_code *lanes, const gang_launch *l, int64_t n,
                     gang_fault *fault)
{
    const uint32_t *grid = l->grid, *dim = l->block;
    native_block *b = &room->b;
    b->block[0] = (uint32_t)(n % grid[0]);
    b->block[1] = (uint32_t)(n / grid[0] % grid[1]);
    b->block[2] = (uint32_t)(n / grid[0] / grid[1]);
    const int end = room->code->run(b);
    if (end == NATIVE_FAULT) {
        const code_inst *i = &lanes->inst[b->instruction];
        const uint32_t t = (uint32_t)b->thread;
        *fault = (gang_fault){.kind = i->op == CODE_ASSERT ? FAULT_ASSERT : FAULT_TRAP,
                              .place = i->place,
                              .row = i->row,
                              .thread = {t % dim[0], t / dim[0] % dim[1], t / (dim[0] * dim[1])}};
        memcpy(fault->block, b->block, sizeof fault->block);
    }
    return end == NATIVE_DONE;
}
