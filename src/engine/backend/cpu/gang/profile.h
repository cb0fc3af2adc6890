/* The profiler: observes a launch and counts what warps did at each instruction of lane code. */
#ifndef CPU_GANG_PROFILE_H
#define CPU_GANG_PROFILE_H

#include "engine/backend/cpu/gang/gang.h"
#include "ingot/kernel.h"

typedef struct gang_profile {
    gang_watch watch;
    const gang_code *code;
    size_t shared_bytes;
    ig_profile_line *counts; /* by instruction */
    uint8_t *span; /* by instruction: bytes of a request; 0 if it is part of another request */
    const ig_profile_line
        *before[BLOCK_WARPS]; /* by gang: its previous instruction; NULL at a new iteration */
} gang_profile;

/* counts has an entry for each instruction, with its file and line. NULL with the error set on failure. */
gang_profile *gang_profile_new(const gang_code *c, const gang_launch *l, ig_profile_line *counts);
void gang_profile_free(gang_profile *p);

#endif
