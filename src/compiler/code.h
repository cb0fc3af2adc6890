/* Lane code: a kernel as instructions over the threads of a block, which run in lock step.
 *
 * A register holds one value for each lane, or one value for all lanes (`one`, set by code_settle).
 * Control flow is structured: IF, LOOP and CALL open a level, and masks hold the active lanes of each
 * level. So divergence, early return, barriers, shuffles and votes are correct by construction. Addresses
 * are host addresses. Calls are inlined. Structs and vectors live in registers or in local memory.
 *
 *   IF a               lanes whose a is 0 wait for ELSE or END_IF; `jump` is after that
 *   ELSE, END_IF
 *   LOOP               then the test and the body
 *   WHILE a            lanes whose a is 0 leave the loop; `jump` is its END_LOOP
 *   NEXT               lanes that executed CONTINUE resume here
 *   AGAIN              jumps to `jump`, after LOOP, if any lane is still in the loop
 *   END_LOOP           all lanes that entered the loop and did not return resume here
 *   CALL, END_CALL     lanes that executed RETURN resume at END_CALL. The kernel is the outermost call.
 *   BREAK, CONTINUE, RETURN   the lanes leave all levels inside `level`; `jump` is the innermost
 *                      open level
 */
#ifndef KERNEL_CODE_H
#define KERNEL_CODE_H

#include "base/dtype.h"
#include "base/error.h"
#include "compiler/arena.h"

typedef enum code_row {
#define ROW(name, takes, arity, expr) CODE_ROW_##name,
#include "compiler/code.def"
    CODE_ROWS
} code_row;

typedef enum code_op {
    CODE_MAP,     /* d = f(a, b, c), f a row of ops.def */
    CODE_ROW,     /* d = f(a, b, c), f a row of code.def */
    CODE_CONVERT, /* d = a, of dtype, converted to dtype `to` as C does; float to int saturates */
    CODE_ROUND,   /* d = a (f32 lanes) rounded to `to`, f16 or bf16 */
    CODE_COPY,    /* d = a, bit by bit */
    CODE_PICK,    /* d = a ? b : c, a of bool */
    /* Memory: the place is a + b * scale + offset; a is an address (u64), b an i32, u32 or i64, or none.
     * `to` is the dtype in memory. */
    CODE_ADDRESS, /* d = the address, which may differ between lanes */
    CODE_LOAD,    /* d = the value in memory */
    CODE_STORE,   /* stores c */
    CODE_ATOMIC,  /* d = the old value; memory becomes `row` (code_atomic) of it and c
                   * (compare: e) */
    /* Between the lanes of a warp; row is a code_warp, c the mask of participating lanes. */
    CODE_WARP,
    CODE_ACTIVE,  /* d = the mask of the warp's active lanes */
    CODE_BARRIER, /* row is a code_barrier; d = the number of lanes with a, or if all or any
                   * have it */
    CODE_PRINT,   /* text number `row`, arguments from a list: see code_print */
    CODE_ASSERT,  /* a must be true */
    CODE_TRAP,
    CODE_CLOCK, /* d = a time that grows */
    CODE_SYNC,  /* __syncwarp: lanes are in lock step anyway; the checker needs it */
    CODE_IF,
    CODE_ELSE,
    CODE_END_IF,
    CODE_LOOP,
    CODE_WHILE,
    CODE_NEXT,
    CODE_AGAIN,
    CODE_END_LOOP,
    CODE_CALL,
    CODE_END_CALL,
    CODE_BREAK,
    CODE_CONTINUE,
    CODE_RETURN,
    CODE_OPS
} code_op;

typedef enum code_atomic {
    ATOMIC_ADD,
    ATOMIC_SUB,
    ATOMIC_MIN,
    ATOMIC_MAX,
    ATOMIC_AND,
    ATOMIC_OR,
    ATOMIC_XOR,
    ATOMIC_EXCHANGE,
    ATOMIC_COMPARE, /* e is the expected old value */
    ATOMIC_INCREMENT,
    ATOMIC_DECREMENT
} code_atomic;

typedef enum code_warp {
    WARP_SHUFFLE, /* d = a of lane b; e is the width */
    WARP_SHUFFLE_UP,
    WARP_SHUFFLE_DOWN,
    WARP_SHUFFLE_XOR,
    WARP_SHUFFLE_RANK, /* a of the b-th lane of the mask */
    WARP_BALLOT,       /* of a */
    WARP_ANY,
    WARP_ALL,
    WARP_SAME, /* whether a is true in all lanes or in none */
    WARP_MATCH_ANY,
    WARP_MATCH_ALL,
    WARP_ADD, /* of a over the lanes of c */
    WARP_MIN,
    WARP_MAX,
    WARP_AND,
    WARP_OR,
    WARP_XOR
} code_warp;

typedef enum code_barrier { BARRIER_PLAIN, BARRIER_COUNT, BARRIER_AND, BARRIER_OR } code_barrier;

