/* Fragments are device code, which the host does not see: the names are all that is left. */
#ifndef INGOT_MMA_H
#define INGOT_MMA_H

#include "cuda_runtime.h"

namespace nvcuda
{
namespace wmma
{
}
} // namespace nvcuda

#endif
