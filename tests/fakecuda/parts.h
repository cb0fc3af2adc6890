/* Declarations shared by the files of the fake driver. One lock guards everything. */
#ifndef FAKECUDA_PARTS_H
#define FAKECUDA_PARTS_H

#include "engine/backend/cuda/api.h"
#include "fakecuda/fake.h"

#include <stdalign.h>
#include <stddef.h>

#define SHOWN __attribute__((visibility("default")))

/* Prototypes of the functions that the fake driver replaces. */
#define CU_FUNCTION(name, symbol, parameters) SHOWN CUresult symbol parameters;
#define CU_OPTIONAL(name, symbol, parameters) SHOWN CUresult symbol parameters;
#define CU_PROGRAM(name, symbol, parameters) SHOWN CUresult symbol parameters;
#define NVRTC_FUNCTION(name, parameters) SHOWN nvrtcResult name parameters;
#define NVRTC_PROGRAM(name, parameters) SHOWN nvrtcResult name parameters;
#include "engine/backend/cuda/api.def"

enum { FAKE_ARGS_BYTES = 4096, FAKE_AFTER = 64, DEVICES_MOST = 4 };

/* A launch with its arguments, as CUDA packs them. */
typedef struct fake_launch {
    CUfunction function;
    unsigned grid[3], block[3], shared_bytes;
    unsigned char args[FAKE_ARGS_BYTES];
} fake_launch;

typedef enum command_kind {
    COMMAND_COPY,
    COMMAND_FILL,
    COMMAND_LAUNCH,
    COMMAND_CALL,
    COMMAND_EVENT,
    COMMAND_WAIT
} command_kind;

/* A command of a stream, or a node of a graph. */
typedef struct command {
    struct command *next;
    command_kind kind;
    void *to;
    const void *from; /* NULL: the data follows the struct */
    uint64_t bytes;
    unsigned char value;
    CUevent event;
    long number;     /* commands of all streams are numbered */
    CUstream stream; /* COMMAND_WAIT: whose commands run first, up to the one with number `until` */
    long until;
    fake_launch *launch;
    void (*call)(const void *data);
    struct command *after[FAKE_AFTER]; /* of a node */
    int n_after;
    alignas(max_align_t) unsigned char held[];
} command;

/* The first member of everything that a context owns. */
typedef struct object {
    struct object *next;
    int device; /* the device of its context; -1: the host */
    void (*destroy)(void *o);
} object;

/* A new object of the calling thread's context, with zeros after its head; NULL if the thread has
 * no context. */
void *object_new(size_t bytes, void (*destroy)(void *o));
void object_free(void *o);

/* All of them, the newest first. */
object *objects_first(void);

struct CUctx_st {
    int device, refs;
};

struct CUevent_st {
    object base;
    bool timed, recorded;
    CUstream stream; /* that is to reach the event */
    long number;     /* of the command that records it */
    double ns;
};

struct CUstream_st {
    object base;
    bool blocking;   /* the default stream waits for it, and it for the default stream */
    CUgraph capture; /* commands become its nodes; or NULL */
    command *follow[FAKE_AFTER]; /* nodes that the next one follows */
    int n_follow;
    bool spoiled; /* the caller did something that a capture does not allow */
    command *first, **last;
};

extern long fake_counts[FAKE_COUNTS];
extern uint64_t fake_memory_bytes; /* of each device */

/* The device of the calling thread's context, or -1. */
int device_now(void);

/* Counts the call; CUDA_SUCCESS, or the error that the call must return. */
CUresult fake_enter(const char *name);
void fake_leave(void);
/* A call that releases something releases it even if the call is to fail. */
#define ENTER \
    const CUresult entered = fake_enter(__func__); \
    if (entered != CUDA_SUCCESS) \
    return fake_done(entered)

command *command_new(command_kind kind, uint64_t held);
void command_free(command *c);
CUresult command_add(CUstream stream, command *c);
/* The stream of a handle: NULL and 1 are the default stream, which exists as long as its context. */
CUstream stream_of(CUstream stream);
/* Runs all queued commands. */
CUresult stream_drain(CUstream stream);

/* Makes memory of a module's variables known as device memory; returns its address. */
CUdeviceptr block_adopt(void *at, size_t bytes);

/* Packs the arguments of a launch; an error if the kernel takes too many. */
CUresult launch_pack(CUfunction function, void **args, unsigned char packed[FAKE_ARGS_BYTES]);
CUresult launch_run(const fake_launch *l);

/* True if another text, which lane code can run, must be compiled instead: it is written to
 * `to`. */
bool fake_stands_in(const char *source, char *to, size_t room);

/* Ends a function that began with fake_enter. */
static inline CUresult fake_done(CUresult status)
{
    fake_leave();
    return status;
}

#endif
