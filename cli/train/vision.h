/* ingot train vision: trains a network that classifies images of a folder. */
#ifndef CLI_TRAIN_VISION_H
#define CLI_TRAIN_VISION_H

/* argv[0] is "vision". Returns the exit code. */
int train_vision(int argc, char **argv);

#endif
