/* Failures that are found after launches; see faults.h. */
#include "engine/eval/faults.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/eval/fault_flow.h"

#include <stdio.h>
#include <string.h>

#define ABANDONED UINT64_MAX /* buffer.written: the evaluation stopped in the middle */

/* Sets of all devices are numbered. */
static struct {
    uint64_t now;
    struct failed {
        uint64_t number;
        char why[FAULT_TEXT_BYTES];
    } * failed;
    int n_failed, room;
    uint64_t unknown; /* sets up to this one may have failed */
} sets;

/* ---- sets that failed ---- */

ig_status faults_check(const buffer *b)
{
    if (b->written == ABANDONED)
        FAIL(IG_ERR_DEVICE, "the array's content is not valid, because a launch of the evaluation "
                            "that overwrites it failed");
    const char *why = b->written && b->written <= sets.unknown
                          ? "a launch failed, and there was no memory to note which"
                          : NULL;
    for (int i = sets.n_failed - 1; i >= 0 && b->written && !why; i--)
        if (sets.failed[i].number == b->written)
            why = sets.failed[i].why;
    if (why)
        FAIL(IG_ERR_DEVICE, "the array's content is not valid, because an evaluation failed: %s",
             why);
    return IG_OK;
}

static void set_fails(const fault_set *s, const char *why)
{
    if (!memory_room(&sets.failed, sets.n_failed, &sets.room, sizeof *sets.failed)) {
        sets.unknown = sets.now;
        return;
    }
    struct failed *f = &sets.failed[sets.n_failed++];
    f->number = s->number;
    snprintf(f->why, sizeof f->why, "%s", why);
}

static bool set_has(const uint64_t *set, int i) { return set[i / 64] >> i % 64 & 1; }
static void set_put(uint64_t *set, int i) { set[i / 64] |= (uint64_t)1 << i % 64; }

static bool sets_meet(const uint64_t *a, const uint64_t *b, int words)
{
    for (int w = 0; w < words; w++)
        if (a[w] & b[w])
            return true;
    return false;
}

