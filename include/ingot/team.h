/* Many machines: a team of processes that MPI starts (mpirun -n 4 PROGRAM).
 *
 * All processes of a team run the same program on the same arrays. Arrays larger than memory (ingot/blocks.h) are then
 * evaluated by all processes together: each computes its share of the blocks, and results have the same bits for every
 * number of processes. Other evaluations happen in each process by itself.
 *
 * Between ig_team_begin and ig_team_end, all processes must evaluate the same arrays larger than memory, in the same
 * order, from one thread. If one process fails, this evaluation fails in all of them, with a message that names the rank,
 * and so do all later ones. */
#ifndef INGOT_TEAM_H
#define INGOT_TEAM_H

#include "ingot/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Joins the processes that mpirun has started. Without mpirun, or with one process, it does nothing. Needs
 * libingot-mpi, a part of Ingot that is built where MPI is installed; fails if it is missing. */
IG_API ig_status ig_team_begin(void);
/* Waits for the other processes, and leaves the team. An error that waits in this process is sent to the others first.
 * Fails if another process has failed; the message names its rank. After a failure of any process, all processes end
 * here, unless the program has begun MPI itself: report errors before. */
IG_API ig_status ig_team_end(void);

/* The number of this process, from 0, and the number of processes: 0 and 1 if there is no team. */
IG_API int ig_team_rank(void);
IG_API int ig_team_size(void);

/* Switches sharing off or on. While it is off, each process evaluates its own arrays by itself. */
IG_API void ig_team_share(bool share);

#ifdef __cplusplus
}
#endif

#endif
