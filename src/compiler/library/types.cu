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

/* A pointer to a member of type ig_t of a class: its offset, or -1. */
template <typename ig_t, typename ig_c>
struct ig_member {
    long long ig_at;
    __host__ __device__ bool operator==(const ig_member &ig_o) const { return ig_at == ig_o.ig_at; }
    __host__ __device__ bool operator!=(const ig_member &ig_o) const { return ig_at != ig_o.ig_at; }
};
template <typename ig_t, typename ig_c, typename ig_o>
__device__ inline ig_t &ig_member_of(ig_o &ig_x, ig_member<ig_t, ig_c> ig_m)
{
    return *(ig_t *)((char *)&ig_x + ig_m.ig_at);
}

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

template <typename ig_t, ig_t ig_v> struct integral_constant {
    static constexpr ig_t value = ig_v;
    typedef ig_t value_type;
    __host__ __device__ constexpr operator ig_t() const { return ig_v; }
    __host__ __device__ constexpr ig_t operator()() const { return ig_v; }
};
template <bool ig_b> using bool_constant = integral_constant<bool, ig_b>;
using true_type = integral_constant<bool, true>;
using false_type = integral_constant<bool, false>;
template <typename... ig_t> using void_t = void;
template <typename ig_t> struct remove_reference { using type = ig_t; };
template <typename ig_t> struct remove_reference<ig_t &> { using type = ig_t; };
template <typename ig_t> struct remove_reference<ig_t &&> { using type = ig_t; };
template <typename ig_t> using remove_reference_t = typename remove_reference<ig_t>::type;
template <typename ig_t> struct remove_volatile { using type = ig_t; };
template <typename ig_t> struct remove_volatile<volatile ig_t> { using type = ig_t; };
template <typename ig_t> struct remove_cv { using type = remove_const_t<typename remove_volatile<ig_t>::type>; };
template <typename ig_t> using remove_cv_t = typename remove_cv<ig_t>::type;
template <typename ig_t> using remove_cvref_t = remove_cv_t<remove_reference_t<ig_t>>;
template <typename ig_t> struct decay { using type = remove_cv_t<remove_reference_t<ig_t>>; };
template <typename ig_t> using decay_t = typename decay<ig_t>::type;
template <typename ig_t> struct add_pointer { using type = remove_reference_t<ig_t> *; };
template <typename ig_t> using add_pointer_t = typename add_pointer<ig_t>::type;

template <unsigned long... ig_i> struct index_sequence {
    __host__ __device__ static constexpr unsigned long size() { return sizeof...(ig_i); }
};
template <unsigned long ig_n, unsigned long... ig_i>
struct ig_indices {
    using type = typename ig_indices<ig_n - 1, ig_n - 1, ig_i...>::type;
};
template <unsigned long... ig_i> struct ig_indices<0, ig_i...> { using type = index_sequence<ig_i...>; };
template <unsigned long ig_n> using make_index_sequence = typename ig_indices<ig_n>::type;
template <typename... ig_t> using index_sequence_for = make_index_sequence<sizeof...(ig_t)>;
template <typename ig_t, ig_t... ig_i> struct integer_sequence {
    __host__ __device__ static constexpr unsigned long size() { return sizeof...(ig_i); }
};
template <typename ig_t, unsigned long ig_n, ig_t... ig_i>
struct ig_integers {
    using type = typename ig_integers<ig_t, ig_n - 1, (ig_t)(ig_n - 1), ig_i...>::type;
};
template <typename ig_t, ig_t... ig_i> struct ig_integers<ig_t, 0, ig_i...> { using type = integer_sequence<ig_t, ig_i...>; };
template <typename ig_t, ig_t ig_n> using make_integer_sequence = typename ig_integers<ig_t, (unsigned long)ig_n>::type;

template <typename ig_t, typename ig_u> concept same_as = is_same_v<ig_t, ig_u>;
template <typename ig_t, typename ig_u> concept convertible_to = is_convertible_v<ig_t, ig_u>;
template <typename ig_t, typename ig_u> concept derived_from = is_base_of_v<ig_u, ig_t>;
template <typename ig_t> concept integral = is_integral_v<ig_t>;
template <typename ig_t> concept signed_integral = is_integral_v<ig_t> && is_signed_v<ig_t>;
template <typename ig_t> concept unsigned_integral = is_integral_v<ig_t> && is_unsigned_v<ig_t>;
template <typename ig_t> concept floating_point = is_floating_point_v<ig_t>;
