/* Failures that are found after launches; see faults.h. */
#include "engine/eval/faults.h"

#include "base/error.h"
#include "base/memory.h"
#include "engine/backend/driver.h"

#include <stdio.h>
#include <string.h>

#define ABANDONED UINT64_MAX /* buffer.written: the evaluation stopped in the middle */

/* Evaluations are numbered, like the commands of a driver. */
static struct {
    uint64_t now;
    failure_list failed;
} runs;

/* ---- evaluations that failed late ---- */

uint64_t faults_begin(void) { return ++runs.now; }

ig_status faults_check(const buffer *b)
{
    if (b->written == ABANDONED)
        FAIL(IG_ERR_DEVICE, "the array's content is not valid, because a launch of the evaluation "
                            "that overwrites it failed");
    const char *why = b->written ? failures_find(&runs.failed, b->written) : NULL;
    if (why)
        FAIL(IG_ERR_DEVICE, "the array's content is not valid, because an evaluation failed: %s",
             why);
    return IG_OK;
}

static void failure_add(uint64_t first, const char *why)
{
    failures_add(&runs.failed, first, runs.now, why);
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
    buffer *words =
        (dev->alloc_visible ? dev->alloc_visible : dev->alloc)(dev, FAULT_WORDS * sizeof(uint32_t));
    const ig_status status = words ? clear(dev, words) : IG_ERR_MEMORY;
    if (status == IG_OK)
        d->words = words;
    else
        buffer_release(words);
    return status;
}

/* Notes that the program may report a fault in the record, which is read at the next wait. */
static void suspect(device_faults *d, const program *p, int record)
{
    char ops[FAULT_OPS_BYTES];
    fault_ops(p, ops);
    if (!d->suspect) {
        d->suspect = runs.now;
        for (int i = 0; i < FAULT_RECORDS; i++)
            d->record[i].ops[0] = '\0';
    }
    char *all = d->record[record].ops;
    const size_t used = strlen(all);
    d->record[record].several = d->record[record].several && used;
    if (used == 0)
        strcpy(all, ops);
    else if (!strstr(all, ops)) { /* usually it is the same program again */
        d->record[record].several = true;
        snprintf(all + used, sizeof d->record->ops - used, ", %s", ops);
    }
}

void faults_expect(device_faults *d, const program *p, int record)
{
    for (int k = 0; k < p->chain; k++)
        if (p[k].may_fail)
            suspect(d, &p[k], faults_record(record++));
}

/* The same function as in kernels/lanes.cuh. */
static uint32_t entry_check(uint32_t bin, uint32_t value, uint64_t index, uint64_t length)
{
    uint64_t sum = (uint64_t)bin * 2654435761u + value;
    sum = sum * 6364136223846793005u + index;
    sum = sum * 6364136223846793005u + length;
    return (uint32_t)(sum >> 32) ^ (uint32_t)sum;
}

/* Finds the lowest position of the first record that has a fault; returns the record, or -1. */
static int lowest(const uint32_t *words, index_fault *f)
{
    const uint32_t *bins = words + FAULT_HEAD;
    int bin = 0;
    while (bin < FAULT_RECORDS * FAULT_BINS && !bins[bin])
        bin++;
    if (bin == FAULT_RECORDS * FAULT_BINS)
        return -1;
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
    return bin / FAULT_BINS;
}

/* Reports the fault in the words of a device, which has finished. */
static ig_status report(device_faults *d, const uint32_t *words, uint64_t first)
{
    char ops[2 * FAULT_OPS_BYTES + 8], why[FAULT_TEXT_BYTES];
    index_fault f = {.axis_len = -1};
    const int record = lowest(words, &f);
    snprintf(ops, sizeof ops, "%s%s", record >= 0 && d->record[record].several ? "one of " : "",
             record >= 0 ? d->record[record].ops : "a program");
    fault_text(&f, ops, d->dev->name, why);
    failure_add(first, why);
    FAIL(fault_status(&f), "%s", why);
}

/* The words cannot be read, so it is unknown whether indices were out of bounds. All evaluations since `first` are
 * treated as failed. */
static void lose(device_faults *d, uint64_t first)
{
    failure_add(first, "a later command failed, and what it reported cannot be read");
    buffer_release(d->words);
    d->words = NULL;
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

/* Reads the words; the device has finished. */
static ig_status look(device_faults *d)
{
    const uint64_t first = d->suspect;
    uint32_t *words = NULL;
    ig_status status = take(d, &words);
    d->suspect = 0;
    if (status != IG_OK)
        lose(d, first);
    else if (words)
        status = report(d, words, first);
    memory_free(words);
    return status;
}

/* Called after a failure, which remains the error: earlier launches may have reported faults. */
void faults_settle(device_faults *d)
{
    if (!d->suspect)
        return;
    if (d->dev->finish(d->dev) == IG_OK) {
        look(d);
        return;
    }
    lose(d, d->suspect);
    d->suspect = 0;
}

ig_status faults_finish(device_faults *d)
{
    const ig_status status = d->dev->finish(d->dev);
    if (!d->suspect)
        return status;
    if (status == IG_OK)
        return look(d);
    faults_settle(d);
    return status;
}

void faults_abandon(buffer *const *written, int n)
{
    for (int i = 0; i < n; i++)
        written[i]->written = ABANDONED;
}
