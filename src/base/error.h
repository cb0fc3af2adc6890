/* Errors: one pending message for each thread. The first error stays until ig_error reads it, so a
 * failed builder deep in an expression is the one that is reported. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "ingot.h"

/* Returns from the function with code after recording the message. */
#define FAIL(...) return ig_fail(__VA_ARGS__)
/* The same in a function that returns a pointer. */
#define FAIL_NULL(...) return (ig_fail(__VA_ARGS__), NULL)
/* The same in a function that returns a count, where 0 is failure. */
#define FAIL_NONE(...) return (ig_fail(__VA_ARGS__), 0)

/* The code of the waiting error: what a function that got NULL returns; otherwise if none waits. */
ig_status error_waiting(ig_status otherwise);

/* Passes a failure on. */
#define TRY(expression) \
    do { \
        ig_status try_status = (expression); \
        if (try_status != IG_OK) \
            return try_status; \
    } while (0)

/* For public functions, whose arguments may be anything. Each sets IG_ERR_ARGUMENT, unless an error waits
 * already, and names the function and the argument.
 *
 * require_list: n is not negative, and list is not NULL unless n is 0.
 * require_pointer: pointer is not NULL. */
ig_status require_list(const char *function, const char *argument, const void *list, int n);
ig_status require_pointer(const char *function, const char *argument, const void *pointer);

#endif
