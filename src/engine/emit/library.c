/* The text of kernels/, embedded. Emitted kernels include it by name. */
#include "engine/emit/library.h"

#include "base/embed.h"
#include "engine/emit/writer.h"

#include <string.h>

/* Functions, and templates. */
#define FILES(ROW) \
    ROW(lanes, cuh) \
    ROW(lanes_f64, cuh) \
    ROW(saturate, cuh) \
    ROW(half, cuh) \
    ROW(half_f64, cuh) \
    ROW(random, cuh) \
    ROW(sampler, cu) \
    ROW(order, cuh) \
    ROW(bins, cu) \
    ROW(ranks, cu) \
    ROW(contained, cu) \
    ROW(compact, cu) \
    ROW(math, cuh) \
    ROW(math_each, cuh) \
    ROW(math_int, cuh) \
    ROW(math_poly, cuh) \
    ROW(keys, cuh) \
    ROW(radix, cu) \
    ROW(sort, cu) \
    ROW(search, cu) \
    ROW(write, cu) \
    ROW(scan, cu) \
    ROW(contract, cu) \
    ROW(contract_names, cuh) \
    ROW(contract_tile, cuh) \
    ROW(contract_panel, cuh) \
    ROW(contract_products, cuh) \
    ROW(contract_large, cuh) \
    ROW(contract_quarter, cuh) \
    ROW(contract_serial, cuh) \
    ROW(contract_chain, cu) \
    ROW(contract_between, cuh) \
    ROW(contract_attend, cu) \
    ROW(contract_attend_scores, cuh) \
    ROW(contract_attend_product, cuh) \
    ROW(contract_attend_most, cuh) \
    ROW(contract_attend_lanes, cuh) \
    ROW(rows, cu) \
    ROW(rows_lanes, cuh) \
    ROW(rows_chunks, cuh) \
    ROW(rows_serial, cuh) \
    ROW(rows_program, cuh) \
    ROW(reduce, cu) \
    ROW(extreme, cu) \
    ROW(map, cu) \
    ROW(team, cuh) \
    ROW(spectral, cuh) \
    ROW(svd, cu) \
    ROW(eigh, cu) \
    ROW(eig, cu) \
    ROW(tridiagonal, cu) \
    ROW(panel, cuh) \
    ROW(bidiagonal, cu) \
    ROW(divide, cu) \
    ROW(divide_svd, cu) \
    ROW(secular, cuh) \
    ROW(fft, cu) \
    ROW(fft_pass, cuh) \
    ROW(fft_radix, cuh) \
    ROW(fft_half, cu) \
    ROW(factor_steps, cuh) \
    ROW(factor, cu)

#define EMBEDDED(name, ending) \
    INCLUDE_FILE("kernels_" #name, "kernels/" #name "." #ending); \
    extern const char kernels_##name[]; \
    extern const uint64_t kernels_##name##_size;
FILES(EMBEDDED)

const char *library_find(void *context, const char *name, bool quoted, size_t *bytes)
{
#define FOUND(name, ending) {#name "." #ending, kernels_##name, &kernels_##name##_size},
    static const struct {
        const char *name, *text;
        const uint64_t *bytes;
    } files[] = {FILES(FOUND)};
    (void)context;
    (void)quoted;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strcmp(files[i].name, name) == 0) {
            *bytes = (size_t)*files[i].bytes;
            return files[i].text;
        }
    return NULL;
}

void library_write(text *t, unsigned uses, bool f64)
{
    static const struct {
        unsigned use;
        const char *name;
        bool has_f64;
    } rows[] = {{USES_MATH, "math", false},
                {USES_LANES, "lanes", true},
                {USES_HALF, "half", true},
                {USES_RANDOM, "random", false},
                {USES_ORDER, "order", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!(uses & rows[i].use))
            continue;
        text_add(t, "#include \"%s.cuh\"\n", rows[i].name);
        if (rows[i].has_f64 && f64)
            text_add(t, "#include \"%s_f64.cuh\"\n", rows[i].name);
    }
}
