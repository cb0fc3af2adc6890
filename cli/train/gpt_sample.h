/* Texts of a model that ingot train gpt trains. */
#ifndef CLI_TRAIN_GPT_SAMPLE_H
#define CLI_TRAIN_GPT_SAMPLE_H

#include "../cli.h"

/* Prints n tokens after the prompt, by the model in a folder. Returns -1, or the exit code. */
int gpt_sample_print(const command *c, const char *folder, const char *prompt, int64_t n,
                     uint64_t seed);

#endif
