/* Internals of sorting: items, methods of sorting, and a row. See sort.c. */
#ifndef CPU_SORT_H
#define CPU_SORT_H

#include "engine/backend/cpu/cpu.h"
#include "engine/backend/cpu/sort/sort_key.h"

enum {
    DIGIT = 11, /* most bits of a digit */
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
    bool values;    /* sort values; else indices */
    int low, high;  /* the bits of an item that determine its order */
    size_t bytes;   /* of a row's space */
    char *space;    /* memory of all rows that are sorted at once; NULL: the workers' scratch */
    int64_t tasks;  /* task t has the long rows t, t + tasks, ... */
    int64_t width;  /* short rows of a strip, which are read together */
    int64_t strips; /* of all */
    int64_t group;  /* strips of a task */
} sort_job;

/* An item is what the sort moves: a code, or a key and an index. */
struct sort_way {
    bool wide; /* keys are u64 */
    size_t bytes;
    /* Makes items of the row's packed elements [first, first + n), n <= TAPE_BLOCK. */
    void (*make)(const sort_job *j, int64_t first, int64_t n, const void *elements, void *items);
    /* Converts n items, n <= TAPE_BLOCK, to output: elements or indices. */
    void (*give)(const sort_job *j, int64_t n, void *out, const void *items);
    /* Sorts n items by their bits [low, high), stable; `other` has room for as many. Returns which
     * of the two holds the result. counts has room for MOST_DIGITS * DIGIT_VALUES. */
    void *(*sort)(int64_t n, void *items, void *other, int low, int high, uint64_t *counts);
    /* The bits in which n items differ from *like. */
    uint64_t (*differ)(int64_t n, const void *items, const void *like);
    /* Adds to count[v] the number of items that have v in the bits from shift on. */
    void (*count)(int64_t n, const void *items, int shift, uint64_t mask, uint64_t *count);
    /* Moves each item to position place[v], and increments that. */
    void (*share)(int64_t n, const void *items, int shift, uint64_t mask, uint64_t *place,
                  void *to);
    /* Writes n items with this code; NULL for items that hold more than a code. */
    void (*fill)(int64_t n, void *items, uint64_t code);
    /* For items with indices only: makes items of n keys, whose elements have indices first +
     * at[i]. */
    void (*pick)(int64_t n, int64_t first, const void *keys, const int32_t *at, void *items);
    /* Adds to count[v] the number of items that have `prefix` from bit `high` on and v in the bits
     * [shift, high). */
    void (*count_in)(int64_t n, const void *items, int high, uint64_t prefix, int shift,
                     uint64_t *count);
    /* Keeps, in order, the items that are below `prefix` from bit `low` on, and the first `equal`
     * of those that equal it; returns how many. */
    int64_t (*keep)(int64_t n, void *items, int low, uint64_t prefix, int64_t equal);
};

/* Reads elements [first, first + n) of a row, n <= TAPE_BLOCK: in place, or into chunk. */
const void *sort_read(const sort_job *j, int64_t row, int64_t first, int64_t n, void *chunk);
/* Writes n sorted items as elements `first` and on of the row's output, by way of chunk. Returns
 * which special codes of floats occurred: a set of SORT_*. */
int sort_write(const sort_job *j, int64_t row, int64_t first, int64_t n, const void *items,
               void *chunk);
enum { SORT_ZERO = 1, SORT_OTHER_ZERO = 2, SORT_NAN = 4 };
/* Restores the original order of the zeros and NaNs of a sorted row, if `seen` requires it. */
void sort_mend(const sort_job *j, int64_t row, int seen, char *scratch);

/* Sorts a row that does not fit a worker's scratch; space has sort_long_bytes. */
size_t sort_long_bytes(const sort_job *j); /* without a binding: at most */
void sort_long(const sort_job *j, int64_t row, char *space, int worker);

/* The first p->kept indices of a short row, given its packed elements, in a worker's scratch for
 * sorting. */
void select_row(const sort_job *j, int64_t row, const char *elements, char *scratch);
/* The same for all rows, which are long. */
ig_status select_long_rows(const sort_job *j);
size_t select_long_bytes(const sort_job *j); /* that it allocates */

/* The fixed part of a worker's scratch: counts, and chunks of elements and of items. */
enum {
    SORT_CHUNK = TAPE_BLOCK * 16,
    SORT_COUNTS = MOST_DIGITS * DIGIT_VALUES * 8,
    SORT_FIXED = SORT_COUNTS + 4 * SORT_CHUNK
};

#endif
