/* Fallback: programs that a device cannot run, and the CPU runs for it. The policy decides whether it may.
 *
 * The decision is made when a schedule is compiled. A chain is taken apart then: its programs run one after
 * another, and the temporaries that it kept by rows are host memory. Everything here but the public functions
 * is called with the engine's lock held. */
#ifndef ENGINE_FALLBACK_H
#define ENGINE_FALLBACK_H

#include "engine/eval/run.h"

/* True if the policy lets the CPU run programs of the device. */
bool fallback_allowed(const backend *dev);
/* True if a failure means that the device cannot run something, and the CPU may. */
bool fallback_may_help(const backend *dev, ig_status failed);
/* True if a buffer is larger than the device allows. */
static inline bool fallback_too_large(const backend *dev, uint64_t bytes)
{
    return bytes > dev->limits.alloc_bytes && dev->limits.alloc_bytes && !dev->limits.reach_bytes;
}

/* Fails with IG_ERR_UNSUPPORTED if a buffer that program i (with its chain) uses is too large. */
ig_status fallback_check_sizes(const schedule *s, int i, const backend *dev);
/* Compiling program i for the device failed, and the error waits. The program is compiled for the CPU, or the
 * error stays. */
ig_status fallback_compile(schedule *s, int i, const backend *dev, ig_status failed);
/* When all programs are compiled: finds temporaries that only the CPU uses, and counts the bytes that move. */
void fallback_plan(schedule *s, const backend *dev);

/* Around the launches of a schedule with such programs. */
ig_status fallback_begin(run *r);
void fallback_end(run *r);
/* Runs a program on the CPU: copies what it reads to the host and what it writes to the device. */
ig_status fallback_launch(run *r, const program *p);
/* The device runs the chain of a program: host copies of what that writes are dropped. */
void fallback_forget(run *r, const program *p);

/* For launches outside of evaluations, without the lock: preparing op for the device failed. True if the CPU
 * may run it instead; then the error is cleared, and the run is in the report. */
bool fallback_instead(const backend *dev, const char *op, ig_status failed);

/* Releases the rows of the report. */
void fallback_release(void);

#endif
