/* Declarations shared by the files of the emitter: the kernel text under construction, its parameters and sizes. */
#ifndef EMIT_WRITER_H
#define EMIT_WRITER_H

#include "base/text.h"
#include "base/integer.h"
#include "engine/emit/emit.h"

enum {
    EMIT_MOST_POINTERS = 512,
    EMIT_POINTS_MOST =
        1
        << 30, /* of kernels with 32-bit indices: one plus the step of a loop over a grid has 31 bits */
    EMIT_MOST_BLOCKS = (1 << 24) - 1 /* of 256 threads: thread numbers have 32 bits */
};

/* A pointer parameter: "p3" in the text. */
typedef struct emit_pointer {
    emit_param at;
    ig_dtype dtype; /* of storage */
    bool written;
    const char *type; /* for scratch: its C type; else NULL */
    int64_t before;   /* elements before the element that the text calls the first: see
                       * writer_operand */
    int before_field; /* the field that holds them */
} emit_pointer;

/* A kernel under construction. */
typedef struct emit_writer {
    const emit_target *target;
    emitted *out;
    text body; /* device functions and the kernel */
    emit_pointer pointer[EMIT_MOST_POINTERS];
    int n_pointer;
    int64_t *number; /* of the sizes: fields n0, n1, ... of type idx */
    int n_number, room_number;
    struct {
        int slot;
        uint64_t offset;
        ig_dtype dtype;
    } value[EMIT_MOST_POINTERS]; /* fields x0, x1, ... */
    int n_value;
    bool wide;      /* idx has 64 bits */
    bool needs_f64; /* a value or element is f64 */
    unsigned uses;  /* USES_*: library files to include before the kernel */
    bool
        windows; /* rows are short and have several axes, whose lengths are constants of the text */
    bool faults;
    struct {
        int program, field; /* the field of the sizes with the number of its record */
    } * record;
    int n_record, room_record;
    int64_t ahead; /* inputs of at most this many bytes may be loaded before stores: see is_alone */
    bool failed;
} emit_writer;

enum {
    USES_HALF = 1,
    USES_RANDOM = 2,
    USES_MATH = 4,
    USES_ORDER = 8,
    USES_LANES = 16,
    USES_STORAGE = 32
};

/* Begins a launch of the program. */
ig_status writer_start(emit_writer *w, const emit_target *target, emitted *out);
/* Ends the launch: the text becomes a step. */
ig_status writer_finish(emit_writer *w, const char *entry, const uint32_t grid[3],
                        const uint32_t block[3], size_t shared_bytes);
/* The same with blocks and threads in one dimension, and without dynamic shared memory. */
ig_status writer_launch(emit_writer *w, const char *entry, int64_t blocks, int threads);
void writer_drop(emit_writer *w);

/* ---- templates: the files kernels/?*.cu that open with "Template:" ----
 *
 * A template is CUDA C with holes, which are macros. The text of a kernel defines each hole, then includes the
 * template. If a template has several kernels or variants, holes select one by #if, so that the compiler does not see
 * the others. */

/* Defines a hole: as text; as a constant; as a size, which is a field; as a pointer parameter. */
void hole_text(emit_writer *w, const char *name, const char *format, ...) IG_PRINTF(3, 4);
void hole_int(emit_writer *w, const char *name, int64_t n);
void hole_size(emit_writer *w, const char *name, int64_t n);
void hole_pointer(emit_writer *w, const char *name, int pointer);
/* Includes the template after its holes. `kernel` is the hole that selects one of its kernels; NULL: it has only
 * one. */
void writer_template(emit_writer *w, const char *file, const char *kernel);

/* The index of the field that holds a size or stride; equal numbers have separate fields, since they may differ for
 * other shapes. */
int writer_number(emit_writer *w, int64_t n);
/* The pointer parameter of an operand, new or found. A launch only reaches forward from where an argument points. If
 * the operand has negative strides in an array that is larger than a buffer, the argument points to its lowest element,
 * and the name in the text is a macro for the pointer to its first. */
