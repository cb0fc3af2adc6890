/* Index faults of a launch: an index outside of its axis. They are rare, so a lock is fast enough. */
#include "engine/backend/cpu/cpu.h"

#include "base/error.h"
#include "engine/program/fault.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void cpu_fault_clear(cpu_fault *fault)
{
    atomic_store(&fault->at, INT64_MAX);
    fault->index = fault->axis_len = 0;
}

void cpu_fault_note(cpu_fault *fault, int64_t at, int64_t index, int64_t axis_len)
{
    if (at >= atomic_load(&fault->at))
        return;
    pthread_mutex_lock(&lock);
    if (at < atomic_load(&fault->at)) {
        fault->index = index;
        fault->axis_len = axis_len;
        atomic_store(&fault->at, at);
    }
    pthread_mutex_unlock(&lock);
}

ig_status cpu_fault_status(const cpu_fault *fault, const program *p)
{
    char ops[FAULT_OPS_BYTES], text[FAULT_TEXT_BYTES];
    const int64_t at = atomic_load(&fault->at);
    if (at == INT64_MAX)
        return IG_OK;
    const index_fault f = {at, fault->index, fault->axis_len};
    FAIL(fault_status(&f), "%s", fault_text(&f, fault_ops(p, ops), backend_cpu.name, text));
}
