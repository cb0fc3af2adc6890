/* Compares src/engine/backend/opencl/api.def with OpenCL's header: every type, constant and function, at compile time.
 * Without that header there is nothing to compare, and the test says so. */
#include "support/unit.h"

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

/* Identical C types; handles must point to the same struct. */
#define CL_TYPE(name, type) \
    _Static_assert(__builtin_types_compatible_p(name, type), "type " #name " is another");
#define CL_HANDLE(name, tag) \
    _Static_assert(__builtin_types_compatible_p(name, struct tag *), "handle " #name);
#define CL_STATUS(name, value) _Static_assert(name == value, "a status has another value");
#define CL_CONSTANT(name, value) _Static_assert(name == value, "a constant has another value");
#define CL_FUNCTION(result, name, parameters) \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&name), result(*) parameters), \
                   "function " #name " has other parameters");
#include "engine/backend/opencl/api.def"

enum { COMPARED = 1 };
#else
enum { COMPARED = 0 };
#endif

static void the_rows_are_those_of_the_header(void **unused)
{
    (void)unused;
    if (!COMPARED) {
        print_message("CL/cl.h is not installed: nothing was compared\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_rows_are_those_of_the_header)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
