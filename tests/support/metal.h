/* For tests on the Metal simulator (tests/metal/sim), which make metal-tests builds next to the tests. */
#ifndef SUPPORT_METAL_H
#define SUPPORT_METAL_H

#include <stdbool.h>

/* Must be the first call in main: this process then uses the simulator as Metal. */
void metal_prepare(const char *path_of_test);
/* True if there is a device that can compile and run kernels. */
bool metal_runs(void);

#endif
