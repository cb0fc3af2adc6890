/* Cooperative groups on the host: types that members and parameters of device functions may name. Their
 * functions are device code, which the host does not see. */
#ifndef INGOT_COOPERATIVE_GROUPS_H
#define INGOT_COOPERATIVE_GROUPS_H

#ifndef __CUDA_ARCH__ /* nvrtcCompileProgram may find this file; device code has these types */
#include "ingot_cpp.h"

namespace cooperative_groups
{
class thread_group
{
};
class thread_block : public thread_group
{
};
class grid_group : public thread_group
{
};
class coalesced_group : public thread_group
{
};
template <unsigned Size, typename Parent = void> class thread_block_tile : public thread_group
{
};
template <typename T> struct plus {
};
template <typename T> struct less {
};
template <typename T> struct greater {
};
template <typename T> struct bit_and {
};
template <typename T> struct bit_or {
};
template <typename T> struct bit_xor {
};
} // namespace cooperative_groups

#endif
#endif
