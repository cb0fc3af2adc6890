/* The text of kernels/, embedded. Emitted kernels include it by name. */
#include "kernel/emit/library.h"

#include "base/embed.h"
#include "kernel/emit/writer.h"

#include <string.h>

INCLUDE_FILE("kernels_lanes", "kernels/lanes.cuh");
INCLUDE_FILE("kernels_lanes_f64", "kernels/lanes_f64.cuh");
INCLUDE_FILE("kernels_half", "kernels/half.cuh");
INCLUDE_FILE("kernels_half_f64", "kernels/half_f64.cuh");
INCLUDE_FILE("kernels_random", "kernels/random.cuh");
INCLUDE_FILE("kernels_order", "kernels/order.cuh");
INCLUDE_FILE("kernels_math", "kernels/math.cuh");
INCLUDE_FILE("kernels_math_each", "kernels/math_each.cuh");
INCLUDE_FILE("kernels_math_int", "kernels/math_int.cuh");
INCLUDE_FILE("kernels_math_poly", "kernels/math_poly.cuh");
extern const char kernels_lanes[], kernels_lanes_f64[], kernels_half[], kernels_half_f64[],
    kernels_random[], kernels_order[], kernels_math[], kernels_math_each[], kernels_math_int[],
    kernels_math_poly[];
extern const uint64_t kernels_lanes_size, kernels_lanes_f64_size, kernels_half_size,
    kernels_half_f64_size, kernels_random_size, kernels_order_size, kernels_math_size,
    kernels_math_each_size, kernels_math_int_size, kernels_math_poly_size;

const char *library_find(void *context, const char *name, bool quoted, size_t *bytes)
{
    static const struct {
        const char *name, *text;
        const uint64_t *bytes;
    } files[] = {
        {"lanes.cuh", kernels_lanes, &kernels_lanes_size},
        {"lanes_f64.cuh", kernels_lanes_f64, &kernels_lanes_f64_size},
        {"half.cuh", kernels_half, &kernels_half_size},
        {"half_f64.cuh", kernels_half_f64, &kernels_half_f64_size},
        {"random.cuh", kernels_random, &kernels_random_size},
        {"order.cuh", kernels_order, &kernels_order_size},
        {"math.cuh", kernels_math, &kernels_math_size},
        {"math_each.cuh", kernels_math_each, &kernels_math_each_size},
        {"math_int.cuh", kernels_math_int, &kernels_math_int_size},
        {"math_poly.cuh", kernels_math_poly, &kernels_math_poly_size},
    };
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
