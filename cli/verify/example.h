/* Example calls of ops: the last column of the rows of ops.def, where it is explained. `ingot verify` runs them if
 * the op has no plan, and the gradient tests differentiate them. */
#ifndef CLI_VERIFY_EXAMPLE_H
#define CLI_VERIFY_EXAMPLE_H

#include <ingot.h>

enum { EXAMPLE_INPUTS = 5, EXAMPLE_AXES = 6 };

typedef enum example_kind {
    EXAMPLE_DIFF,
    EXAMPLE_MOVED,
    EXAMPLE_STOP,
    EXAMPLE_FLAT,
    EXAMPLE_WHOLE,
    EXAMPLE_SOURCE,
    EXAMPLE_VALUE,
} example_kind;

typedef struct example {
    example_kind kind;
    const char *op;
    unsigned takes; /* the dtypes of inputs without a fixed one: a bit for each */
    const char *inputs, *call;
} example;

/* The i-th example of the op, or of any op if op is NULL; NULL past the last. */
const example *example_at(const char *op, int i);

/* An input: its shape, and where its values come from; see ops.def. */
typedef struct example_input {
    int ndim;
    int64_t shape[EXAMPLE_AXES];
    char from;
    double low, high; /* of '[' */
    int64_t below;    /* of '#' and '~' */
} example_input;

/* Reads one input and returns the position after it. */
const char *example_input_read(const char *text, example_input *in);
/* The dtype of the input if it is fixed, else IG_DTYPE_NONE. */
ig_dtype example_input_dtype(const example_input *in);

/* True if the call names the dtype under test. */
bool example_names_dtype(const example *e);
/* Replaces each complex result by its parts, as two results, if there is room; returns the number of results. */
int example_parts(ig_array **y, int n, int room);
/* Evaluates the call with these inputs, NULL past the last, and the dtype under test; returns the number of results, 0 on
 * failure. Ends the program if the table has a mistake. */
int example_build(const example *e, ig_dtype dtype, ig_array *const *in, ig_array **y, int room);

#endif