enum {
    CODE_MASKED = 1,   /* d is a variable: inactive lanes keep its old value */
    CODE_VOLATILE = 2, /* memory that another thread may write: a load may differ between lanes */
    CODE_OWN = 4,      /* memory of the block or the lane: other cores do not access it */
    CODE_LOCALS = 8,   /* of ADDRESS: the scale is the size of a lane's local memory, in bytes */
    CODE_ROUNDING =
        16 /* times 1, 2, 3: arithmetic, conversions and CODE_ROUND round towards zero, up, down */
};

enum { CODE_NONE = -1, CODE_LEVELS = 256 /* the maximum nesting depth */ };

typedef struct code_inst {
    uint8_t op; /* code_op */
    uint8_t dtype, to;
    uint8_t flags;
    uint16_t row;
    uint16_t level; /* of IF, LOOP, CALL and the instructions that belong to them */
    int32_t d, a, b, c, e;
    int32_t jump;
    int32_t scale, offset;
    uint32_t place; /* in the source, for messages */
    int32_t object; /* of memory: 1 + the number of its code_object; 0: unknown */
    uint32_t align; /* of memory: the guaranteed alignment of the place; 0: none */
} code_inst;

/* The value that the machine puts into a register before the first instruction. */
typedef enum code_origin {
    ORIGIN_NONE,      /* an instruction writes it first */
    ORIGIN_CONSTANT,  /* bits */
    ORIGIN_PARAMETER, /* bytes at `bits` of the arguments */
    ORIGIN_THREAD_X,
    ORIGIN_THREAD_Y,
    ORIGIN_THREAD_Z,
    ORIGIN_LANE,    /* in the warp */
    ORIGIN_LOCAL,   /* address of the lane's local memory */
    ORIGIN_BLOCK_X, /* from here on: one value for all lanes */
    ORIGIN_BLOCK_Y,
    ORIGIN_BLOCK_Z,
    ORIGIN_BLOCK_DIM_X,
    ORIGIN_BLOCK_DIM_Y,
    ORIGIN_BLOCK_DIM_Z,
    ORIGIN_GRID_DIM_X,
    ORIGIN_GRID_DIM_Y,
    ORIGIN_GRID_DIM_Z,
    ORIGIN_SHARED, /* address of the block's shared memory */
    ORIGIN_GLOBAL  /* of the memory of all globals */
} code_origin;

typedef struct code_reg {
    uint8_t dtype; /* f16 and bf16 live in f32 lanes: then it is IG_F32 */
    uint8_t origin;
    bool variable;     /* written more than once */
    bool one;          /* one value for all lanes: by code_settle */
    bool is_scalar;    /* with `unset`: it is the whole variable */
    const char *unset; /* the name of a variable that is declared without a value, or NULL */
    int32_t born;      /* instruction at which its scope begins */
    int32_t
        slot; /* index among the slots of its kind, by code_settle; registers whose live ranges do
               * not overlap share a slot */
    uint64_t bits;
} code_reg;

/* A named object in memory, for the checker. */
typedef struct code_object {
    const char *name;
    uint8_t origin;   /* ORIGIN_SHARED, _LOCAL, _GLOBAL or _PARAMETER */
    uint64_t offset;  /* from the origin; of _PARAMETER: offset of the argument that points to it */
    uint64_t bytes;   /* 0: the launch knows */
    uint32_t element; /* bytes */
} code_object;

/* A printf: its format and the registers of its arguments. */
typedef struct code_print {
    const char *format;
    int n;
    const int32_t *args;
    const bool *literal; /* for each argument: it is a string literal, so it is terminated */
} code_print;

/* The reason why a launch ends: a failed assertion, or a trap. */
typedef struct code_message {
    const char *text;
    const char *file; /* "" if it is not known */
    int64_t line;
} code_message;

typedef struct lane_code {
    const char *name;
    code_inst *inst;
    code_reg *reg;
    code_print *print;
    code_message *message; /* of asserts and traps: row is the number */
    code_object *object;
    int n_inst, n_reg, n_print, n_message, n_object, n_level;
    uint32_t inst_room, reg_room, print_room, message_room, object_room;
    size_t local_bytes, shared_bytes; /* of a lane; of a block, without dynamic shared memory */
    size_t argument_bytes;
    /* By code_settle: */
    bool apart; /* warps diverge between barriers, or wait for each other through memory: they must
                 * not run in one lock step */
    int n_narrow, n_wide; /* slots of registers with one value per lane: of up to 4 bytes, of 8 */
    int n_one;            /* slots of registers with one value for all lanes */
    kernel_arena arena;   /* all of it */
} lane_code;

/* Finds the registers that hold one value for all lanes, and assigns slots. All lanes of a block are
 * considered, so the result holds for any number of warps that run together. */
ig_status code_settle(lane_code *c);

#endif
