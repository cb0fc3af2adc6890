/* ingot verify --model: compares a text model on devices with f64 on the CPU, layer by layer. */
#ifndef CLI_VERIFY_MODEL_H
#define CLI_VERIFY_MODEL_H

#include "../cli.h"

/* Compares the n devices of these names. Returns the exit code. */
int verify_model(const command *c, const char *folder, const char *const *devices, int n,
                 bool json);

#endif
