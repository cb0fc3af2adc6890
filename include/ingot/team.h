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

#include "ingot/array.h"

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

/* Arrays that the ranks divide. Each rank keeps a part of the elements. An evaluation on the CPU gets the others from their
 * ranks right before an operation that uses the array, and drops them after it; an evaluation on another device keeps a
 * whole copy there. Any rank may evaluate at any time: a thread of each rank answers. So a rank needs memory for its part
 * of all arrays, and for the arrays that one operation uses. Results have the same bits as with whole arrays.
 *
 * All ranks make these calls, with the same number of arrays, of the same shapes. With one process, divided arrays are whole.
 *
 * ig_team_divide replaces x[i] by an array with the same elements, which must be the same in all ranks. ig_team_join makes
 * x[i] of parts, and replaces the array that was there, if it is not NULL. In both, x[i] is a reference of the caller (see
 * ig_scope_forget), before and after the call. On failure some arrays may have been replaced.
 *
 * Parts are kept until all ranks have released the array and one of these functions is called. */
typedef struct ig_part {
    ig_array *
        own; /* elements [cut[rank], cut[rank + 1]) of the array, in row-major order; NULL if there are none */
    ig_ints shape; /* of the whole array */
    ig_dtype dtype;
    const int64_t
        *cut; /* ig_team_size() + 1 numbers that do not decrease: 0, ..., the number of elements */
} ig_part;
IG_API ig_status ig_team_divide(ig_array **x, int n);
IG_API ig_status ig_team_join(const ig_part *parts, int n, ig_array **x);
/* True if the ranks divide the elements of x. */
IG_API bool ig_team_is_divided(const ig_array *x);

/* Memory of divided arrays in this rank: bytes of own parts, and the most bytes of whole arrays that were here at one
 * time since the last call. Both may be NULL. */
IG_API void ig_team_divided_bytes(uint64_t *own, uint64_t *most);

#ifdef __cplusplus
}
#endif

#endif
