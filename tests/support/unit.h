/* What every unit test begins with: cmocka, a scope around each test that must leave no error, and
 * what is expected of errors. */
#ifndef SUPPORT_UNIT_H
#define SUPPORT_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ingot.h"

/* Setup and teardown of a test. */
int begin(void **state);
int end(void **state);

/* Skips the test if IG_DEVICE names another device than the CPU, and says why. */
void only_on_cpu(const char *why);

/* The same, but the test also runs on gang: memory is the host's, and an evaluation ends before ig_eval does. */
void only_on_host(const char *why);

/* Short tests (IG_TEST_QUICK) on a device with a compiler that takes a time for each kernel run every k-th case only: k
 * there, else 1. */
int every(int k);

/* Evaluates x and waits for its device, which may report a failure only then. */
ig_status eval_and_wait(ig_array *x);

/* The error that waits has this code, and is one line with this in it. */
void assert_error(ig_status code, const char *part);

/* The same, of a call that gave x. */
void assert_refused(const ig_array *x, ig_status code, const char *part);

#endif
