/* Compares src/engine/backend/cuda/api.def and lt.def with the headers of the CUDA driver, NVRTC and cuBLASLt: every
 * constant and function, at compile time. Without a toolkit there is nothing to compare, and the test says so. */
#include "support/unit.h"

#if __has_include("/usr/local/cuda/include/cuda.h") && \
                  __has_include("/usr/local/cuda/include/nvrtc.h")
#include "/usr/local/cuda/include/cuda.h"
#include "/usr/local/cuda/include/nvrtc.h"

#define CU_STATUS(name, value) _Static_assert((int)name == value, "a status has another value");
#define CU_CONSTANT(name, value) _Static_assert((int)name == value, "a constant has another value");
#define CU_FUNCTION(name, symbol, parameters) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&symbol), CUresult(*) parameters), \
                   "function " #symbol " has other parameters");
#define CU_OPTIONAL(name, symbol, parameters) CU_FUNCTION(name, symbol, parameters)
#define CU_PROGRAM(name, symbol, parameters) CU_FUNCTION(name, symbol, parameters)
#define NVRTC_FUNCTION(name, parameters) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), nvrtcResult(*) parameters), \
                   "function " #name " has other parameters");
#define NVRTC_PROGRAM(name, parameters) NVRTC_FUNCTION(name, parameters)
#include "engine/backend/cuda/api.def"

#if __has_include("/usr/local/cuda/include/cublasLt.h") && \
                  __has_include("/usr/local/cuda/include/cublas_api.h")
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include "/usr/local/cuda/include/cublasLt.h"
#pragma GCC diagnostic pop

#define LT_CONSTANT(name, value) _Static_assert((int)name == value, "a constant has another value");
#define LT_FUNCTION(name, parameters) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), cublasStatus_t(*) parameters), \
                   "function " #name " has other parameters");
#define NVRTC_PROGRAM(name, parameters) NVRTC_FUNCTION(name, parameters)
#include "engine/backend/cuda/lt.def"
_Static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == 8 * 8 + 8 + 4 + 4 + 16,
               "the struct in api.h has another size");
#endif

#if __has_include("/usr/local/cuda/include/cudnn.h")
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include "/usr/local/cuda/include/cudnn.h"

#define DNN_CONSTANT(name, value) \
    _Static_assert((int)name == value, "a constant has another value");
#define DNN_FUNCTION(name, parameters) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), cudnnStatus_t(*) parameters), \
                   "function " #name " has other parameters");
#include "engine/backend/cuda/dnn.def"
_Static_assert(sizeof(cudnnDataType_t) == sizeof(int) &&
                   sizeof(cudnnBackendNumericalNote_t) == sizeof(int),
               "enumerations are int in api.h");
#pragma GCC diagnostic pop
#endif

enum { COMPARED = 1 };
#else
enum { COMPARED = 0 };
#endif

static void the_rows_are_those_of_the_headers(void **unused)
{
    (void)unused;
    if (!COMPARED) {
        print_message("no CUDA toolkit is installed: nothing was compared\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_rows_are_those_of_the_headers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
