/* What others take of the machine while we measure; 0 where the system does not tell (it is Linux that
 * does). */
#ifndef CLI_BENCH_WAITS_H
#define CLI_BENCH_WAITS_H

#include <stdbool.h>

/* From now on the waiting of this process for a core counts. fresh: there may be other threads than at the last call. */
void waits_begin(bool fresh);
/* Seconds since then in which a thread of it was ready to run and did not; of the one that did so
 * longest. */
double waits_s(void);

/* Seconds that all cores of the machine have been busy with other processes than this one and its
 * children, of which those count that have ended. To be subtracted from each other. */
double others_s(void);

#endif
