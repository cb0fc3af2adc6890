/* Lowering: from the checked tree to lane code. Shared declarations.
 *
 * Device functions are inlined at each call, unless the same call was made before, its arguments have not
 * changed and it neither reads nor writes memory: then the earlier result is used. A variable lives in registers, one for each of its scalars. It
 * lives in the lane's local memory if its address is taken, if it contains a union, or if it is large. */
#ifndef KERNEL_LOWER_H
#define KERNEL_LOWER_H

#include "compiler/code.h"
#include "compiler/tree.h"

enum {
    LOWER_LEAVES = 64, /* maximum number of registers of one value */
    KNOWN_MOST = 256   /* calls whose results can be used again */
};

/* A value: one register for each of its scalars, in memory order; or, if it is kept in memory, the address of
 * a place that is not written while the value is in use. */
typedef struct lower_value {
    const kernel_type *type;
    int32_t *reg; /* NULL: it is in memory */
    int n;
    int32_t address; /* if it is in memory */
    int32_t offset;
} lower_value;

/* A place: registers of a variable, or memory at a + b * scale + offset. */
typedef struct lower_place {
    const kernel_type *type;
    int32_t *reg; /* NULL: memory */
    int n;
    int32_t a, b;  /* b may be CODE_NONE */
    uint8_t index; /* dtype of b: IG_I32, IG_U32, IG_I64 */
    uint8_t space;
    int32_t scale, offset;
    int32_t object;            /* 1 + its number, as in code_inst */
    const kernel_member *bits; /* it is a bit-field; else NULL */
} lower_place;

/* The leaves of a type: its scalars and their offsets. */
typedef struct lower_scalars {
    int n;
    const kernel_type *type[LOWER_LEAVES];
    uint64_t offset[LOWER_LEAVES];
} lower_scalars;

/* Where a variable lives: registers, or an offset in local memory. */
typedef struct lower_home {
    int32_t *reg;
    int n;
    int32_t offset;
    bool made;
} lower_home;

/* A function that is being inlined. */
typedef struct lower_frame {
    const kernel_function *function;
    struct lower_frame *caller;
    lower_home *params, *locals;
    lower_value result;
    int level; /* of its CALL; -1: its only return is its last statement */
} lower_frame;

/* A call whose result can be used again. */
typedef struct lower_known {
    const kernel_function *function;
    const lower_value *args;
    lower_value result;
    int at; /* its last instruction */
} lower_known;

/* A loop or switch that is open. */
typedef struct lower_loop {
    struct lower_loop *outer;
    int level;
    bool is_switch;
} lower_loop;

typedef struct lower {
    lane_code *c;
    kernel_arena *arena;
    const kernel_tree *tree;
    const kernel_entry *entry;
    lower_frame *frame;
    lower_loop *loop;
    int depth;  /* open levels */
    int bound;  /* results of earlier instructions may be in use: as parameters, or again */
    int effect; /* the last instruction that is more than arithmetic; -1: none */
    lower_known known[KNOWN_MOST]; /* in the order of the code */
    int n_known;
    kernel_place place; /* of the tree node that is being lowered */
    int32_t special[ORIGIN_GLOBAL +
                    1]; /* registers that the machine fills, by origin; CODE_NONE: not made yet */
} lower;

/* ---- build.c ---- */

/* Ends the lowering with an error that the user can act on. */
_Noreturn void lower_fail(lower *l, ig_status status, const char *format, ...) IG_PRINTF(3, 4);
int32_t lower_register(lower *l, code_reg r);
/* A register of a dtype: for one value, or a variable that is written more than once. */
int32_t lower_temp(lower *l, ig_dtype d);
int32_t lower_variable(lower *l, ig_dtype d);
int32_t lower_constant(lower *l, ig_dtype d, uint64_t bits);
int32_t lower_integer(lower *l, ig_dtype d, int64_t value);
int32_t lower_special(lower *l, code_origin origin);
code_inst *lower_emit(lower *l, code_op op, ig_dtype dtype, int32_t d, int32_t a, int32_t b,
                      int32_t c);
