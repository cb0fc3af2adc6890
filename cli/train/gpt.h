/* ingot train gpt: trains a language model from the start, or goes on with one. */
#ifndef CLI_TRAIN_GPT_H
#define CLI_TRAIN_GPT_H

/* argv[0] is "gpt". Returns the exit code. */
int train_gpt(int argc, char **argv);

#endif
