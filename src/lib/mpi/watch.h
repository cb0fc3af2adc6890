/* A process on each machine that names the rank which dies first. mpirun ends the others at once, often without a name, and
 * a rank that is killed cannot report anything.
 *
 * Every rank has connections to the process, which the system closes before MPI's connections when the rank dies. */
#ifndef MPI_WATCH_H
#define MPI_WATCH_H

enum { WATCH_NAME_BYTES = 112 };

/* Before MPI begins; in the first rank of a machine it starts the process. Does nothing if the system cannot do it. */
void watch_start(void);
/* The name of the process that this rank has started; the first byte is 0 if it has not. */
void watch_name(char name[WATCH_NAME_BYTES]);
/* Connects a rank to the process of that name, and waits until all ranks of the machine have; local: their number. */
void watch_join(const char name[WATCH_NAME_BYTES], int rank, int local);
/* This rank may end now. */
void watch_end(void);

#endif
