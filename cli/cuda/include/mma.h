/* Fragments are device code, which the host does not see; only the namespaces are declared. */
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
