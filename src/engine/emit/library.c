/* The text of kernels/, embedded. Emitted kernels include it by name. */
#include "engine/emit/library.h"

#include "base/packed.h"
#include "engine/emit/writer.h"

#include "kernels.inc"

const char *library_find(void *context, const char *name, bool quoted, size_t *bytes)
{
    (void)context;
    (void)quoted;
    return packed_find(&kernels, name, bytes);
}

void library_write(text *t, unsigned uses, bool f64)
{
    static const struct {
        unsigned use;
        const char *name;
        bool has_f64;
    } rows[] = {{USES_MATH, "math", false},     {USES_LANES, "lanes", true},
                {USES_HALF, "half", true},      {USES_STORAGE, "storage", false},
                {USES_RANDOM, "random", false}, {USES_ORDER, "order", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!(uses & rows[i].use))
            continue;
        text_add(t, "#include \"%s.cuh\"\n", rows[i].name);
        if (rows[i].has_f64 && f64)
            text_add(t, "#include \"%s_f64.cuh\"\n", rows[i].name);
    }
}
