/* The levels of the CPU's lane loops, for tests of each of them. */
#ifndef TESTS_UNIT_EACH_LEVEL_H
#define TESTS_UNIT_EACH_LEVEL_H

#include "engine/backend/cpu/cpu.h"

#undef LEVEL
#define LEVEL(name) extern const cpu_level cpu_level_##name;
#include "levels.h"
#undef LEVEL
#define LEVEL(name) &cpu_level_##name,
static const cpu_level *const all_levels[] = {
#include "levels.h"
};
#undef LEVEL

enum { ALL_LEVELS = sizeof all_levels / sizeof all_levels[0] };
static const cpu_level *level;

static void on_each_level(void (*check)(void))
{
    for (int i = 0; i < ALL_LEVELS; i++) {
        level = all_levels[i];
        if (level->available())
            check();
    }
}

#endif
