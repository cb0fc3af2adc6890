/* Schedules that fit in the memory that a device has left. If a schedule needs more, the graph is rebuilt such that some values
 * are computed again instead of being kept (graph/recompute.h). */
#ifndef ENGINE_BUDGET_H
#define ENGINE_BUDGET_H

#include "engine/eval/run.h"
#include "engine/graph/recompute.h"

/* Bytes that programs of s allocate while they run; of native code, they are not known. */
uint64_t budget_launch_bytes(const schedule *s, const backend *dev);
/* Bytes that a buffer of this size takes on the device. */
uint64_t budget_buffer_bytes(const backend *dev, int64_t bytes);
/* Counts what a run of s takes on the device: fills run_bytes and most_bytes. */
void budget_count(schedule *s, const backend *dev);
/* True if s is the schedule for a run over these leaves in the memory that is left: it fits, and computes nothing again that
 * could be kept; or no schedule needs less. Leaves that are not on the device yet are copied to it. */
bool budget_suits(const schedule *s, const backend *dev, buffer *(*leaf)(const void *list, int i),
                  const void *list);

/* If *s, the schedule of g, does not fit in the memory that is left, replaces it by one that does, or by the one that needs
 * least. Fills r, the graph that the new schedule was built from. r->room is NULL if *s is unchanged. The caller frees r. */
ig_status budget_fit(const graph *g, const backend *dev, const schedule_rules *rules, schedule **s,
                     recomputed *r);

#endif
