/* The order of sort, argsort and searchsorted as unsigned keys: the key of x is below the key of y exactly if
 * x stands before y. NaN is last, also in descending order, and -0.0 equals 0.0. T holds the key. */

template <typename T> __device__ T order_integer(T bits, T all, T sign, bool descending)
{
    return (T)((bits ^ sign ^ (descending ? all : (T)0)) & all);
}

template <typename T> __device__ T order_float(T bits, T all, T sign, T infinity, bool descending)
{
    const T magnitude = (T)(bits & ~sign & all);
    if (magnitude > infinity)
        return all;
    if (magnitude == (T)0)
        return sign;
    const T key = (T)((bits & sign) != (T)0 ? ~bits & all : bits | sign);
    return descending ? (T)(all - key) : key;
}
