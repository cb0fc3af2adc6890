/* Fallback: the CPU runs programs that a device cannot run, if the policy allows it.
 *
 * The decision is made when a schedule is compiled. A chain is then split: its programs run one after
 * another, and the temporaries that existed by rows are in host memory. All functions except the public ones
 * are called with the engine's lock held. */
#ifndef ENGINE_FALLBACK_H
#define ENGINE_FALLBACK_H

#include "engine/eval/run.h"

/* True if the policy allows the CPU to run programs of the device. */
bool fallback_allowed(const backend *dev);
/* True if a failure means that the device cannot run something, and the policy allows the CPU to. */
bool fallback_may_help(const backend *dev, ig_status failed);
/* True if a buffer is larger than the device allows. */
static inline bool fallback_too_large(const backend *dev, uint64_t bytes)
{
    return bytes > dev->limits.alloc_bytes && dev->limits.alloc_bytes && !dev->limits.reach_bytes;
}

/* Fails with IG_ERR_UNSUPPORTED if a buffer that program i (with its chain) uses is too large. */
ig_status fallback_check_sizes(const schedule *s, int i, const backend *dev);
/* Call it after compiling program i for the device failed and set the error. Compiles the program for the CPU, or
 * leaves the error. */
ig_status fallback_compile(schedule *s, int i, const backend *dev, ig_status failed);
/* Called when all programs are compiled: finds temporaries that only the CPU uses, and counts the bytes to copy. */
void fallback_plan(schedule *s, const backend *dev);

/* Called before and after the launches of a schedule with such programs. */
ig_status fallback_begin(run *r);
void fallback_end(run *r);
/* Runs a program on the CPU: copies its inputs to the host and its results to the device. */
ig_status fallback_launch(run *r, const program *p);
/* Call it when the device runs the chain of p: drops the host copies of slots that the chain writes. */
void fallback_forget(run *r, const program *p);

/* For launches outside evaluations, without the lock: preparing op for the device failed. Returns true if the CPU
 * may run it instead; the error is then cleared and the run recorded in the report. */
bool fallback_instead(const backend *dev, const char *op, ig_status failed);

/* Releases the rows of the report. */
void fallback_release(void);

#endif
