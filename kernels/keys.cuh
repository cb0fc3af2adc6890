/* Template: the bits of an element, and its place in the order of sort and searchsorted.
 *
 *   bits_of(x)   an element of type STORAGE as BITS, an unsigned integer of its size
 *   key_of(bits) KEY, an unsigned integer: smaller keys come first
 *
 * Holes: the types STORAGE, BITS and KEY; AS_BITS, the function that gives a float's bits (for integers nothing);
 * FLOATS; KEY_ALL, KEY_SIGN and KEY_INFINITY, the bits of BITS that say so; DESCENDING. */
#ifndef EMITTED
#define STORAGE float
#define BITS unsigned int
#define KEY unsigned int
#define AS_BITS __float_as_uint
#define FLOATS 1
#define KEY_ALL 0xffffffffu
#define KEY_SIGN 0x80000000u
#define KEY_INFINITY 0x7f800000u
#define DESCENDING false
#include "order.cuh"
#endif

static __device__ BITS bits_of(STORAGE x)
{
    return (BITS)AS_BITS(x);
}

static __device__ KEY key_of(BITS x)
{
#if FLOATS
    return order_float<KEY>((KEY)x, KEY_ALL, KEY_SIGN, KEY_INFINITY, DESCENDING);
#else
    return order_integer<KEY>((KEY)x, KEY_ALL, KEY_SIGN, DESCENDING);
#endif
}