int writer_operand(emit_writer *w, const operand *o, bool written);
/* The pointer parameter of the whole buffer of an operand in blocks. */
int writer_blocks(emit_writer *w, const operand *o);
/* The expression of an element of an operand in blocks, as f32. at: the expression of its number in the buffer. */
enum { EMIT_UNPACK_BYTES = 256 };
const char *writer_unpack(emit_writer *w, const operand *o, const char *at,
                          char out[static EMIT_UNPACK_BYTES]);
/* The field that holds the number of the program's fault record. */
int writer_record(emit_writer *w, int number);
/* A pointer into scratch. */
int writer_scratch(emit_writer *w, const char *type, uint64_t offset);

/* ---- types and rows (rows of ops.def as C text) ---- */

const char *emit_lane_type(ig_dtype dtype);    /* "float": the type of a register */
const char *emit_storage_type(ig_dtype dtype); /* "unsigned short" for f16 */
/* "float4": n elements, 2 or 4; always 2 for elements of 8 bytes. */
const char *emit_vector_type(ig_dtype dtype, int n);
extern const char *const emit_component[4]; /* "x", "y", "z", "w" */
/* An expression of ops.def with x and y replaced, for lanes of dtype `lane`. */
void emit_expression(text *t, int op, ig_dtype lane, const char *x, const char *y);
void emit_identity(text *t, int fold, ig_dtype lane);
/* A conversion between storage dtypes, as ig_astype does. */
void emit_cast(emit_writer *w, ig_dtype from, ig_dtype to, const char *x);
/* True if the row's text calls math functions. */
bool emit_needs_math(int op);

/* ---- tapes ---- */

/* How the statements get a tape's point. */
typedef struct emit_space {
    const tape *t;
    int axis;   /* axes before it are decoded from `row`, the others from `col`; -1: all from `i` */
    int vector; /* points that a thread takes together: 1, 2 or 4, along the last axis */
    int step;   /* points from one of them to the next, if not 1: see emit_has_steps */
    const char
        *core; /* the expression of TAPE_CORE; for a vector, followed by the number of the point */
    /* Slots that exist by rows, in shared memory: see rows.c; NULL: none. */
    const struct emit_locals *locals;
    int64_t rows;
    /* Values in registers: see held.h; NULL: none. */
    const struct held_values *held;
    int program;         /* number in the chain */
    const uint8_t *nans; /* of each register; emit_tape sets it */
} emit_space;

/* EMIT_NAN_MOVED: the value may be stored unchanged, so its NaN must keep its bits. EMIT_NAN_COMPUTED: it is the result
 * of arithmetic, so its NaN is the machine's. See nan.c. */
enum { EMIT_NAN_MOVED = 1, EMIT_NAN_COMPUTED = 2 };
/* Adds these flags to nans[register], initially 0. */
void emit_find_nans(const tape *t, uint8_t *nans);

/* Statements that compute the tape at a point, including its stores. The result register (if the tape has one) is named
 * "v<result>_0". */
void emit_tape(emit_writer *w, const emit_space *s);
/* How many points of the tape can be taken at a time: 1, 2 or 4. */
int emit_vector_width(const emit_writer *w, const tape *t);
/* True if a thread can take four points that are 32 apart, with neighbouring lanes at neighbouring points, and this
 * pays: random bits are then computed once for four lanes. The values go to out[]. */
bool emit_has_steps(const tape *t);
/* The axis at which `inner` trailing points begin, or -1 if an axis holds both parts. */
int emit_split_axis(const tape *t, int64_t inner);
/* True if no index of the n programs needs more than 31 bits. */
bool emit_is_narrow(const program *p, int n);

/* ---- cores ---- */

ig_status emit_map(const program *p, const emit_target *t, emitted *out);
ig_status emit_rows(const program *p, int n, const emit_target *t, emitted *out);
ig_status emit_reduce(const program *p, const emit_target *t, emitted *out);
ig_status emit_argreduce(const program *p, const emit_target *t, emitted *out);
ig_status emit_scan(const program *p, const emit_target *t, emitted *out);
ig_status emit_sort(const program *p, const emit_target *t, emitted *out);
ig_status emit_search(const program *p, const emit_target *t, emitted *out);
ig_status emit_write(const program *p, const emit_target *t, emitted *out);
ig_status emit_contract(const program *p, const emit_target *t, emitted *out);
ig_status emit_contract_chain(const program *p, int n, const emit_target *t, emitted *out);

#endif
