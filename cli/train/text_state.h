/* Checkpoints of ingot train text and ingot train gpt: how far a run has come, and the settings that must stay the same. */
#ifndef CLI_TRAIN_TEXT_STATE_H
#define CLI_TRAIN_TEXT_STATE_H

#include "../cli.h"

#include <ingot.h>

typedef struct text_progress {
    int64_t epoch, step; /* completed epochs, and completed steps of the current epoch */
    double
        sum; /* of the current epoch's losses over its samples; of a GPT the best loss of a test */
    int64_t
        right; /* samples of the current epoch that were classified correctly; of a GPT tests since the best */
} text_progress;

/* settings: lines that a run which continues must have, too. */
ig_status text_state_save(const command *c, const ig_model *m, const ig_optimizer *o,
                          const char *settings, const text_progress *p, const char *path);
/* Loads model and optimizer. Returns -1, or the exit code after a message. */
int text_state_load(const command *c, ig_model *m, ig_optimizer *o, const char *settings,
                    text_progress *p, const char *path);

#endif
