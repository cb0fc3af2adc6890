/* ingot train text: fine-tunes a text model for classification. */
#ifndef CLI_TRAIN_TEXT_H
#define CLI_TRAIN_TEXT_H

/* argv[0] is "text". Returns the exit code. */
int train_text(int argc, char **argv);

#endif
