/* Errors: one pending message per thread. The first error stays until ig_error reads it, so a builder that
 * fails deep inside an expression is the one reported. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "ingot/base.h"

/* Returns from the function with code after recording the message. */
#define FAIL(...) return ig_fail(__VA_ARGS__)
/* The same in a function that returns a pointer. */
#define FAIL_NULL(...) return (ig_fail(__VA_ARGS__), NULL)
/* The same in a function that returns a count, where 0 is failure. */
#define FAIL_NONE(...) return (ig_fail(__VA_ARGS__), 0)

/* The code of the pending error, for a function that got NULL; `otherwise` if none is pending. */
ig_status error_waiting(ig_status otherwise);

/* A short text of the calling thread, with room for THREAD_TEXT_BYTES; valid for the next seven calls of the thread. NULL if
 * there is no memory. */
enum { THREAD_TEXT_BYTES = 200 };
char *thread_text(void);

/* Returns from the function if the expression failed, with its status. */
#define TRY(expression) \
    do { \
        ig_status try_status = (expression); \
        if (try_status != IG_OK) \
            return try_status; \
    } while (0)

/* For public functions, whose arguments may be anything. On failure they set IG_ERR_ARGUMENT, unless an error is
 * already pending, and name the function and the argument.
 *
 * require_list: n is not negative, and list is not NULL unless n is 0.
 * require_pointer: pointer is not NULL. */
ig_status require_list(const char *function, const char *argument, const void *list, int n);
ig_status require_pointer(const char *function, const char *argument, const void *pointer);

#endif
