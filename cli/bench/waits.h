/* How much other processes use the machine while we measure; 0 on systems other than Linux. */
#ifndef CLI_BENCH_WAITS_H
#define CLI_BENCH_WAITS_H

#include <stdbool.h>

/* Begins to count how long threads of this process wait for a core. fresh: there may be new threads. */
void waits_begin(bool fresh);
/* Seconds since waits_begin in which a thread was ready but did not run; the maximum over all threads. */
double waits_s(void);

/* Seconds that all cores have been busy with processes other than this one and its ended children, since
 * some fixed time: use differences. */
double others_s(void);

#endif
