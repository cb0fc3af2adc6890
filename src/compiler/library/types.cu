/* Types of the C++ library that kernels use. */
template <typename ig_t, unsigned long ig_n>
struct array {
    typedef ig_t value_type;
    ig_t _M_elems[ig_n ? ig_n : 1];
    __host__ __device__ constexpr ig_t &operator[](unsigned long ig_i) { return _M_elems[ig_i]; }
    __host__ __device__ constexpr const ig_t &operator[](unsigned long ig_i) const { return _M_elems[ig_i]; }
    __host__ __device__ constexpr ig_t &at(unsigned long ig_i) { return _M_elems[ig_i]; }
    __host__ __device__ constexpr const ig_t &at(unsigned long ig_i) const { return _M_elems[ig_i]; }
    __host__ __device__ constexpr unsigned long size() const { return ig_n; }
    __host__ __device__ constexpr bool empty() const { return ig_n == 0; }
    __host__ __device__ constexpr ig_t *data() { return _M_elems; }
    __host__ __device__ constexpr const ig_t *data() const { return _M_elems; }
    __host__ __device__ constexpr ig_t *begin() { return _M_elems; }
    __host__ __device__ constexpr const ig_t *begin() const { return _M_elems; }
    __host__ __device__ constexpr ig_t *end() { return _M_elems + ig_n; }
    __host__ __device__ constexpr const ig_t *end() const { return _M_elems + ig_n; }
    __host__ __device__ constexpr ig_t &front() { return _M_elems[0]; }
    __host__ __device__ constexpr const ig_t &front() const { return _M_elems[0]; }
    __host__ __device__ constexpr ig_t &back() { return _M_elems[ig_n - 1]; }
    __host__ __device__ constexpr const ig_t &back() const { return _M_elems[ig_n - 1]; }
    __host__ __device__ constexpr void fill(const ig_t &ig_x)
    {
        for (unsigned long ig_i = 0; ig_i < ig_n; ig_i++)
            _M_elems[ig_i] = ig_x;
    }
};

template <typename ig_t, typename ig_u>
struct pair {
    typedef ig_t first_type;
    typedef ig_u second_type;
    ig_t first;
    ig_u second;
    __host__ __device__ constexpr pair() : first(), second() {}
    __host__ __device__ constexpr pair(const ig_t &ig_a, const ig_u &ig_b) : first(ig_a), second(ig_b) {}
};
template <typename ig_t, typename ig_u>
__host__ __device__ constexpr pair<ig_t, ig_u> make_pair(ig_t ig_a, ig_u ig_b)
{
    return pair<ig_t, ig_u>(ig_a, ig_b);
}

template <typename ig_t> struct make_unsigned { using type = ig_t; };
template <typename ig_t> struct make_signed { using type = ig_t; };
#define IG_SIGNS(ig_one, ig_other) \
    template <> struct make_unsigned<ig_one> { using type = ig_other; }; \
    template <> struct make_signed<ig_other> { using type = ig_one; };
IG_SIGNS(signed char, unsigned char)
IG_SIGNS(short, unsigned short)
IG_SIGNS(int, unsigned)
IG_SIGNS(long, unsigned long)
IG_SIGNS(long long, unsigned long long)
template <> struct make_unsigned<char> { using type = unsigned char; };
template <> struct make_signed<char> { using type = signed char; };
template <typename ig_t> using make_unsigned_t = typename make_unsigned<ig_t>::type;
template <typename ig_t> using make_signed_t = typename make_signed<ig_t>::type;
