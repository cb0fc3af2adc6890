/* ingot train under mpirun: what ranks do before the first step. */
#ifndef CLI_TRAIN_RANKS_H
#define CLI_TRAIN_RANKS_H

#include "train/train.h"

enum {
    RANKS_SHARDS = 8
}; /* the default of --shards; a constant, so that results do not depend on the ranks */

/* Lets the ranks share the steps of an optimizer, if they have the same settings, and warns of ranks without work. divide:
 * see ig_shards_divide. Returns -1, or the exit code. */
int ranks_begin(const command *c, int64_t shards, const char *settings, bool divide, bool quiet,
                ig_optimizer *o, ig_model *m);

/* The same for ingot train, whose ranks must also have the same samples. */
int ranks_prepare(const command *c, const train_settings *set, const training *t, const dataset *d,
                  ig_optimizer *o, ig_model *m);

/* True if this rank or another was asked to stop; all ranks stop after the same step. */
bool ranks_stop_asked(void);

#endif
