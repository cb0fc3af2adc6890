/* Selects the level: the best one that this build has and the machine supports, or IG_CPU_LEVEL.
 *
 * A level on a base has its own kernels for some products; it takes the other products and all
 * loops from the base. */
#include "engine/backend/cpu/cpu.h"

#include "engine/backend/cpu/lanes/gemm.h"
#include "engine/backend/cpu/quant.h"
#include "base/machine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* gen/levels.h has a row for each level of the build, lowest first: LEVEL(name) or
 * LEVEL_ON(name, base, needs). */
#define LEVEL(name) \
    extern const cpu_level cpu_level_##name; \
    LEVEL_ON(name, , )
#define LEVEL_ON(name, base, needs) \
    extern const gemm_level gemm_##name; \
    extern const quant_level quant_##name;
#include "levels.h"
#undef LEVEL
#undef LEVEL_ON

static const struct level_row {
    const char *name;
    const cpu_level *loops;
    const gemm_level *gemm;
    const quant_level *quant;
    const char *needs; /* requirements beyond the loops': words of machine_get()->isa */
} rows[] = {
#define LEVEL(name) {#name, &cpu_level_##name, &gemm_##name, &quant_##name, ""},
#define LEVEL_ON(name, base, needs) {#name, &cpu_level_##base, &gemm_##name, &quant_##name, needs},
#include "levels.h"
#undef LEVEL
#undef LEVEL_ON
};

enum { LEVEL_COUNT = sizeof rows / sizeof rows[0] };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cpu_level chosen;
static gemm_level chosen_gemm;
static const quant_level *chosen_quant;
static bool own[DTYPE_COUNT]; /* the level has its own products of a dtype */
static char names[128], own_label[64], base_label[64], note[256];

/* True if `has` contains each word of `needs`; words are separated by spaces. */
static bool words_are_there(const char *needs, const char *has)
{
    char padded[512], word[64];
    snprintf(padded, sizeof padded, " %s ", has);
    while (*needs) {
        const int n = (int)strcspn(needs, " ");
        snprintf(word, sizeof word, " %.*s ", n, needs);
        if (!strstr(padded, word))
            return false;
        needs += n + (needs[n] == ' ');
    }
    return true;
}

static void choose_gemm(const gemm_level *base, const gemm_level *level)
{
    chosen_gemm = *base;
    for (int d = 0; d < DTYPE_COUNT; d++) {
        own[d] = level->of[d].tile != NULL;
        if (own[d])
            chosen_gemm.of[d] = level->of[d];
    }
    chosen_gemm.i8_to_i32 = level->i8_to_i32;
    /* Matrix instructions add products of bf16 in another order, and round differently. */
    chosen_gemm.bf16_same = base->of[IG_BF16];
}

static void choose(void)
{
    const char *wish = getenv("IG_CPU_LEVEL");
    bool asked = false;
    for (int i = 0; i < LEVEL_COUNT; i++) {
        const struct level_row *row = &rows[i];
        if (!row->loops->available() ||
            (*row->needs && !words_are_there(row->needs, machine_get()->isa)) ||
            (row->gemm->ready && !row->gemm->ready()))
            continue;
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? " " : "", row->name);
        if (asked)
            continue;
        snprintf(own_label, sizeof own_label, "level %s", row->name);
        snprintf(base_label, sizeof base_label, "level %s", row->loops->name);
        chosen = *row->loops;
        chosen.name = row->name;
        choose_gemm(row->loops->gemm, row->gemm);
        chosen.gemm = &chosen_gemm;
        chosen_quant = row->quant;
        asked = wish && strcmp(wish, row->name) == 0;
    }
    if (wish && *wish && !asked)
        snprintf(note, sizeof note, "IG_CPU_LEVEL=%.64s was ignored: the levels here are %s", wish,
                 names);
}

const cpu_level *cpu_level_now(void)
{
    pthread_once(&once, choose);
    return &chosen;
}

const char *cpu_gemm_label(const gemm_kernel *k)
{
    if (k == &chosen_gemm.i8_to_i32)
        return own_label;
    return k != &chosen_gemm.bf16_same && own[k - chosen_gemm.of] ? own_label : base_label;
}

const quant_level *cpu_quant_now(void)
{
    pthread_once(&once, choose);
    return chosen_quant;
}

const char *cpu_quant_label(void)
{
    pthread_once(&once, choose);
    return own_label;
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
