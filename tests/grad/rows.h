/* The examples of ops.def, and one call of each elementwise row of it, as data: the op, its inputs with values on the host, and
 * the layouts in which they can be passed. */
#ifndef TESTS_GRAD_ROWS_H
#define TESTS_GRAD_ROWS_H

#include "verify/example.h"

enum { MOST_INPUTS = 5, MOST_RESULTS = 8, MOST_AXES = 6 };

typedef enum row_kind {
    ROW_DIFF,
    ROW_FLAT,
    ROW_WHOLE,
    ROW_SHARP, /* gives floats, but has no derivative: refused */
    ROW_SOURCE,
    ROW_STOP,
    ROW_COUNT /* also: an example that is not differentiated */
} row_kind;

/* Makes results, at most MOST_RESULTS of them, and returns how many; 0: failed. */
typedef int (*row_make)(ig_array *const *in, ig_array **y);

typedef struct row {
    row_kind kind;
    const char *op;
    int n_in; /* the most inputs that are read */
    const char *inputs;
    row_make make;
    const example *example; /* its call, instead of make */
} row;

/* The elementwise rows and the examples of ops.def; NULL past the last. */
const row *row_at(int i);
/* Makes the results of the row with floats of this dtype; returns their number, 0 on failure. */
int row_results(const row *r, ig_dtype dtype, ig_array *const *in, ig_array **y);

/* An input of a row: its shape, its dtype, and its values, row-major. */
typedef struct input {
    int ndim;
    int64_t shape[MOST_AXES], size;
    ig_dtype dtype; /* f64 stands for any float */
    bool is_key;
    double *v;
} input;

/* The inputs of r; returns how many. Their values depend only on seed. */
int inputs_new(const row *r, int seed, input *in);
void inputs_free(input *in, int n);
static inline bool input_is_float(const input *in) { return in->dtype == IG_F64; }
static inline ig_ints input_shape(const input *in) { return (ig_ints){in->shape, in->ndim}; }

/* n different values in (-1, 1) that depend on seed. */
void values_fill(double *v, int64_t n, int seed);

/* Values as an array of this dtype. */
ig_array *array_of(const double *v, ig_ints shape, ig_dtype dtype);
/* The same, in the shape and dtype of x. */
ig_array *numbers_like(ig_array *x, int seed);
/* The n elements of x as doubles; false on failure, with the error left unread. */
bool array_read(ig_array *x, double *v, int64_t n);
bool array_is_float(const ig_array *x);

/* Arrays built between these two are on the CPU: references, so that a device compiles only what is tested. Returns the
 * current device. */
const char *reference_begin(void);
void reference_end(const char *device);

/* ---- layouts ---- */

typedef enum layout {
    PLAIN,
    TRANSPOSED,
    FLIPPED,
    SLICED,        /* every second element of a larger array */
    REPEATED,      /* the first axis repeats one element */
    REPEATED_LAST, /* the last axis repeats one element */
    LAYOUT_COUNT
} layout;
extern const char *const layout_names[LAYOUT_COUNT];

/* An input as stored, and as viewed: element i is stored[place[i]]. */
typedef struct laid {
    const input *in;
    layout how;
    int ndim;
    int64_t shape[MOST_AXES], size; /* as stored */
    double *stored;
    int64_t *place;
} laid;

void laid_new(laid *l, const input *in, layout how);
void laid_free(laid *l);
/* The stored values, as an array; and the view of such an array through the layout. */
ig_array *laid_store(const laid *l);
ig_array *laid_see(const laid *l, ig_array *stored);

#endif
