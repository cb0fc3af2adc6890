/* Choosing the level: the best that this build has and the machine can run, or IG_CPU_LEVEL. */
#include "backend/cpu/cpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* gen/levels.h has a row LEVEL(name) for each level of the build, lowest first. */
#define LEVEL(name) extern const cpu_level cpu_level_##name;
#include "levels.h"
#undef LEVEL

static const cpu_level *const levels[] = {
#define LEVEL(name) &cpu_level_##name,
#include "levels.h"
#undef LEVEL
};

enum { LEVEL_COUNT = sizeof levels / sizeof levels[0] };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const cpu_level *chosen;
static char names[128], note[256];

static void choose(void)
{
    const char *wish = getenv("IG_CPU_LEVEL");
    const cpu_level *asked = NULL;
    for (int i = 0; i < LEVEL_COUNT; i++) {
        if (!levels[i]->available())
            continue;
        chosen = levels[i];
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? " " : "", levels[i]->name);
        if (wish && strcmp(wish, levels[i]->name) == 0)
            asked = levels[i];
    }
    if (asked)
        chosen = asked;
    else if (wish && *wish)
        snprintf(note, sizeof note, "IG_CPU_LEVEL=%.64s was ignored: the levels here are %s", wish,
                 names);
}

const cpu_level *cpu_level_now(void)
{
    pthread_once(&once, choose);
    return chosen;
}

const char *cpu_level_names(void)
{
    pthread_once(&once, choose);
    return names;
}

const char *cpu_level_note(void)
{
    pthread_once(&once, choose);
    return note[0] ? note : NULL;
}
