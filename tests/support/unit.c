/* A scope around each test; errors. */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

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

void assert_error(ig_status code, const char *part)
{
    ig_status found = IG_OK;
    const char *text = ig_error(&found);
    if (!text)
        fail_msg("no error; expected: %s", part);
    else if (found != code || !strstr(text, part) || strchr(text, '\n'))
        fail_msg("%s: %s; expected %s: %s", ig_status_name(found), text, ig_status_name(code),
                 part);
    assert_false(ig_failed());
}

void assert_refused(const ig_array *x, ig_status code, const char *part)
{
    assert_null(x);
    assert_error(code, part);
}

static void leave_out(const char *why)
{
    print_message("left out on %s: %s\n", ig_device(), why);
    skip();
}

void only_on_cpu(const char *why)
{
    if (strcmp(ig_device(), "cpu") != 0)
        leave_out(why);
}

void only_on_host(const char *why)
{
    if (strcmp(ig_device(), "cpu") != 0 && strcmp(ig_device(), "gang") != 0)
        leave_out(why);
}

int every(int k)
{
    const char *device = ig_device();
    const bool compiles = strcmp(device, "cpu") != 0 && strcmp(device, "gang") != 0;
    return compiles && getenv("IG_TEST_QUICK") ? k : 1;
}

ig_status eval_and_wait(ig_array *x)
{
    const ig_status status = ig_eval(&x, 1);
    return status == IG_OK ? ig_synchronize(ig_array_device(x)) : status;
}
