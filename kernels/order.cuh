/* The order of sort, argsort and searchsorted as unsigned keys: the key of x is below that of y exactly if
 * x stands before y. NaN is last, also in descending order, and -0.0 equals 0.0. */

__device__ unsigned long long order_integer(unsigned long long bits, unsigned long long all,
                                            unsigned long long sign, bool descending)
{
    return (bits ^ sign ^ (descending ? all : 0ull)) & all;
}

__device__ unsigned long long order_float(unsigned long long bits, unsigned long long all,
                                          unsigned long long sign, unsigned long long infinity, bool descending)
{
    const unsigned long long magnitude = bits & ~sign & all;
    if (magnitude > infinity)
        return all;
    if (magnitude == 0ull)
        return sign;
    const unsigned long long key = (bits & sign) != 0ull ? ~bits & all : bits | sign;
    return descending ? all - key : key;
}
