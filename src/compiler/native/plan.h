/* The plan of a native kernel: its regions, and how each register is held. */
#ifndef NATIVE_PLAN_H
#define NATIVE_PLAN_H

#include "compiler/native/native.h"

/* How a register is held by a group of lanes that run together. */
typedef enum native_kind {
    KIND_ONE,     /* one value for the block: code_reg.one */
    KIND_GROUP,   /* one value for the group */
    KIND_AFFINE,  /* the first lane's value plus `stride` for each lane */
    KIND_PATTERN, /* a value of the group plus a constant of each lane, which is not negative */
    KIND_VARY
} native_kind;

/* Where an address may be: bits. */
enum { IN_GLOBAL = 1, IN_SHARED = 2, IN_LOCAL = 4, IN_ANY = 7 };

/* An array of a lane whose elements are interleaved: element n of all lanes of a group is n vectors after its beginning. It
 * is accessed only as itself, with elements of one type. */
typedef struct native_own {
    bool fits;
    uint8_t dtype;
    int elements; /* one more is room for indices out of range */
    int32_t home; /* the only region that uses it, HOME_NONE or HOME_MANY */
    int64_t frame;
} native_own;

enum { GROUP_LANES = 32 /* at most */ };
enum { HOME_NONE = -1, HOME_MANY = -2, REGION_NONE = -1 };

/* Instructions that run without a barrier in between. */
typedef struct native_region {
    int from, to;
    bool by_lane; /* lane by lane, with plain control flow */
    bool leaves;  /* lanes return from the kernel in it */
} native_region;

typedef struct native_plan {
    const lane_code *c;
    int kernel; /* the CALL that is the kernel; parameters are copied before it */
    uint32_t block[3];
    int threads;
    int width, units, lanes, groups; /* lanes = width * units run together */
    bool lockstep;                   /* lanes of a warp exchange values between barriers */
    bool keeps_live;                 /* lanes return before the last region */
    size_t live_at, frame_bytes;     /* offset of the mask of lanes that have not returned */
    int n_region;
    native_region *region;
    /* By instruction. */
    int32_t *end, *other; /* of an opening one: its END, its ELSE or -1 */
    int32_t *opener;      /* the innermost opening instruction around it, -1: none */
    int32_t *part;        /* its region, or REGION_NONE: it runs once for the block */
    uint8_t *blockwise;   /* of an opening one: its control flow is the block's */
    uint8_t *left;        /* of LOOP and CALL: some lanes of a group may leave it early */
    /* By register. */
    uint8_t *kind;
    int64_t *stride;
    int32_t *pattern; /* GROUP_LANES for each register */
    int32_t *def;     /* the instruction that writes it, if there is only one; -1 */
    int32_t *home;    /* the only region that uses it, HOME_NONE or HOME_MANY */
    int32_t *first_read, *last_read;
    int64_t *frame; /* offset in the frame, -1: not in it */
    uint64_t *most; /* the largest value, UINT64_MAX: it may be negative, or is unknown */
    uint8_t *align; /* the logarithm of a power of two that divides the first lane's value */
    uint8_t *space;
    native_own *own; /* by object */
} native_plan;

/* Returns IG_ERR_UNSUPPORTED with *why set if lane code must stay interpreted. */
ig_status plan_make(native_plan *p, const lane_code *c, const uint32_t block[3], int width,
                    const char **why);
void plan_free(native_plan *p);

static inline bool plan_opens(int op)
{
    return op == CODE_IF || op == CODE_LOOP || op == CODE_CALL;
}
static inline bool plan_closes(int op)
{
    return op == CODE_END_IF || op == CODE_END_LOOP || op == CODE_END_CALL;
}
static inline bool plan_jumps(int op)
{
    return op == CODE_BREAK || op == CODE_CONTINUE || op == CODE_RETURN;
}
static inline bool plan_scalar(const native_plan *p, int32_t r)
{
    return r == CODE_NONE || p->kind[r] <= KIND_GROUP;
}
/* Some lanes of a group may be inactive inside it. */
bool plan_differs(const native_plan *p, int opening);
/* A jump in it leaves it; and, if all lanes of a group enter it, possibly only some of them. */
bool plan_leaves(const native_plan *p, int opening);
bool plan_loses(const native_plan *p, int opening);
/* The opening instruction that a jump leaves or continues. */
int plan_target(const native_plan *p, int jump);
/* What a lane adds to the first lane's, or the group's, value. */
static inline int64_t plan_offset(const native_plan *p, int32_t r, int lane)
{
    return p->kind[r] == KIND_PATTERN  ? p->pattern[(size_t)r * GROUP_LANES + (size_t)lane]
           : p->kind[r] == KIND_AFFINE ? p->stride[r] * lane
                                       : 0;
}
/* True if the registers hold the same value, as far as can be told. */
bool plan_same(const native_plan *p, int32_t a, int32_t b, int depth);

/* ---- facts.c ---- */

/* Finds most, align and space for the plan's lanes. */
void plan_facts(native_plan *p);

/* ---- own.c ---- */

/* Finds the arrays of lanes that are interleaved; and the array that a load or store accesses, -1: none of these. */
void plan_own(native_plan *p);
int plan_own_of(const native_plan *p, const code_inst *i);
/* Gives them places in the frame, from `at`; returns the end. */
size_t plan_own_frame(native_plan *p, size_t at);

/* ---- kinds.c ---- */

/* Finds the kind of each register for the plan's width and lanes. */
void plan_kinds(native_plan *p);

#endif
