/* The checker: watches a launch and finds accesses out of bounds, races and similar mistakes.
 *
 * Memory consists of objects: targets of parameters, globals, shared and local variables. Each byte
 * of global and shared memory has a record of its last write and reads (race.c). Time counts
 * accesses; a barrier, an atomic and __syncwarp also get a time, and order the accesses around
 * them. */
#ifndef CPU_GANG_CHECK_H
#define CPU_GANG_CHECK_H

#include "engine/backend/cpu/gang/gang.h"

/* The record of one access. Blocks are numbered from 1; 0 means no access. */
typedef struct check_access {
    uint32_t block, time, pc;
    uint16_t thread;
    uint8_t bytes; /* of the granule, as a mask */
    bool strong;   /* atomic or volatile */
} check_access;

typedef struct check_cell {
    check_access wrote, read, read_before; /* read_before is by another warp than read */
} check_cell;

/* The shadow of a piece of memory, in granules of 1 or 4 bytes. */
typedef struct check_shadow {
    int shift;         /* a granule is 1 << shift bytes */
    check_cell *cells; /* NULL if the memory is too large for a shadow */
    uint32_t *set;     /* for shared memory: the block that wrote a granule, and which bytes */
    uint8_t *set_bytes;
} check_shadow;

/* An object of the code in this launch, or memory without a name. A pointer may point into the
 * middle of its memory: base is the pointer, and [from, from + bytes) is the memory that it may
 * access. */
typedef struct check_object {
    const code_object *is;      /* NULL: memory without a name */
    uint64_t base, from, bytes; /* the base of shared and local objects is relative */
    check_shadow *shadow;       /* NULL: none */
    bool owner;                 /* of the shadow, which another object may share */
    uint8_t *reads, *stores;    /* the same */
    uint8_t *written;           /* for global memory, starting at `from`: see kernel_memory */
} check_object;

typedef struct gang_check {
    gang_watch watch;
    const gang_code *code;
    const gang_launch *launch;
    kernel_check *out;
    check_object *objects;
    check_object *memory; /* one for each of out->memory */
    check_shadow shared;
    uint16_t *reported; /* per instruction: a bit for each mistake already reported there */
    uint32_t *unset;    /* see unset.c; NULL: every local variable has a value */
    bool far_locals;    /* lanes may use the local memory of others */
    /* Time. */
    uint32_t now, barrier;
    uint32_t *block_released; /* per block: its last atomic in global memory */
    uint32_t n_blocks;
    /* The current block. */
    uint32_t block, block_acquired;
    uint32_t released[BLOCK_WARPS], acquired[BLOCK_WARPS], synced[BLOCK_WARPS];
    uint64_t loops[BLOCK_WARPS];
    bool fell
        [BLOCK_WARPS]; /* the lanes of a gang reached the end of the kernel, not an early return */
} gang_check;

/* An access of one lane. */
typedef struct check_lane {
    gang *g;
    const gang_step *s;
    const gang_touch *t;
    int lane;
    const check_object *object; /* NULL: local memory without a name */
    uint64_t base, from;        /* of the object */
} check_lane;

/* NULL with the error set on failure. bytes has the size of the target of each object that is a
 * parameter. Code and launch must outlive the checker. */
gang_check *gang_check_new(const gang_code *c, const gang_launch *l, const uint64_t *bytes,
                           kernel_check *out);
void gang_check_free(gang_check *c);

/* ---- inside ---- */

static inline int check_pc(const gang *g, const gang_step *s) { return (int)(s - g->code->step); }

/* Adds a finding, or increments its count. */
void check_tell(gang_check *c, const gang *g, const gang_step *s, int lane, kernel_mistake mistake,
                int other_pc, const char *format, ...) IG_PRINTF(7, 8);
/* "element 5 of 'x'". */
void check_name(const check_lane *l, char *out, size_t room);

/* Local variables without a value: at the beginning of the launch, of a block, and before an instruction. */
ig_status check_unset_begin(gang_check *c);
void check_unset_block(gang_check *c);
void check_unset(gang_check *c, gang *g, const gang_step *s);

ig_status check_shadow_begin(check_shadow *s, uint64_t bytes, int shift, bool is_shared);
void check_shadow_end(check_shadow *s);
/* Reports reads of global memory that was never written, and records what is written, read and stored. */
void check_written(gang_check *c, const check_lane *l);
/* Reports races with earlier accesses, and reads of shared memory that was not written. */
void check_race(gang_check *c, const check_lane *l);
/* After all lanes of an instruction: records the order that atomics create. */
void check_order(gang_check *c, const gang *g, const gang_step *s, const gang_touch *t,
                 const uint32_t *mask);

#endif