/* The index of a set that the device still needs, or -1. */
static int set_find(const device_faults *d, uint64_t number)
{
    int low = 0, high = d->n_set;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (d->set[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < d->n_set && d->set[low].number == number ? low : -1;
}

/* The number of a set of these records; 0 if it is empty. */
static uint64_t set_number(device_faults *d, const fault_set *s)
{
    static const fault_set empty;
    if (memcmp(s->has, empty.has, sizeof s->has) == 0)
        return 0;
    for (int i = d->n_set - 1; i >= 0; i--)
        if (memcmp(d->set[i].has, s->has, sizeof s->has) == 0)
            return d->set[i].number;
    if (d->n_set == FAULT_SETS) { /* the last set becomes larger, which is safe */
        for (int w = 0; w < FAULT_SET_WORDS; w++)
            d->set[FAULT_SETS - 1].has[w] |= s->has[w];
        return d->set[FAULT_SETS - 1].number;
    }
    d->set[d->n_set] = *s;
    return d->set[d->n_set++].number = ++sets.now;
}

/* ---- the words of a device ---- */

/* Only called when no command uses the words. */
static ig_status clear(const backend *dev, buffer *words)
{
    if (!words->data)
        return dev->fill(words, 0, 0, words->bytes);
    memset(words->data, 0, words->bytes);
    return IG_OK;
}

ig_status faults_reserve(device_faults *d)
{
    const backend *dev = d->dev;
    if (d->words)
        return IG_OK;
    if (!d->record)
        d->record = memory_get(FAULT_RECORDS * sizeof *d->record);
    if (!d->set)
        d->set = memory_get(FAULT_SETS * sizeof *d->set);
    if (!d->record || !d->set)
        return IG_ERR_MEMORY;
    buffer *words =
        (dev->alloc_visible ? dev->alloc_visible : dev->alloc)(dev, FAULT_WORDS * sizeof(uint32_t));
    const ig_status status = words ? clear(dev, words) : IG_ERR_MEMORY;
    if (status == IG_OK)
        d->words = words;
    else
        buffer_release(words);
    return status;
}

void faults_release(device_faults *d)
{
    buffer_release(d->words);
    memory_free(d->record);
    memory_free(d->set);
    *d = (device_faults){.dev = d->dev};
    if (sets.n_failed)
        sets.unknown = sets.now;
    memory_free(sets.failed);
    sets.failed = NULL;
    sets.n_failed = sets.room = 0;
}

/* The same function as in kernels/lanes.cuh. */
static uint32_t entry_check(uint32_t bin, uint32_t value, uint64_t index, uint64_t length)
{
    uint64_t sum = (uint64_t)bin * 2654435761u + value;
    sum = sum * 6364136223846793005u + index;
    sum = sum * 6364136223846793005u + length;
    return (uint32_t)(sum >> 32) ^ (uint32_t)sum;
}

/* The lowest position in a record; false if there is no fault. */
static bool lowest(const uint32_t *words, int record, index_fault *f)
{
    const uint32_t *bins = words + FAULT_HEAD;
    const int end = (record + 1) * FAULT_BINS;
    int bin = record * FAULT_BINS;
    while (bin < end && !bins[bin])
        bin++;
    if (bin == end)
        return false;
    const int64_t low = (int64_t)(FAULT_ABOVE - bins[bin]);
    *f = (index_fault){.at = (int64_t)(bin % FAULT_BINS) << 31 | low, .axis_len = -1};
    const uint32_t entries = words[0] < FAULT_ENTRIES ? words[0] : FAULT_ENTRIES;
    for (uint32_t i = 0; i < entries; i++) {
        const uint32_t *e = words + FAULT_FIRST_ENTRY + 8 * (size_t)i;
        const uint64_t index = (uint64_t)e[ENTRY_INDEX + 1] << 32 | e[ENTRY_INDEX];
        const uint64_t length = (uint64_t)e[ENTRY_LENGTH + 1] << 32 | e[ENTRY_LENGTH];
        if (e[ENTRY_BIN] != (uint32_t)bin || e[ENTRY_VALUE] != bins[bin] ||
            e[ENTRY_CHECK] != entry_check(e[ENTRY_BIN], e[ENTRY_VALUE], index, length))
            continue;
        f->index = (int64_t)index;
        f->axis_len = (int64_t)length;
    }
    return true;
}

/* Marks the sets with a record that has a fault. The first fault is the one to report. */
static void report(device_faults *d, const uint32_t *words)
{
    for (int r = 0; r < d->n_record; r++) {
        const fault_record *record = &d->record[r];
        char ops[2 * FAULT_OPS_BYTES + 8], why[FAULT_TEXT_BYTES];
        uint64_t failed[FAULT_SET_WORDS] = {0};
        index_fault f;
        if (!lowest(words, r, &f))
            continue;
        snprintf(ops, sizeof ops, "%s%s", record->several ? "one of " : "", record->ops);
        fault_text(&f, ops, d->dev->name, why);
        for (int k = r; k >= 0; k = d->record[k].loop)
            set_put(failed, k);
        for (int i = 0; i < d->n_set; i++)
            if (sets_meet(d->set[i].has, failed, FAULT_SET_WORDS))
                set_fails(&d->set[i], why);
        if (d->found == IG_OK) {
            d->found = fault_status(&f);
            memcpy(d->why, why, sizeof why);
        }
    }
}

/* Returns a copy of the words if there are faults, and clears them on the device. */
static ig_status take(const device_faults *d, uint32_t **words)
{
    const backend *dev = d->dev;
    const size_t bytes = FAULT_WORDS * sizeof **words;
    uint32_t count = 0;
    if (d->words->data)
        count = *(const uint32_t *)d->words->data;
    else
        TRY(dev->read(d->words, 0, &count, sizeof count));
    if (count == 0)
        return IG_OK;
    *words = memory_get(bytes);
    if (!*words)
        return IG_ERR_MEMORY;
    if (d->words->data)
        memcpy(*words, d->words->data, bytes);
    else
        TRY(dev->read(d->words, 0, *words, bytes));
    return clear(dev, d->words);
}

static void forget(device_faults *d)
{
    if (!d->runs)
        d->n_record = d->n_set = 0;
}

/* The words cannot be read, so it is unknown whether indices were out of bounds: all sets are treated as failed. */
static void lose(device_faults *d)
{
    for (int i = 0; i < d->n_set; i++)
        set_fails(&d->set[i], "a later command failed, and what it reported cannot be read");
    buffer_release(d->words);
    d->words = NULL;
    forget(d);
}

/* Reads the words; the device has finished. */
static ig_status look(device_faults *d)
{
    uint32_t *words = NULL;
    ig_status status = d->n_record && d->words ? take(d, &words) : IG_OK;
    if (status == IG_OK && words)
        report(d, words);
    if (status == IG_OK)
        forget(d);
    else
        lose(d);
    memory_free(words);
    return status;
}

ig_status faults_finish(device_faults *d)
{
    ig_status status = d->dev->finish(d->dev);
    if (!faults_pending(d))
        return status;
    if (status == IG_OK)
        status = look(d);
    else if (d->dev->finish(d->dev) == IG_OK) /* earlier launches may have reported faults */
        look(d);
    else
        lose(d);
    const ig_status found = d->found;
    d->found = IG_OK;
    if (status == IG_OK && found != IG_OK)
        FAIL(found, "%s", d->why);
    return status;
}

/* ---- runs ---- */

/* A record for launches of p; if all are taken, the last one, and its fault makes more sets fail than it should. */
static int record_new(device_faults *d, const program *p, int loop)
{
    char ops[FAULT_OPS_BYTES];
    const bool full = d->n_record == FAULT_RECORDS;
    const int r = full ? FAULT_RECORDS - 1 : d->n_record++;
    fault_record *record = &d->record[r];
    fault_ops(p, ops);
    if (!full) {
        *record = (fault_record){.of = p, .loop = loop};
        strcpy(record->ops, ops);
    } else if (!strstr(record->ops, ops)) {
        const size_t used = strlen(record->ops);
        record->several = true;
        snprintf(record->ops + used, sizeof record->ops - used, ", %s", ops);
    }
    return r;
}

int faults_record(device_faults *d, const schedule *s, const program *p)
{
    if (!d->in_loop)
        return s->flow->record[p - s->program];
    const int loop = d->in_loop - 1;
    for (int r = loop + 1; r < d->n_record; r++)
        if (d->record[r].of == p && d->record[r].loop == loop)
            return r;
    return d->n_record < FAULT_RECORDS ? record_new(d, p, loop) : loop;
}

/* A set that leaves of a run have, and the bits of these leaves. */
typedef struct leaf_set {
    int set;
    uint64_t *leaves;
} leaf_set;

/* Lists the sets of the leaves; returns their number, or -1 without memory. `bits` has room for FAULT_SETS sets. */
static int find_leaf_sets(const device_faults *d, const run *r, const fault_flow *f,
                          leaf_set all[FAULT_SETS], uint64_t *bits)
{
    int n = 0;
    for (int i = 0; i < f->n_leaf; i++) {
        const buffer *b = r->binding[i].buf;
        const int set = b && b->written ? set_find(d, b->written) : -1;
        int k = 0;
        while (k < n && all[k].set != set)
            k++;
        if (set < 0)
            continue;
        if (k == n) {
            all[n++] = (leaf_set){set, bits + (size_t)k * (size_t)f->words};
            memset(all[k].leaves, 0, (size_t)f->words * sizeof *bits);
        }
        set_put(all[k].leaves, i);
    }
    return n;
}

/* Gives each output the set of all launches that it depends on: by leaves, and by programs of this run. */
static ig_status give_sets(device_faults *d, const run *r, fault_flow *f)
{
    leaf_set leaf[FAULT_SETS];
    const schedule *s = r->s;
    TRY(fault_flow_find(s, f));
    uint64_t *bits = memory_get(((size_t)d->n_set + 1) * (size_t)f->words * sizeof *bits);
    if (!bits)
        return IG_ERR_MEMORY;
    const int n = find_leaf_sets(d, r, f, leaf, bits);
    for (int i = f->n_leaf; i < s->n_slot; i++) {
        if (s->slot[i].kind != SLOT_OUT)
            continue;
        fault_set all = {0};
        const uint64_t *reach = fault_flow_reach(f, i);
        for (int k = 0; k < n; k++)
            for (int w = 0; w < FAULT_SET_WORDS && sets_meet(reach, leaf[k].leaves, f->words); w++)
                all.has[w] |= d->set[leaf[k].set].has[w];
        for (int k = 0, source = f->n_leaf; k < s->n_program; k++)
            if (f->record[k] >= 0 && set_has(reach, source++))
                set_put(all.has, f->record[k]);
        r->binding[i].buf->written = set_number(d, &all);
    }
    memory_free(bits);
    return IG_OK;
}

/* Looks before the records or sets are used up. The next wait reports what it finds. */
static ig_status make_room(device_faults *d, const fault_flow *f)
{
    if (d->n_record + f->n_fault <= FAULT_RECORDS && d->n_set <= FAULT_SETS / 2)
        return IG_OK;
    TRY(d->dev->finish(d->dev));
    return look(d);
}

ig_status faults_begin(device_faults *d, const run *r)
{
    fault_flow *f = fault_flow_of(r->s);
    if (!f)
        return IG_ERR_MEMORY;
    if (f->n_fault || d->n_record) {
        if (f->n_fault)
            TRY(faults_reserve(d));
        TRY(make_room(d, f));
        d->runs = true;
        for (int i = 0; i < r->s->n_program; i++)
            if (f->record[i] >= 0)
                f->record[i] = record_new(d, &r->s->program[i], -1);
        return give_sets(d, r, f);
    }
    for (int i = 0; i < r->n_owned; i++)
        r->owned[i]->written = 0;
    return IG_OK;
}

void faults_end(device_faults *d, const run *r, bool failed)
{
    d->runs = false;
    for (int i = 0; failed && i < r->n_owned; i++)
        r->owned[i]->written = ABANDONED;
    if (!failed || !faults_pending(d))
        return;
    if (d->dev->finish(d->dev) == IG_OK) /* the failure remains the error */
        look(d);
    else
        lose(d);
}
