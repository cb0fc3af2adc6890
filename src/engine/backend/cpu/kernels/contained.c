/* kernels/contained.cu on the CPU: if the sorted integers are near each other, a bit for each integer between the first and
 * the last says whether it is one of them; else they are searched. */
#include "base/memory.h"
#include "base/threads.h"
#include "engine/backend/cpu/kernels/kernels.h"

enum {
    PIECE = 1 << 15,
    BITS_MOST = 1 << 25 /* integers with a bit */
};

typedef struct search_job {
    const void *x, *sorted;
    uint8_t *y;
    const uint64_t *bit; /* of each integer from the first of sorted on, or NULL */
    int64_t size, n;
    uint64_t first, range;
} search_job;

#define SEARCH(name, TYPE) \
    static void name(void *context, int64_t task, int worker) \
    { \
        const search_job *j = context; \
        const TYPE *x = j->x, *sorted = j->sorted; \
        const int64_t from = task * PIECE, end = from + PIECE < j->size ? from + PIECE : j->size; \
        (void)worker; \
        for (int64_t i = from; i < end && j->bit; i++) { \
            const uint64_t at = (uint64_t)x[i] - j->first; \
            const uint64_t here = at <= j->range ? at : 0; \
            j->y[i] = (uint8_t)(j->bit[here / 64] >> here % 64 & (at <= j->range)); \
        } \
        for (int64_t i = from; i < end && !j->bit; i++) { \
            const TYPE *low = sorted; \
            for (int64_t length = j->n; length > 1; length -= length / 2) \
                low += low[length / 2] <= x[i] ? length / 2 : 0; \
            j->y[i] = *low == x[i]; \
        } \
    } \
    static void name##_row(search_job *j) \
    { \
        const TYPE *sorted = j->sorted; \
        j->first = (uint64_t)sorted[0]; \
        j->range = (uint64_t)sorted[j->n - 1] - j->first; \
        uint64_t *bit = j->range < BITS_MOST && (int64_t)j->range / 64 <= j->size \
                            ? memory_new((size_t)(j->range / 64 + 1) * sizeof *bit) \
                            : NULL; \
        for (int64_t k = 0; bit && k < j->n; k++) { \
            const uint64_t place = (uint64_t)sorted[k] - j->first; \
            bit[place / 64] |= (uint64_t)1 << place % 64; \
        } \
        j->bit = bit; \
        pool_run((j->size + PIECE - 1) / PIECE, name, j); \
        memory_free(bit); \
    }
SEARCH(search_i32, int32_t)
SEARCH(search_i64, int64_t)

ig_status cpu_kernel_contained(const cpu_kernel_call *c)
{
    const int64_t rows = cpu_call_number(c, "rows"), size = cpu_call_number(c, "size"),
                  n = cpu_call_number(c, "n"), bytes = (int64_t)ig_dtype_bytes(cpu_call_dtype(c));
    const char *x = cpu_call_array(c, "x"), *sorted = cpu_call_array(c, "sorted");
    uint8_t *y = cpu_call_array(c, "y");
    for (int64_t row = 0; row < rows; row++) {
        search_job j = {.x = x + row * size * bytes,
                        .sorted = sorted + row * n * bytes,
                        .y = y + row * size,
                        .size = size,
                        .n = n};
        (cpu_call_dtype(c) == IG_I32 ? search_i32_row : search_i64_row)(&j);
    }
    return IG_OK;
}
