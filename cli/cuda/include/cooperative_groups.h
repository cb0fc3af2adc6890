/* Cooperative groups are device code, which the host does not see: the name is all that is left. */
#ifndef INGOT_COOPERATIVE_GROUPS_H
#define INGOT_COOPERATIVE_GROUPS_H

#include "cuda_runtime.h"

namespace cooperative_groups
{
}

#endif
