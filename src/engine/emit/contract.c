/* Contractions: out[b, m, n] = sum over k of in0[b, m, k] * in1[b, n, k], then the epilogue.
 *
 * A block computes a tile of TILE x TILE sums, or of twice as many columns, or of twice as many rows and columns, if
 * there are enough of them (LARGE). If there are so few tiles that most processors are idle, a block is one warp with a
 * tile of 16 x 32 or less. A thread has `rows` x `cols` sums: rows in groups of GROUP neighbours, so that the lanes of
 * a warp read shared memory in whole vectors. Panels of TILE_K points of k, or more if there are few tiles, go through
 * shared memory, converted to lanes. Shared memory holds two panels; while one is used, the next is loaded into
 * registers. With target->same, k is cut as on the CPU, evenly into the fewest blocks of at most PRODUCT_K points: a
 * block's products are added in order from zero, then the blocks' sums in order. A large tile keeps the sums of blocks
 * in shared memory, so that a thread needs at most 128 registers. */
#include "engine/emit/contract.h"

#include "base/error.h"

enum {
    LARGE_SHARED = 100 * 1024, /* shared memory per block that large tiles need */
    LARGE_THREADS = 512,       /* in all blocks that a processor runs at once */
    TILE = 64,
    FEW_K = 256 /* up to this k, tiles are small if there are few of them */
};

/* Points of an axis that tiles cover. */
static int64_t covered(int64_t n, int tile) { return ceil_div(n, tile) * tile; }

/* True if there are enough tiles of rows x cols to keep the device busy, and they do not compute much more padding than
 * small tiles. */
static bool is_large(const program *p, const emit_target *t, int rows, int cols)
{
    const int64_t m = p->extent[1], n = p->extent[2];
    const int64_t sums = p->extent[0] * covered(m, rows) * covered(n, cols);
    return contraction_lane(p) == IG_F32 && t->subgroup == 32 && t->threads >= 256 &&
           t->shared_bytes >= LARGE_SHARED && t->processors > 0 &&
           2 * sums >= (int64_t)3 * t->processors * (2 * TILE) * (2 * TILE) &&
           4 * covered(m, rows) * covered(n, cols) <= 5 * covered(m, TILE) * covered(n, TILE);
}

/* True if tiles leave most processors idle. Then the time is one thread's time for its sums and their epilogues, one
 * after another. */
static bool is_few(const program *p, const emit_target *t)
{
    return p->extent[3] <= FEW_K &&
           4 * p->extent[0] * ceil_div(p->extent[1], TILE) * ceil_div(p->extent[2], TILE) <=
               t->processors;
}

/* Small tiles: the largest size that gives every processor a tile. If there is no such size, a thread has one sum. A
 * panel has many points of k, since each panel takes as long as its loads. */
static contract_shape few_shape(const program *p, const emit_target *t)
{
    static const struct {
        int rows, cols;
    } sizes[] = {{4, 4}, {2, 4}, {2, 2}, {1, 2}, {1, 1}};
    enum { SIZES = sizeof sizes / sizeof sizes[0], MOST_POINTS = 4 * TILE_K };
    contract_shape s = {.warps_n = 1, .threads = 32, .points = TILE_K};
    int64_t tiles = 0;
    for (int i = 0; i < SIZES && tiles < t->processors; i++) {
        s.rows = sizes[i].rows;
        s.cols = s.vector = sizes[i].cols;
        tiles = p->extent[0] * ceil_div(p->extent[1], LANES_M * s.rows) *
                ceil_div(p->extent[2], LANES_N * s.cols);
    }
    while (s.points < p->extent[3] && s.points < MOST_POINTS && s.rows * s.cols < 16)
        s.points *= 2;
    return s;
}

/* Lanes of 8 bytes have fewer sums for each thread, since registers are scarce. */
static contract_shape shape_of(const program *p, const emit_target *t)
{
    const bool wide = ig_dtype_bytes(contraction_lane(p)) > 4;
    if (t->cpu)
        return SERIAL_SHAPE;
    contract_shape s = {.rows = wide ? 4 : 8, .cols = 4, .vector = wide ? 2 : 4};
    int rows = TILE, cols = TILE;
    s.matrices = contraction_uses_matrices(p, t);
    if (!s.matrices && !wide && is_few(p, t))
        return few_shape(p, t);
    if (!s.matrices && is_large(p, t, 2 * TILE, 2 * TILE))
        rows = cols = 2 * TILE;
    else if (!s.matrices && is_large(p, t, TILE, 2 * TILE))
        cols = 2 * TILE;
    s.large = cols > TILE;
    s.cols = s.large ? 8 : s.cols;
    s.warps_n = cols / (LANES_N * s.cols);
    s.threads = 32 * s.warps_n * (rows / (LANES_M * s.rows));
    return s;
}

ig_status emit_contract(const program *p, const emit_target *t, emitted *out)
{
    contraction c = {.p = p, .shape = shape_of(p, t), .chain_rows = 0};
    if (p->post.size == 0)
        return IG_OK;
    if (contraction_runs_as_vector(p, t))
        return emit_contract_vector(p, t, out);
    emit_writer w;
    TRY(writer_start(&w, t, out));
    w.wide = !emit_is_narrow(p, 1) ||
             (double)p->extent[0] * (double)p->extent[1] * (double)p->extent[2] > EMIT_POINTS_MOST;
    contraction_plan(&w, &c, (int64_t)t->shared_bytes);
    const int rows = c.side[0].tile, cols = c.side[1].tile;
    const int64_t across = ceil_div(p->extent[2], cols), down = ceil_div(p->extent[1], rows);
    contraction_fill(&w, &c);
    hole_int(&w, "c0_BLOCKS", LARGE_THREADS / c.shape.threads);
    hole_size(&w, "TILES_N", across);
    hole_size(&w, "TILES_M", down);
    writer_template(&w, "contract.cu", NULL);
    w.ahead = p->extent[0] * down * across <= t->processors ? INT64_MAX : 0;
    const uint32_t grid[3] = {(uint32_t)(p->extent[0] * down * across), 1, 1};
    const uint32_t block[3] = {(uint32_t)c.shape.threads, 1, 1};
    const int64_t parked = t->same ? (int64_t)rows * cols * 4 : 0;
    return writer_finish(&w, "contract", grid, block,
                         c.shape.large ? (size_t)(contraction_panel_bytes(&w, &c) + parked) : 0);
}
