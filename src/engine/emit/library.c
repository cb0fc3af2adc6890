/* The text of kernels/, embedded. Emitted kernels include it by name. */
#include "engine/emit/library.h"

#include "base/embed.h"
#include "engine/emit/writer.h"

#include <string.h>

#define FILES(ROW) \
    ROW(lanes) \
    ROW(lanes_f64) \
    ROW(saturate) \
    ROW(half) \
    ROW(half_f64) \
    ROW(random) \
    ROW(order) \
    ROW(math) \
    ROW(math_each) \
    ROW(math_int) \
    ROW(math_poly)

#define EMBEDDED(name) \
    INCLUDE_FILE("kernels_" #name, "kernels/" #name ".cuh"); \
    extern const char kernels_##name[]; \
    extern const uint64_t kernels_##name##_size;
FILES(EMBEDDED)

const char *library_find(void *context, const char *name, bool quoted, size_t *bytes)
{
#define FOUND(name) {#name ".cuh", kernels_##name, &kernels_##name##_size},
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
