/* ingot train under mpirun: what ranks do before the first step. */
#ifndef CLI_TRAIN_RANKS_H
#define CLI_TRAIN_RANKS_H

#include "train/train.h"

enum {
    RANKS_SHARDS = 8
}; /* the default of --shards; a constant, so that results do not depend on the ranks */

/* True, after a message, if there are several ranks: for commands that are made for one. */
bool ranks_refuse(const char *name);

/* Checks that all ranks have the same settings and samples, and warns of ranks without work. Then the optimizer
 * is used by the whole team. Returns -1, or the exit code. */
int ranks_prepare(const command *c, const train_settings *set, const training *t, const dataset *d,
                  ig_optimizer *o, ig_model *m);

#endif
