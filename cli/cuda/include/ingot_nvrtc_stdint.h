/* For NVRTC, in the place of <cuda/std/cstdint>: that one has types of other names for 64 bits than the host,
 * which ingot_nvrtc.h has already defined. */
#ifndef _CUDA_STD_CSTDINT
#define _CUDA_STD_CSTDINT

#include <cuda/std/detail/__config>
#include <cuda/std/climits>

#ifdef _CCCL_BEGIN_NAMESPACE_CUDA_STD /* its name depends on the version */
_CCCL_BEGIN_NAMESPACE_CUDA_STD
#else
_LIBCUDACXX_BEGIN_NAMESPACE_STD
#endif
#define IG_INT(bits) \
    using ::int##bits##_t; \
    using ::int_fast##bits##_t; \
    using ::int_least##bits##_t; \
    using ::uint##bits##_t; \
    using ::uint_fast##bits##_t; \
    using ::uint_least##bits##_t;
IG_INT(8)
IG_INT(16)
IG_INT(32)
IG_INT(64)
#undef IG_INT
using ::intmax_t;
using ::intptr_t;
using ::uintmax_t;
using ::uintptr_t;
#ifdef _CCCL_HAS_INT128
#if _CCCL_HAS_INT128()
using __cccl_intmax_t = __int128_t;
using __cccl_uintmax_t = __uint128_t;
#else
using __cccl_intmax_t = long long;
using __cccl_uintmax_t = unsigned long long;
#endif
#endif
#ifdef _CCCL_END_NAMESPACE_CUDA_STD
_CCCL_END_NAMESPACE_CUDA_STD
#else
_LIBCUDACXX_END_NAMESPACE_STD
#endif

#endif
