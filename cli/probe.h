/* How a device rounds; see probe.c. */
#ifndef CLI_PROBE_H
#define CLI_PROBE_H

#include "cli.h"

/* Prints a line for each promise about f32 arithmetic on the device. Returns the exit code: EXIT_FAILED if a promise is
 * broken that the device's description does not exclude. */
int probe_arithmetic(const command *c, const char *device);

#endif
