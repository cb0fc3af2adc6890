/* Sorting inside: items, the ways to sort them, and a row. See sort.c. */
#ifndef CPU_SORT_H
#define CPU_SORT_H

#include "backend/cpu/cpu.h"
#include "backend/cpu/sort/sort_key.h"

enum {
    DIGIT = 11, /* bits that items are shared out by at once, at most */
    DIGIT_VALUES = 1 << DIGIT,
    MOST_DIGITS = 8
};

typedef struct sort_way sort_way;

typedef struct sort_job {
    const program *p;
    const binding *b;
    const cpu_level *level;
    const sort_way *way;
    sort_order o;
    bool values;    /* else places */
    int low, high;  /* the bits of an item that the order lies in */
    size_t bytes;   /* of a row's space */
    char *space;    /* of all rows that are sorted at once, or NULL: the workers' scratch */
    int64_t tasks;  /* task t has the long rows t, t + tasks, ... */
    int64_t width;  /* short rows of a strip, which are read together */
    int64_t strips; /* of all */
    int64_t group;  /* strips of a task */
} sort_job;

/* An item is what is moved: a code; a key and a place. */
struct sort_way {
    bool wide; /* keys are u64 */
    size_t bytes;
    /* Items of the row's packed elements [first, first + n), n <= TAPE_BLOCK. */
    void (*make)(const sort_job *j, int64_t first, int64_t n, const void *elements, void *items);
    /* What n items, n <= TAPE_BLOCK, are in the output: elements or places. */
    void (*give)(const sort_job *j, int64_t n, void *out, const void *items);
    /* Sorts n of items by their bits [low, high), stable; `other` has room for as many. Returns which
     * of the two has them then. counts has room for MOST_DIGITS * DIGIT_VALUES. */
    void *(*sort)(int64_t n, void *items, void *other, int low, int high, uint64_t *counts);
    /* The bits in which n items differ from *like. */
    uint64_t (*differ)(int64_t n, const void *items, const void *like);
    /* Adds to count[v] how many of n items have v in the bits from shift on. */
    void (*count)(int64_t n, const void *items, int shift, uint64_t mask, uint64_t *count);
    /* Moves each item to where place[v] says, which then moves on. */
    void (*share)(int64_t n, const void *items, int shift, uint64_t mask, uint64_t *place,
                  void *to);
    /* n items with this code; NULL: they have more in them. */
    void (*fill)(int64_t n, void *items, uint64_t code);
    /* Ways with places only. Items of n keys, whose elements are the row's (first + at[i])-th. */
    void (*pick)(int64_t n, int64_t first, const void *keys, const int32_t *at, void *items);
    /* Of the items that have `prefix` from bit `high` on, as many as have v in the bits [shift, high) are
     * added to count[v]. */
    void (*count_in)(int64_t n, const void *items, int high, uint64_t prefix, int shift,
                     uint64_t *count);
    /* Only items that are below `prefix` from bit `low` on stay, in order, and the first `equal` of those
     * that have it; returns how many. */
    int64_t (*keep)(int64_t n, void *items, int low, uint64_t prefix, int64_t equal);
};

/* Reads elements [first, first + n) of a row, n <= TAPE_BLOCK: where they lie, or into chunk. */
const void *sort_read(const sort_job *j, int64_t row, int64_t first, int64_t n, void *chunk);
/* Writes n sorted items as the row's output from the first-th on, by way of chunk. Returns what a
 * float's special codes need: a set of SORT_* */
int sort_write(const sort_job *j, int64_t row, int64_t first, int64_t n, const void *items,
               void *chunk);
enum { SORT_ZERO = 1, SORT_OTHER_ZERO = 2, SORT_NAN = 4 };
/* Zeros and NaNs of a sorted row are put into order of appearance, if `seen` says that it matters. */
void sort_mend(const sort_job *j, int64_t row, int seen, char *scratch);

/* A row that is too long for a worker's scratch; space holds sort_long_bytes. */
size_t sort_long_bytes(const sort_job *j);
void sort_long(const sort_job *j, int64_t row, char *space, int worker);

/* The first p->kept places of a short row, given its packed elements, in a worker's scratch for sorting. */
void select_row(const sort_job *j, int64_t row, const char *elements, char *scratch);
/* Those of all rows, which are long. */
ig_status select_long_rows(const sort_job *j);

/* Scratch of a worker at all times: counts, and chunks of elements and of items. */
enum {
    SORT_CHUNK = TAPE_BLOCK * 16,
    SORT_COUNTS = MOST_DIGITS * DIGIT_VALUES * 8,
    SORT_FIXED = SORT_COUNTS + 4 * SORT_CHUNK
};

#endif
