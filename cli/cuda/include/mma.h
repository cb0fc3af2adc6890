/* Fragments are device code, which the host does not see; only the namespaces are declared. As in CUDA, half and bf16
 * come with them. */
#ifndef INGOT_MMA_H
#define INGOT_MMA_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda
{
namespace wmma
{
}
} // namespace nvcuda

#endif
