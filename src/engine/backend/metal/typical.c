/* The Apple GPU that predictions are for on machines without one: an M1 with 8 GiB. It has limits and a language, but no
 * functions; only executors that ask what a device supports may be given it. */
#include "engine/backend/metal/metal.h"

enum { SUBGROUP = 32, THREADS = 1024, SHARED_BYTES = 32 << 10 };
#define WORKING_SET \
    (UINT64_C(16) << 28) /* recommendedMaxWorkingSetSize: two thirds of the memory, rounded */
#define BUFFER_BYTES (UINT64_C(15) << 28) /* maxBufferLength */

const backend backend_typical_metal = {
    .name = "metal",
    .limits = {.version = 203,
               .subgroup = SUBGROUP,
               .threads = THREADS,
               .thread_at = {THREADS, THREADS, THREADS},
               .shared_bytes = SHARED_BYTES,
               .alloc_bytes = BUFFER_BYTES < WORKING_SET ? BUFFER_BYTES : WORKING_SET,
               .reach_bytes = BUFFER_BYTES / 2 / METAL_PAGE * METAL_PAGE,
               .buffers = METAL_BUFFERS,
               .f16 = true,
               .shuffles = true,
               .matrices = true,
               .exact_division = true,
               .unified = true},
    .language = "metal",
};
