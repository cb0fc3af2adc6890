/* AMX, Intel's matrix unit: eight tiles of 16 rows of 64 bytes. Tiles 0 to 3 are sums, 4 and 5 rows of
 * in[0] (16 of them, 64 bytes of k each), 6 and 7 columns of in[1] (16 of them; a row is 4 bytes of k of
 * each).
 *
 * If the compiler does not build for AMX, AMX_EMULATED provides the same steps in C, for tests. */
#ifndef LANES_SIMD_AMX_H
#define LANES_SIMD_AMX_H

#include "engine/backend/cpu/lanes/half.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Clang before 15 uses the second name. */
#if (defined(__AMX_TILE__) || defined(__AMXTILE__)) && \
    (defined(__AMX_BF16__) || defined(__AMXBF16__)) && \
    (defined(__AMX_INT8__) || defined(__AMXINT8__)) && !(defined(ON_BASE) && !ON_BASE)
#define SIMD_AMX 1
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Requests the tile state from the system, which a process does not have at its start. */
static bool amx_ready(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* of arch_prctl */
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

/* Every kernel configures the tiles and releases them: other code of the thread may use them too. */
static inline void amx_begin(void)
{
    static const struct {
        uint8_t palette, start_row, reserved[14];
        uint16_t row_bytes[16];
        uint8_t rows[16];
    } whole = {1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};
    _tile_loadconfig(&whole);
}

#define amx_end() _tile_release()
#define amx_zero(t) _tile_zero(t)
#define amx_load(t, from, stride) _tile_loadd(t, from, (size_t)(stride))
#define amx_keep(t, to, stride) _tile_stored(t, to, (size_t)(stride))
#define amx_step_bf16(c, a, b) _tile_dpbf16ps(c, a, b)
#define amx_step_i8(c, a, b) _tile_dpbssd(c, a, b)

#elif defined(AMX_EMULATED)
#define SIMD_AMX 1

static _Thread_local union amx_tile {
    uint8_t bytes[16][64];
    int8_t i8[16][64];
    uint16_t bf16[16][32];
    float f32[16][16];
    int32_t i32[16][16];
} amx_tiles[8];

static bool amx_ready(void) { return true; }
static void amx_begin(void) { memset(amx_tiles, 0, sizeof amx_tiles); }
static void amx_end(void) {}
static void amx_zero(int t) { memset(&amx_tiles[t], 0, sizeof amx_tiles[t]); }

static void amx_load(int t, const void *from, int64_t stride)
{
    for (int r = 0; r < 16; r++)
        memcpy(amx_tiles[t].bytes[r], (const char *)from + r * stride, 64);
}

static void amx_keep(int t, void *to, int64_t stride)
{
    for (int r = 0; r < 16; r++)
        memcpy((char *)to + r * stride, amx_tiles[t].bytes[r], 64);
}

static void amx_step_bf16(int c, int a, int b)
{
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 32; k++)
            for (int j = 0; j < 16; j++)
                amx_tiles[c].f32[i][j] += bf16_to_f32(amx_tiles[a].bf16[i][k]) *
                                          bf16_to_f32(amx_tiles[b].bf16[k / 2][2 * j + k % 2]);
}

static void amx_step_i8(int c, int a, int b)
{
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 64; k++)
            for (int j = 0; j < 16; j++)
                amx_tiles[c].i32[i][j] +=
                    amx_tiles[a].i8[i][k] * amx_tiles[b].i8[k / 4][4 * j + k % 4];
}

#else
#define SIMD_AMX 0
#endif

#if SIMD_AMX
/* Stores the low bytes of 32 x 32 sums to c, or adds them to c. */
static inline void amx_put_i8(uint8_t *c, int64_t ldc, const int32_t (*sums)[32], bool add)
{
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++)
            c[i * ldc + j] = (uint8_t)((add ? c[i * ldc + j] : 0) + (uint8_t)sums[i][j]);
}

/* The same sums, kept in full. */
#define amx_step_i32(c, a, b) amx_step_i8(c, a, b)

/* Adds 32 x 32 sums to c. */
static inline void amx_put_bf16(float *c, int64_t ldc, const float (*sums)[32], bool add)
{
    (void)add;
    for (int i = 0; i < 32; i++)
        for (int j = 0; j < 32; j++)
            c[i * ldc + j] += sums[i][j];
}

/* The kernel stores these sums itself. */
#define amx_put_i32(c, ldc, sums, add) (void)(sums)
#endif

#endif
