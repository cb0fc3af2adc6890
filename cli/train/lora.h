/* ingot train text --lora: adapters of a model that generates text. */
#ifndef CLI_TRAIN_LORA_H
#define CLI_TRAIN_LORA_H

/* argv[0] is "text". Returns the exit code. */
int train_lora(int argc, char **argv);

#endif
