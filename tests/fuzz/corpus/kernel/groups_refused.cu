#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void odd() { auto t = cg::tiled_partition<24>(cg::this_thread_block()); }
__global__ void wide() { auto t = cg::tiled_partition<64>(cg::this_thread_block()); }
__global__ void unknown() { cg::this_thread_block().split(); }
__global__ void number(int n) { cg::sync(n); }
