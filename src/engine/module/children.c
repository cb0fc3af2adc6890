/* Grids that kernels launched, as CUDA 12 runs them: after the grid that launched them, each followed by the grids that it
 * launched itself, and launches into the tail stream after all others. The rows of launches are in variables of the
 * source (src/compiler/library/launches.cu). */
#include "base/error.h"
#include "base/memory.h"
#include "engine/module/device.h"

#include <string.h>

/* The same struct as in launches.cu. */
typedef struct launch_head {
    uint64_t kernel;
    uint32_t grid[3], block[3];
    uint64_t shared, bytes;
    uint32_t is_tail, unused[3];
} launch_head;
_Static_assert(sizeof(launch_head) == 64, "the layout of ig_launch_head in launches.cu");

/* The variables of launches.cu on the CPU. */
typedef struct launches {
    ig_module *m;
    const backend *dev;
    uint64_t *used;
    uint32_t *depth;
    const char *rows;
} launches;

static void *variable(const ig_module *m, const binding *all, const char *name)
{
    const kernel_var *v = m->tree->globals;
    while (v && strcmp(v->source_name->text, name) != 0)
        v = v->next;
    return v ? (char *)all->buf->data + kernel_global_at(m->tree, v) : NULL;
}

static const kernel_entry *kernel_of(const ig_module *m, uint64_t number)
{
    const kernel_entry *e = m->tree->kernels;
    while (e && e->function->launched != number)
        e = e->next;
    return e;
}

static ig_status run_rows(const launches *c, const lane_launch *parent);

/* Launches one row. Its output and mistakes are the parent's. */
static ig_status run_row(const launches *c, const lane_launch *parent, const launch_head *row)
{
    module_built *b;
    const kernel_entry *e = kernel_of(c->m, row->kernel);
    if (!e)
        FAIL(IG_ERR_INTERNAL, "a kernel launches the kernel %llu, which the module does not have",
             (unsigned long long)row->kernel);
    TRY(module_built_for(c->m, c->dev, e, NULL, &b));
    lane_launch l = *parent;
    kernel_check *const check = parent->check && parent->check->memory ? parent->check : NULL;
    l.base.args = NULL;
    l.base.shared_bytes = row->shared;
    memcpy(l.base.grid, row->grid, sizeof l.base.grid);
    memcpy(l.base.block, row->block, sizeof l.base.block);
    l.packed = row + 1;
    l.check = check;
    l.profile = NULL;
    TRY(module_built_launch(b, &l));
    TRY(c->dev->finish(c->dev));
    return run_rows(c, &l);
}

/* Runs the rows that the grid which has just ended has left. */
static ig_status run_rows(const launches *c, const lane_launch *parent)
{
    const size_t bytes = (size_t)*c->used;
    if (!bytes)
        return IG_OK;
    char *rows = memory_get(bytes);
    if (!rows)
        return IG_ERR_MEMORY;
    memcpy(rows, c->rows, bytes);
    *c->used = 0;
    ++*c->depth;
    ig_status status = IG_OK;
    for (uint32_t tail = 0; tail < 2; tail++) {
        const launch_head *row;
        for (size_t at = 0; at < bytes && status == IG_OK; at += (size_t)row->bytes) {
            row = (const launch_head *)(const void *)(rows + at);
            if (row->is_tail == tail)
                status = run_row(c, parent, row);
        }
    }
    --*c->depth;
    memory_free(rows);
    return status;
}

ig_status module_children(ig_module *m, const backend *dev, const binding *all,
                          const lane_launch *parent)
{
    const launches c = {m, dev, variable(m, all, "ig_launch_used"),
                        variable(m, all, "ig_launch_depth"), variable(m, all, "ig_launch_rows")};
    const ig_status status = run_rows(&c, parent);
    if (status != IG_OK) { /* a later launch begins anew */
        *c.used = 0;
        *c.depth = 0;
    }
    return status;
}
