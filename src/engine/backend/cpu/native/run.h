/* Blocks as native code: the memory of one worker, and what the code calls. */
#ifndef CPU_NATIVE_RUN_H
#define CPU_NATIVE_RUN_H

#include "engine/backend/cpu/gang/gang.h"
#include "engine/backend/cpu/native/native.h"

typedef struct native_room {
    native_block b;
    const native_image *code;
    char *memory;
    size_t bytes;
} native_room;

/* is_over(context) ends a block early. Returns false if there is not enough memory. */
bool native_room_begin(native_room *room, const native_image *code, const lane_code *lanes,
                       const gang_launch *l, int (*is_over)(void *context), void *context);
void native_room_end(native_room *room);
/* Runs block number n of the grid. False: a fault, or the launch has ended. */
bool native_room_run(native_room *room, const lane_code *lanes, const gang_launch *l, int64_t n,
                     gang_fault *fault);

#endif
