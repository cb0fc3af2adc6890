/* Expected times of rows of the Metal device, by a model of counted bytes and instructions (expected.def). */
#ifndef CLI_BENCH_EXPECTED_H
#define CLI_BENCH_EXPECTED_H

#include "bench/result.h"

/* Seconds of one repetition; 0: the chip or the work is not in the table. */
double row_expected_s(const result *r, const result_row *row);
/* True if any row of the result has an expected time. */
bool result_has_expected(const result *r);

#endif
