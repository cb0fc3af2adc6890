/* A gang: warps of one block that run lane code in lock step.
 *
 * A block is one or more gangs, which synchronize only at barriers. Registers are in the gang's
 * memory, contiguous by lane. A mask has the active lanes. Lane loops ignore the mask and compute all lanes, because
 * that is faster. Results of inactive lanes are dropped where they would be visible: in variables and in memory. */
#ifndef CPU_GANG_H
#define CPU_GANG_H

#include "engine/backend/cpu/lanes/simt.h"
#include "compiler/code.h"
#include "compiler/watch.h"

enum {
    WARP_LANES = 32,
    GANG_WARPS = 8, /* at most */
    GANG_LANES = GANG_WARPS * WARP_LANES,
    BLOCK_THREADS = 1024,
    BLOCK_WARPS = BLOCK_THREADS / WARP_LANES
};

typedef uint32_t gang_mask[GANG_WARPS];

/* A prepared instruction: operands are offsets into a gang's memory. */
typedef struct gang_step {
    uint8_t op, dtype, to, flags;
    uint16_t row, level;
    uint8_t ones;  /* which of a, b, c, e, d are uniform: bits GANG_ONE_* */
    uint8_t width; /* bytes of a lane of d, or of the stored value */
    int32_t d, a, b, c, e;
    int32_t jump, scale, offset;
    uint32_t place;
    map_loop loop;
} gang_step;

enum { GANG_ONE_A = 1, GANG_ONE_B = 2, GANG_ONE_C = 4, GANG_ONE_E = 8, GANG_ONE_D = 16 };

/* Code prepared for blocks of a given number of threads. */
typedef struct gang_code {
    const lane_code *code;
    const cpu_level *level;
    int threads; /* of a block */
    int lanes;   /* lanes of a gang, a multiple of WARP_LANES */
    int n_gangs;
    size_t ones_at, masks_at, spare_at,
        bytes; /* offsets in a gang's memory, see gang.c; its size */
    gang_step step[];
} gang_code;

typedef enum gang_state { GANG_READY, GANG_WAITS, GANG_RELEASED, GANG_ENDED } gang_state;

typedef enum gang_fault_kind {
    FAULT_NONE,
    FAULT_ASSERT,
    FAULT_TRAP,
    FAULT_STOPPED, /* by a watcher */
    FAULT_MEMORY,  /* SIGSEGV or SIGBUS */
    FAULT_STUCK,   /* all blocks wait for something in a loop */
} gang_fault_kind;

/* The fault that stopped a launch, with its place and thread. */
typedef struct gang_fault {
    gang_fault_kind kind;
    uint32_t place;
    int row; /* its message */
    uint32_t block[3], thread[3];
    uint64_t address; /* for FAULT_MEMORY, which has neither a line nor a thread */
    bool waiting;     /* for FAULT_STUCK: there was no memory to start further blocks */
} gang_fault;

struct gang;

/* An access of lanes to memory, before it is done. */
typedef enum gang_touch_kind { TOUCH_LOAD, TOUCH_STORE, TOUCH_ATOMIC } gang_touch_kind;
typedef struct gang_touch {
    gang_touch_kind kind;
    int width;             /* bytes at each place */
    const uint64_t *place; /* by lanes */
    const char *value;     /* for a store: the values, by lane */
    uint64_t begin; /* for a string: its first address, whose array must contain the access; or 0 */
} gang_touch;

/* An observer of a launch: the checker or the profiler. An observed launch runs on one thread, one
 * block after another. */
typedef struct gang_watch {
    struct gang_watch *next; /* a list */
    /* Before an access. Lanes that the observer removes from the mask are skipped; they read 0. */
    void (*touch)(struct gang_watch *w, struct gang *g, const gang_step *s, const gang_touch *t,
                  uint32_t *mask);
    /* Before each instruction; false stops the launch. */
    bool (*step)(struct gang_watch *w, struct gang *g, const gang_step *s);
    /* When all n gangs of the block wait at a barrier or have ended. May be NULL. */
    void (*barrier)(struct gang_watch *w, struct gang *gangs, int n);
} gang_watch;

typedef struct gang_launch {
    uint32_t grid[3], block[3];
    size_t dynamic_bytes;       /* dynamic shared memory, after the static shared memory */
    const void *arguments;      /* code->argument_bytes bytes; pointers are host addresses */
    void *globals;              /* variables of the kernel's source */
    gang_watch *watch;          /* a list */
    const kernel_output *print; /* NULL: to standard output, and no array is known */
    void *context;
    struct native_build *native; /* runs the blocks as soon as it is ready; NULL: never */
    int64_t native_ns;           /* that earlier launches took */
} gang_launch;

typedef struct gang {
    const gang_code *code;
    const gang_launch *launch;
    char *memory;
    char *local;  /* of its first lane */
    char *shared; /* of the block */
    int first;    /* thread of lane 0 */
    int lanes;    /* lanes that exist */
    int pc;
    gang_mask mask;
    bool full, any; /* all lanes are active; at least one is */
    uint32_t block[3];
    int votes, voters; /* at a barrier: the votes of its lanes; afterwards, of the whole block */
    gang_state state;
    bool spins; /* its last turns changed nothing: the next one is short */
    gang_fault *fault;
} gang;

/* NULL with the error set on failure. */
gang_code *gang_compile(const lane_code *c, int threads);
void gang_code_free(gang_code *g);

/* Runs the grid on all cores. After a fault it returns IG_OK, with *fault filled in. */
ig_status gang_run_grid(const gang_code *c, const gang_launch *l, gang_fault *fault);

/* ---- inside ---- */

/* Runs until the gang ends, reaches a barrier, or has run many iterations of loops. Returns false on a fault. */
bool gang_run(gang *g);
/* The offset of register r in a gang's memory. */
int32_t gang_home(const gang_code *c, int32_t r);
/* The lanes that have not returned from the kernel. */
void gang_live(const gang *g, uint32_t *mask);
/* Recomputes any and full after a change of the mask. */
void gang_mask_changed(gang *g);
/* The operand at offset `at` as lanes of width bytes: in place, or, if it is uniform, copied to
 * spare register n. */
const void *gang_lanes(gang *g, int32_t at, bool is_one, int width, int n);
/* Where an instruction writes its lanes: the register of d, or spare register 0 if inactive lanes
 * must keep their values. gang_keep then copies the active lanes. */
void *gang_target(gang *g, const gang_step *s);
void gang_keep(gang *g, const gang_step *s, void *from);
void *gang_spare(gang *g, int n);

/* The lanes that a shuffle reads, for each lane of the warp that begins at lane `first` of the gang. */
void gang_shuffle_sources(gang *g, const gang_step *s, int first, int *from);

/* False: a fault. */
bool gang_load(gang *g, const gang_step *s);
bool gang_store(gang *g, const gang_step *s);
bool gang_atomic(gang *g, const gang_step *s);
void gang_address(gang *g, const gang_step *s);
void gang_warp(gang *g, const gang_step *s);
void gang_print(gang *g, const gang_step *s);

#endif
