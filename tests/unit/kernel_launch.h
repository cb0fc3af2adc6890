/* Launches a kernel of a test: pointers get arrays of n elements 0, 1, 2, ..., integers get n, floats get 0.5. */
#ifndef UNIT_KERNEL_LAUNCH_H
#define UNIT_KERNEL_LAUNCH_H

#include "ingot.h"

#include <string.h>

enum { LAUNCH_ARGS = 8 };

/* Launches the first kernel of the source; l has the shape and the options. */
static inline ig_status launch_first(const char *source, int64_t n, const ig_launch *l)
{
    ig_array *results[LAUNCH_ARGS] = {0};
    ig_arg args[LAUNCH_ARGS];
    ig_launch mine = *l;
    ig_status status = IG_ERR_FORMAT;
    ig_module *m = ig_module_new("test.cu", source, NULL);
    if (!m)
        return status;
    const ig_kernel_info *k = ig_module_at(m, 0);
    for (int i = 0; i < k->n_params; i++) {
        const ig_kernel_param *p = &k->params[i];
        const bool real = p->dtype == IG_F32;
        args[i] = (ig_arg){.kind = p->is_pointer ? IG_ARG_ARRAY : real ? IG_ARG_FLOAT : IG_ARG_INT};
        if (p->is_pointer)
            args[i].u.array = ig_astype(ig_arange(0, (double)n, 1, IG_F32), p->dtype);
        else if (real)
            args[i].u.f = 0.5;
        else
            args[i].u.i = n;
    }
    mine.args = args;
    mine.n_args = k->n_params;
    status = ig_module_launch(m, k->name, &mine, results);
    ig_module_free(m);
    return status;
}

/* The line of the source, from 1, that contains the mark; 0: none. */
static inline int64_t marked_line(const char *source, const char *mark)
{
    int64_t line = 1;
    const char *at = strstr(source, mark);
    for (const char *c = source; at && c < at; c++)
        line += *c == '\n';
    return at ? line : 0;
}

#endif
