/* The parts of a level's rows_level, which keys.c assembles. */
#ifndef LANES_ROWS_PARTS_H
#define LANES_ROWS_PARTS_H

#include "engine/backend/cpu/lanes/parts.h"
#include "engine/backend/cpu/lanes/rows.h"

void PART(lane_scan)(int op, ig_dtype lane, int64_t n, void *d, const void *a, const void *carry,
                     void *total);
void PART(lane_total)(int op, ig_dtype lane, int64_t n, const void *a, void *total);

#endif
