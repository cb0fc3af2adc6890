/* What every unit test begins with: cmocka, and a scope around each test that must leave no error. */
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

#endif
