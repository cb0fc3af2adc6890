/* Index faults of a launch: an index outside of its axis. They are rare, so a lock is fast enough. */
#include "backend/cpu/cpu.h"

#include "array/array.h"
#include "base/error.h"

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

ig_status cpu_fault_status(const cpu_fault *fault)
{
    if (atomic_load(&fault->at) == INT64_MAX)
        return IG_OK;
    if (fault->index < -INDEX_REFUSED / 2)
        FAIL(IG_ERR_INDEX, "index %lld is negative; it must be in [0, %lld)",
             (long long)(fault->index + INDEX_REFUSED), (long long)fault->axis_len);
    FAIL(IG_ERR_INDEX,
         "index %lld is out of bounds for an axis of length %lld; it must be in [%lld, %lld)",
         (long long)fault->index, (long long)fault->axis_len, (long long)-fault->axis_len,
         (long long)fault->axis_len);
}
