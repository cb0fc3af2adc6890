/* Expected times of Apple GPUs. The time of a kernel is the longest of three: for its bytes of memory, for its bytes of
 * threadgroup memory, and for its instructions. The model assumes 80 % of both bandwidths, and half of the instruction
 * rate, because addresses, branches and waits are not counted. The fma of simdgroup matrices reach 101.7 of 128 per
 * cycle, as metal-benchmarks measured. */
#include "bench/expected.h"

#include <math.h>
#include <string.h>

#define MEMORY_SHARE 0.8
#define INSTRUCTION_SHARE 0.5
#define MATRIX_SHARE (101.7 / 128)
#define SHARED_BYTES 64 /* of threadgroup memory per core and cycle */
#define LANES 128       /* per core */

typedef enum unit { BYTE, FLOP, ELEMENT } unit;

typedef struct chip {
    const char *model;
    int cores;
    double instructions_s, bytes_s;
} chip;

typedef struct counted {
    const char *work;
    unit unit;
    double minimum, moved, instructions, matrix, shared_moved;
} counted;

static const chip chips[] = {
#define CHIP(model, cores, megahertz, gigabytes_s) \
    {model, cores, 1e6 * (megahertz) * (cores)*LANES, 1e9 * (gigabytes_s)},
#include "bench/expected.def"
};

static const counted table[] = {
#define COUNTED(work, kernels, unit, minimum, moved, requested, flops, instructions, matrix, \
                shared_moved, shared_bytes, threads) \
    {#work, unit, minimum, moved, instructions, matrix, shared_moved},
#include "bench/expected.def"
};

static const chip *chip_of(const result_device *d)
{
    for (size_t i = 0; d && d->model && i < sizeof chips / sizeof *chips; i++)
        if (strcmp(chips[i].model, d->model) == 0)
            return &chips[i];
    return NULL;
}

static const counted *counted_of(const result_row *row)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].work, row->work) == 0)
            return &table[i];
    return NULL;
}

double row_expected_s(const result *r, const result_row *row)
{
    const result_device *d = row_device(r, row);
    const chip *c = chip_of(d);
    const counted *k = counted_of(row);
    if (!c || !k || strncmp(row->device, "metal", 5) != 0 ||
        (strcmp(row->dtype, "f32") != 0 && strcmp(row->dtype, "i32") != 0))
        return 0;
    const double bytes = k->unit == ELEMENT ? k->minimum * row->extent : row->bytes;
    const double units = k->unit == ELEMENT ? row->extent
                         : k->unit == FLOP  ? row->flops
                                            : row->bytes;
    const double cores = d->cores > 0 ? (double)d->cores / c->cores : 1;
    const double cycles = cores * c->instructions_s / LANES, lanes = cycles * LANES;
    const double arithmetic =
        (k->instructions - k->matrix) / INSTRUCTION_SHARE + k->matrix / MATRIX_SHARE;
    return fmax(
        bytes * k->moved / (MEMORY_SHARE * c->bytes_s),
        units * fmax(arithmetic / lanes, k->shared_moved / (MEMORY_SHARE * SHARED_BYTES * cycles)));
}

bool result_has_expected(const result *r)
{
    for (int i = 0; i < r->n_rows; i++)
        if (row_expected_s(r, &r->rows[i]) > 0)
            return true;
    return false;
}
