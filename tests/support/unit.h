/* Common to all unit tests: cmocka, a scope around each test that must leave no error, and assertions about errors. */
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

/* Skips the test, with the reason, if IG_DEVICE names a device other than the CPU. */
void only_on_cpu(const char *why);

/* The same, but the test also runs on gang: its memory is the host's, and ig_eval returns after the evaluation ends. */
void only_on_host(const char *why);

/* Short tests (IG_TEST_QUICK) run only every k-th case on a device that takes long to compile each kernel: returns k
 * there, else 1. */
int every(int k);

/* Evaluates x and waits for its device, which may report a failure only then. */
ig_status eval_and_wait(ig_array *x);

/* The pending error has this code, and is one line that contains part. */
void assert_error(ig_status code, const char *part);

/* The same, for a call that returned x. */
void assert_refused(const ig_array *x, ig_status code, const char *part);

#endif
