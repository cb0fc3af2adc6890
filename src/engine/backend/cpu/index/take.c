/* A MAP that only copies whole rows at indices (an embedding, or a take along any axis except the last). */
#include "engine/backend/cpu/elements/elements.h"

#include "base/mapping.h"
#include "base/threads.h"

#include <string.h>

enum {
    ROW_LEAST = 16,     /* least bytes of a row: shorter rows do not pay for a copy each */
    ROW_MOST = 1 << 16, /* most elements of a row in one task */
    TAKE_BATCH = 64     /* rows whose addresses are computed before they are copied */
};

typedef struct take_job {
    const operand *index, *from, *to;
    const int64_t *indices;
    const char *source;
    char *out;
    int64_t rows, task; /* all rows, and the rows of a task */
    int64_t inner;      /* elements of a row */
    size_t bytes;       /* of an element */
    int file;           /* of the source: see elements_file */
    int64_t file_at;
    cpu_fault fault;
} take_job;

static int64_t last_stride(const operand *o) { return o->v.stride[o->v.ndim - 1]; }

bool cpu_take_suits(const tape *t)
{
    const tape_inst *load = &t->inst[0], *read = &t->inst[1], *store = &t->inst[2];
    if (t->n_inst != 3 || load->code != TAPE_LOAD || read->code != TAPE_READ ||
        store->code != TAPE_STORE || read->a != load->dst || store->a != read->dst || t->ndim < 2)
        return false;
    const operand *index = &t->operand[load->operand], *from = &t->operand[read->operand];
    const operand *to = &t->operand[store->operand];
    const int64_t inner = t->shape[t->ndim - 1];
    return index->dtype == IG_I64 && from->dtype == to->dtype && last_stride(index) == 0 &&
           last_stride(from) == 1 && last_stride(to) == 1 && inner > 1 && inner <= ROW_MOST &&
           inner * (int64_t)ig_dtype_bytes(from->dtype) >= ROW_LEAST;
}

static void walk_row(view_walk *w) { walk_move_along(w, w->v->ndim - 2, 1); }

/* The addresses of n rows from the given row on; NULL if the index is outside of its axis. */
static void find_rows(take_job *j, int64_t row, int64_t n, const char **at)
{
    const int64_t len = j->from->axis_len;
    view_walk index, from;
    walk_start(&index, &j->index->v, row * j->inner);
    walk_start(&from, &j->from->v, row * j->inner);
    for (int64_t r = 0; r < n; r++, walk_row(&index), walk_row(&from)) {
        const int64_t given = j->indices[index.offset], k = given + (given < 0 ? len : 0);
        const bool inside = k >= 0 && k < len;
        at[r] = inside ? j->source + (from.offset + k * j->from->axis_stride) * (int64_t)j->bytes
                       : NULL;
        if (!inside)
            cpu_fault_note(&j->fault, (row + r) * j->inner, given, len);
    }
}

/* Reads the row from its file. Returns false if the row is not in a file. */
static bool take_from_file(const take_job *j, const char *row, size_t bytes, char *to)
{
    return j->file >= 0 && mapping_read(j->file, j->file_at + (row - j->source), to, bytes);
}

static void take_task(void *ctx, int64_t task, int worker)
{
    take_job *j = ctx;
    const size_t bytes = (size_t)j->inner * j->bytes;
    const int64_t end = (task + 1) * j->task < j->rows ? (task + 1) * j->task : j->rows;
    const char *at[TAKE_BATCH];
    view_walk to;
    (void)worker;
    walk_start(&to, &j->to->v, task * j->task * j->inner);
    for (int64_t row = task * j->task; row < end; row += TAKE_BATCH) {
        const int64_t n = end - row < TAKE_BATCH ? end - row : TAKE_BATCH;
        find_rows(j, row, n, at);
        for (int64_t r = 0; r < n; r++, walk_row(&to)) {
            char *d = j->out + to.offset * (int64_t)j->bytes;
            if (at[r] && !take_from_file(j, at[r], bytes, d))
                memcpy(d, at[r], bytes);
        }
    }
}

ig_status cpu_take(const program *p, const binding *b)
{
    const tape *t = &p->pre;
    take_job j = {.index = &t->operand[t->inst[0].operand],
                  .from = &t->operand[t->inst[1].operand],
                  .to = &t->operand[t->inst[2].operand],
                  .inner = t->shape[t->ndim - 1]};
    j.indices = (const int64_t *)operand_host(j.index, b);
    j.source = operand_host(j.from, b);
    j.out = operand_host(j.to, b);
    j.bytes = ig_dtype_bytes(j.from->dtype);
    j.file = elements_file(j.from, j.source, &j.file_at);
    j.rows = t->size / j.inner;
    j.task = j.inner < TASK_WORK ? TASK_WORK / j.inner : 1;
    cpu_fault_clear(&j.fault);
    pool_run((j.rows + j.task - 1) / j.task, take_task, &j);
    return cpu_fault_status(&j.fault, p);
}
