/* Verbs under mpirun: rank 0 prints for all. */
#ifndef CLI_TEAM_H
#define CLI_TEAM_H

#include <stdbool.h>

/* For a verb whose work is shared: joins the processes that mpirun has started. From then on, other ranks than 0 print nothing. Returns false if that
 * failed, after an error message. */
bool cli_team_begin(const char *name);
/* Waits for the other ranks and leaves the team. Returns the exit code of the verb, or EXIT_FAILED if it is EXIT_FINE and
 * another rank has failed: then rank 0 prints that rank's message. */
int cli_team_end(int code);

#endif