/* A row of ops.def whose operands have dtype, in a new register: of the dtype, or a bool. */
int32_t lower_map(lower *l, int op, ig_dtype dtype, int32_t a, int32_t b);
int32_t lower_truth(lower *l, int op, ig_dtype dtype, int32_t a, int32_t b);
int32_t lower_row(lower *l, code_row row, ig_dtype dtype, int32_t a, int32_t b, int32_t c);
int32_t lower_pick(lower *l, ig_dtype dtype, int32_t condition, int32_t a, int32_t b);
int32_t lower_convert(lower *l, int32_t a, ig_dtype from, ig_dtype to);
/* Writes a variable; returns the register that now has the value. */
int32_t lower_assign(lower *l, int32_t variable, int32_t value);
/* An instruction without operands. */
code_inst *lower_mark(lower *l, code_op op);
/* Levels. */
int lower_open(lower *l, code_op op, int32_t condition);
void lower_else(lower *l, int begin);
void lower_close(lower *l, int begin);
void lower_leave(lower *l, code_op op, int level);
/* Forgets the calls after an instruction: the lanes that run from now on may not have made them. */
void lower_forget(lower *l, int after);

/* ---- lower.c ---- */

/* Allocates bytes of the lane's local memory. */
int32_t lower_local(lower *l, uint64_t bytes, uint32_t align);
/* The object of a variable, or the one a parameter points to, at offset from the origin. */
int32_t lower_object(lower *l, code_origin origin, const kernel_var *var, uint64_t offset);
lower_home *lower_home_of(lower *l, const kernel_var *var);
/* Lowers the call of a function with arguments. */
lower_value lower_call(lower *l, const kernel_function *f, kernel_expr *const *args);

/* ---- place.c ---- */

/* The dtype of a scalar in memory, and in a register, where halves are f32. */
ig_dtype lower_stored(const kernel_type *t);
ig_dtype lower_lane(const kernel_type *t);
/* The number of registers of a value of the type; 0: it is kept in memory. */
int lower_leaves(const kernel_type *t);
lower_scalars lower_leaves_of(const kernel_type *t);
/* A value of n registers, which are not set; and a value of one register. */
lower_value lower_value_new(lower *l, const kernel_type *t, int n);
lower_value lower_value_of(lower *l, const kernel_type *t, int32_t reg);
/* A value in the lane's local memory, and one in variables if it is small enough; neither is set. */
lower_value lower_value_local(lower *l, const kernel_type *t);
lower_value lower_value_variable(lower *l, const kernel_type *t);
/* The same bits in a new register, which may have another dtype of the same width. */
int32_t lower_copy(lower *l, int32_t reg);
int32_t lower_bits(lower *l, int32_t reg, ig_dtype to);
/* The largest integer type in whose pieces a type can be copied. */
const kernel_type *lower_piece(const kernel_type *t);
lower_place lower_at(lower *l, const kernel_expr *e);
/* The place that a pointer points at. */
lower_place lower_pointee(lower *l, const kernel_expr *pointer, const kernel_type *type);
/* The place of a value. */
lower_place lower_place_of(const lower_value *v);
/* Memory at the address in register a. */
lower_place lower_memory(const kernel_type *t, int32_t a, uint8_t space);
/* Moves a place by `by` elements of size bytes. */
void lower_move(lower *l, lower_place *p, const kernel_expr *by, uint64_t size);
int32_t lower_address(lower *l, const lower_place *p);
lower_value lower_load(lower *l, const lower_place *p);
void lower_store(lower *l, const lower_place *p, const lower_value *v);
int32_t lower_load_scalar(lower *l, const lower_place *p, const kernel_type *t, int64_t offset);
void lower_store_scalar(lower *l, const lower_place *p, const kernel_type *t, int64_t offset,
                        int32_t v);

/* ---- value.c ---- */

lower_value lower_expr(lower *l, const kernel_expr *e);
int32_t lower_scalar(lower *l, const kernel_expr *e);
/* Evaluates all arguments in order; a later one does not change an earlier value. Strings have no value. */
lower_value *lower_args(lower *l, kernel_expr *const *args, uint32_t n);
void lower_effect(lower *l, const kernel_expr *e);
int32_t lower_cast(lower *l, int32_t a, const kernel_type *from, const kernel_type *to);
/* a, rounded if the type is a half. */
int32_t lower_rounded(lower *l, const kernel_type *t, int32_t a);

/* ---- builtin.c, fragment.c ---- */

lower_value lower_builtin(lower *l, const kernel_expr *e);
/* A call of a wmma function. */
void lower_fragments(lower *l, const kernel_expr *e);

/* ---- from outside ---- */

/* The lane code of a kernel, settled; release with code_free. IG_ERR_UNSUPPORTED if the CPU cannot run it. */
ig_status kernel_lower(const kernel_tree *tree, const kernel_entry *entry, lane_code **out);
void code_free(lane_code *c);

#endif
