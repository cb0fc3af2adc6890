/* A scope around each test. */
#include "support/unit.h"

int begin(void **state)
{
    (void)state;
    ig_error(NULL);
    return ig_scope_begin();
}

int end(void **state)
{
    (void)state;
    ig_scope_end();
    return ig_failed();
}
