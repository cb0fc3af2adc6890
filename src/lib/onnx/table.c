/* Looks up rows of the table of ops, ops.def. See op.h. */
#include "lib/onnx/ops/ops.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ROW(domain, name, since, build, ingot) {domain, name, since, build, ingot},
static const onnx_op rows[] = {
#include "lib/onnx/ops.def"
};
#undef ROW

enum { ROWS = sizeof rows / sizeof *rows };

/* The rows in order of name, domain and version. */
static const onnx_op *sorted[ROWS];

static int names_compare(const onnx_op *row, const char *domain, const char *name)
{
    const int order = strcmp(row->name, name);
    return order ? order : strcmp(row->domain, domain);
}

static int rows_compare(const void *a, const void *b)
{
    const onnx_op *x = *(const onnx_op *const *)a, *y = *(const onnx_op *const *)b;
    const int order = names_compare(x, y->domain, y->name);
    return order ? order : x->since - y->since;
}

static void rows_sort(void)
{
    for (int i = 0; i < ROWS; i++)
        sorted[i] = &rows[i];
    qsort(sorted, ROWS, sizeof *sorted, rows_compare);
}

const onnx_op *onnx_op_at(int i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, rows_sort);
    return i >= 0 && i < ROWS ? sorted[i] : NULL;
}

const onnx_op *onnx_op_find(const char *domain, const char *name, int64_t version)
{
    int low = 0, high = ROWS; /* the row is before high; all rows before low are smaller */
    if (strcmp(domain, "ai.onnx") == 0)
        domain = "";
    while (low < high) {
        const int middle = low + (high - low) / 2;
        const onnx_op *row = onnx_op_at(middle);
        const int order = names_compare(row, domain, name);
        if (order < 0 || (order == 0 && row->since <= version))
            low = middle + 1;
        else
            high = middle;
    }
    const onnx_op *row = low > 0 ? onnx_op_at(low - 1) : NULL;
    return row && names_compare(row, domain, name) == 0 ? row : NULL;
}
