/* For tests on the Metal simulator (tests/metal/sim), which is beside the tests: make metal-tests. */
#ifndef SUPPORT_METAL_H
#define SUPPORT_METAL_H

#include <stdbool.h>

/* Called first in main: the simulator becomes the Metal of this process. */
void metal_prepare(const char *path_of_test);
/* True if there is a device that can compile and run kernels. */
bool metal_runs(void);

#endif
