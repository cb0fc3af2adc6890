/* Functions of one lane that emitted kernels call in addition to math.cuh: conversions and indices. */

/* ---- floats to integers ---- */

#define REAL float
#include "saturate.cuh"
#undef REAL

/* ---- indices ---- */

/* Tells an entry that two threads wrote at once. */
__device__ unsigned int entry_check(unsigned int bin, unsigned int value, long long index, long long length)
{
    unsigned long long sum = bin * 2654435761ull + value;
    sum = sum * 6364136223846793005ull + (unsigned long long)index;
    sum = sum * 6364136223846793005ull + (unsigned long long)length;
    return (unsigned int)(sum >> 32) ^ (unsigned int)sum;
}

/* Reports an index out of bounds; src/engine/emit/emit.h describes the words. */
__device__ void report_index(long long index, long long length, long long position, int record, unsigned int *fault)
{
    const long long high = position >> 31;
    const int bin = record * FAULT_BINS + (high < FAULT_BINS - 1 ? (int)high : FAULT_BINS - 1);
    const unsigned int value = FAULT_ABOVE - (unsigned int)(position & 0x7fffffff);
    if (atomicMax(&fault[FAULT_HEAD + bin], value) >= value)
        return;
    unsigned int *entry = fault + FAULT_FIRST_ENTRY + 8 * (atomicAdd(fault, 1u) % FAULT_ENTRIES);
    entry[0] = (unsigned int)bin;
    entry[1] = value;
    entry[2] = (unsigned int)index;
    entry[3] = (unsigned int)((unsigned long long)index >> 32);
    entry[4] = (unsigned int)length;
    entry[5] = (unsigned int)((unsigned long long)length >> 32);
    entry[6] = entry_check((unsigned int)bin, value, index, length);
}

/* An index that may count from the end; out of bounds it is reported, and 0 is used. */
__device__ long long check_index(long long index, long long length, long long position, int record, unsigned int *fault)
{
    const long long at = index < 0 ? index + length : index;
    if (at >= 0 && at < length)
        return at;
    report_index(index, length, position, record, fault);
    return 0;
}
