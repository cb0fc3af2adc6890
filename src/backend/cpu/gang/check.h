/* The checker: watches a launch and finds accesses out of bounds, races and their like.
 *
 * Memory is known by objects: what parameters point to, globals, shared and local variables. Each byte of
 * global and shared memory remembers who wrote it and who read it last (race.c). Time is counted by
 * touches; a barrier, an atomic and __syncwarp have their time, too, and order what is around them. */
#ifndef CPU_GANG_CHECK_H
#define CPU_GANG_CHECK_H

#include "backend/cpu/gang/gang.h"

/* One access, as memory remembers it. Blocks are numbered from 1; 0: there was none. */
typedef struct check_access {
    uint32_t block, time, pc;
    uint16_t thread;
    uint8_t bytes; /* of the granule: a mask */
    bool strong;   /* atomic or volatile */
} check_access;

typedef struct check_cell {
    check_access wrote, read, read_before; /* read_before: by another warp than read */
} check_cell;

/* What is remembered about a piece of memory, by granules of 1 or 4 bytes. */
typedef struct check_shadow {
    int shift;         /* a granule is 1 << shift bytes */
    check_cell *cells; /* NULL: too large to remember */
    uint32_t *set;     /* of shared memory: the block that wrote a granule, and which bytes */
    uint8_t *set_bytes;
} check_shadow;

/* An object of the code in this launch, or memory that is none. A pointer may point into the middle of
 * its memory: base is where it points to, and what may be used is `bytes` from `from` on. */
typedef struct check_object {
    const code_object *is;      /* NULL: memory without a name */
    uint64_t base, from, bytes; /* base of shared and local ones is relative */
    check_shadow *shadow;       /* NULL: it has none */
    bool owner;                 /* of the shadow: another may be at the same address */
} check_object;

typedef struct gang_check {
    gang_watch watch;
    const gang_code *code;
    const gang_launch *launch;
    kernel_check *out;
    check_object *objects;
    check_object *memory; /* one for each of out->memory */
    check_shadow shared;
    uint16_t *told;  /* by instruction: a bit for each mistake that is known there */
    bool far_locals; /* lanes may use the local memory of others */
    /* Time. */
    uint32_t now, barrier;
    uint32_t *block_released; /* by block: its last atomic in global memory */
    uint32_t n_blocks;
    /* The block that runs. */
    uint32_t block, block_acquired;
    uint32_t released[BLOCK_WARPS], acquired[BLOCK_WARPS], synced[BLOCK_WARPS];
    uint64_t loops[BLOCK_WARPS];
    bool fell[BLOCK_WARPS]; /* a gang's lanes came to the end, other than by an early return */
} gang_check;

/* A lane that touches memory. */
typedef struct check_lane {
    gang *g;
    const gang_step *s;
    const gang_touch *t;
    int lane;
    const check_object *object; /* NULL: local memory without a name */
    uint64_t base, from;        /* of the object */
} check_lane;

/* NULL with the error set on failure. bytes has, for each object of the code that a parameter points to,
 * how many there are. Code and launch outlive it. */
gang_check *gang_check_new(const gang_code *c, const gang_launch *l, const uint64_t *bytes,
                           kernel_check *out);
void gang_check_free(gang_check *c);

/* ---- inside ---- */

static inline int check_pc(const gang *g, const gang_step *s) { return (int)(s - g->code->step); }

/* Keeps a finding, or counts it if it is known. */
void check_tell(gang_check *c, const gang *g, const gang_step *s, int lane, kernel_mistake mistake,
                int other_pc, const char *format, ...) IG_PRINTF(7, 8);
/* "element 5 of 'x'". */
void check_name(const check_lane *l, char *out, size_t room);

ig_status check_shadow_begin(check_shadow *s, uint64_t bytes, int shift, bool is_shared);
void check_shadow_end(check_shadow *s);
/* Who else was there, and what of it was never written. */
void check_race(gang_check *c, const check_lane *l);
/* After all lanes: atomics order what was before them and what comes after. */
void check_order(gang_check *c, const gang *g, const gang_step *s, const gang_touch *t,
                 const uint32_t *mask);

#endif
