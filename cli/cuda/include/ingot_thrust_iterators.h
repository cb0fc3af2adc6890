/* Thrust's pointers, vectors and iterators: see ingot_thrust.h, which includes this file. */
#ifndef INGOT_THRUST_ITERATORS_H
#define INGOT_THRUST_ITERATORS_H

#include <initializer_list>
#include <iterator>
#include <new>
#include <ostream>
#include <vector>

namespace thrust
{
/* The operators of an iterator D that has `difference_type`, operator*, +=, - of iterators. */
template <typename D> struct ig_steps {
    D &self() { return static_cast<D &>(*this); }
    const D &self() const { return static_cast<const D &>(*this); }
    D &operator++() { return self() += 1; }
    D &operator--() { return self() += -1; }
    D operator++(int)
    {
        D old = self();
        self() += 1;
        return old;
    }
    D operator--(int)
    {
        D old = self();
        self() += -1;
        return old;
    }
    D &operator-=(ptrdiff_t n) { return self() += -n; }
    friend D operator+(D a, ptrdiff_t n) { return a += n; }
    friend D operator+(ptrdiff_t n, D a) { return a += n; }
    friend D operator-(D a, ptrdiff_t n) { return a += -n; }
    friend bool operator==(const D &a, const D &b) { return a - b == 0; }
    friend bool operator!=(const D &a, const D &b) { return a - b != 0; }
    friend bool operator<(const D &a, const D &b) { return a - b < 0; }
    friend bool operator>(const D &a, const D &b) { return a - b > 0; }
    friend bool operator<=(const D &a, const D &b) { return a - b <= 0; }
    friend bool operator>=(const D &a, const D &b) { return a - b >= 0; }
    template <typename N> decltype(auto) operator[](N n) const { return *(self() + (ptrdiff_t)n); }
};
#define IG_TRAITS(Value, Reference) \
    typedef std::random_access_iterator_tag iterator_category; \
    typedef ptrdiff_t difference_type; \
    typedef Value value_type; \
    typedef Reference reference; \
    typedef std::remove_reference_t<Reference> *pointer;

/* ---- pointers ---- */

/* Refuses memory of the device that the host cannot read. */
inline void ig_check_pointer(const void *p)
{
    if (ig_cuda_kind(p) != IG_CUDA_DEVICE)
        return;
    static int reads = -1;
    if (reads < 0) {
        ig_cuda_facts f;
        reads = ig_cuda_device(&f) == 0 && f.waits && !f.driver_version;
    }
    if (!reads)
        throw std::runtime_error("thrust: memory of cudaMalloc is read in place only on the CPU; use device_vector or "
                                 "cudaMallocManaged, or run with --device cpu");
}

template <typename T> using device_reference = T &;
template <typename T> struct device_ptr : ig_steps<device_ptr<T>> {
    IG_TRAITS(std::remove_cv_t<T>, T &)
    T *at;
    device_ptr(std::nullptr_t = nullptr) : at(nullptr) {}
    explicit device_ptr(T *p) : at(p) {}
    template <typename U, typename = std::enable_if_t<std::is_convertible<U *, T *>::value>>
    device_ptr(const device_ptr<U> &p) : at(p.at)
    {
    }
    T &operator*() const { return *at; }
    T *operator->() const { return at; }
    T *get() const { return at; }
    device_ptr base() const { return *this; }
    explicit operator bool() const { return at != nullptr; }
    device_ptr &operator+=(ptrdiff_t n) { return at += n, *this; }
    friend ptrdiff_t operator-(const device_ptr &a, const device_ptr &b) { return a.at - b.at; }
    friend std::ostream &operator<<(std::ostream &to, const device_ptr &p) { return to << p.at; }
};
template <> struct device_ptr<void> {
    void *at;
    explicit device_ptr(void *p = nullptr) : at(p) {}
    template <typename T> device_ptr(const device_ptr<T> &p) : at(p.at) {}
    template <typename T> explicit operator device_ptr<T>() const { return device_ptr<T>((T *)at); }
    void *get() const { return at; }
};
template <typename T> device_ptr<T> device_pointer_cast(T *p) { return device_ptr<T>(p); }
template <typename T> device_ptr<T> device_pointer_cast(const device_ptr<T> &p) { return p; }
template <typename T> T *raw_pointer_cast(T *p) { return p; }
template <typename T> T *raw_pointer_cast(const device_ptr<T> &p) { return p.get(); }
template <typename T> T &raw_reference_cast(T &x) { return x; }
inline void *ig_get(size_t bytes)
{
    void *p = nullptr;
    if (bytes && cudaMallocManaged(&p, bytes) != cudaSuccess)
        throw std::bad_alloc();
    return p;
}
template <typename T> device_ptr<T> device_malloc(size_t n) { return device_ptr<T>((T *)ig_get(n * sizeof(T))); }
inline device_ptr<void> device_malloc(size_t bytes) { return device_ptr<void>(ig_get(bytes)); }
template <typename T> void device_free(device_ptr<T> p) { cudaFree(p.get()); }
template <typename T> device_ptr<T> device_new(size_t n = 1)
{
    device_ptr<T> p = device_malloc<T>(n);
    for (size_t i = 0; i < n; i++)
        new (p.get() + i) T();
    return p;
}
template <typename T> void device_delete(device_ptr<T> p, size_t n = 1)
{
    for (size_t i = 0; i < n; i++)
        p.get()[i].~T();
    cudaFree(p.get());
}

/* ---- vectors ---- */

struct ig_on_host {
    template <typename T> using iterator = T *;
    static void *get(size_t bytes) { return ::operator new(bytes); }
    static void put(void *p) { ::operator delete(p); }
    static void wait() {}
};
struct ig_on_device {
    template <typename T> using iterator = device_ptr<T>;
    static void *get(size_t bytes) { return ig_get(bytes); }
    static void put(void *p) { cudaFree(p); }
    static void wait() { ig_wait(); }
};

template <typename T, typename M> class ig_vector
{
    T *at = nullptr;
    size_t n = 0, room = 0;

    void grow(size_t wanted)
    {
        if (wanted <= room)
            return;
        room = wanted > 2 * room ? wanted : 2 * room;
        T *made = (T *)M::get(room * sizeof(T));
        for (size_t i = 0; i < n; i++) {
            new (made + i) T(std::move(at[i]));
            at[i].~T();
        }
        if (at)
            M::put(at);
        at = made;
    }

  public:
    typedef T value_type;
    typedef size_t size_type;
    typedef ptrdiff_t difference_type;
    typedef T &reference;
    typedef const T &const_reference;
    typedef typename M::template iterator<T> iterator, pointer;
    typedef typename M::template iterator<const T> const_iterator, const_pointer;
    typedef std::reverse_iterator<iterator> reverse_iterator;

    ig_vector() = default;
    explicit ig_vector(size_t count) { resize(count); }
    ig_vector(size_t count, const T &value) { resize(count, value); }
    ig_vector(std::initializer_list<T> list) { assign(list.begin(), list.end()); }
    template <typename I, typename = typename std::iterator_traits<I>::iterator_category> ig_vector(I from, I to)
    {
        assign(from, to);
    }
    ig_vector(const ig_vector &o) { assign(o.begin(), o.end()); }
    ig_vector(ig_vector &&o) noexcept { swap(o); }
    template <typename U, typename N> ig_vector(const ig_vector<U, N> &o) { assign(o.begin(), o.end()); }
    template <typename U, typename A> ig_vector(const std::vector<U, A> &o) { assign(o.begin(), o.end()); }
    ~ig_vector()
    {
        if (!at)
            return;
        if (!std::is_trivially_destructible<T>::value)
            clear();
        M::put(at);
    }
    ig_vector &operator=(const ig_vector &o)
    {
        if (this != &o)
            assign(o.begin(), o.end());
        return *this;
    }
    ig_vector &operator=(ig_vector &&o) noexcept
    {
        swap(o);
        return *this;
    }
    template <typename U, typename N> ig_vector &operator=(const ig_vector<U, N> &o)
    {
        assign(o.begin(), o.end());
        return *this;
    }
    template <typename U, typename A> ig_vector &operator=(const std::vector<U, A> &o)
    {
        assign(o.begin(), o.end());
        return *this;
    }
    ig_vector &operator=(std::initializer_list<T> list)
    {
        assign(list.begin(), list.end());
        return *this;
    }
    template <typename I, typename = typename std::iterator_traits<I>::iterator_category> void assign(I from, I to)
    {
        ig_wait();
        clear();
        grow((size_t)std::distance(from, to));
        for (; from != to; ++from)
            new (at + n++) T(*from);
    }
    void assign(size_t count, const T &value)
    {
        clear();
        resize(count, value);
    }
    void resize(size_t count, const T &value = T())
    {
        M::wait();
        grow(count);
        while (n > count)
            at[--n].~T();
        while (n < count)
            new (at + n++) T(value);
    }
    void reserve(size_t count)
    {
        M::wait();
        grow(count);
    }
    void shrink_to_fit() {}
    void clear() { resize(0); }
    void swap(ig_vector &o)
    {
        std::swap(at, o.at);
        std::swap(n, o.n);
        std::swap(room, o.room);
    }
    void push_back(const T &value)
    {
        const T copy = value; /* it may be an element */
        M::wait();
        grow(n + 1);
        new (at + n++) T(copy);
    }
    template <typename... A> void emplace_back(A &&...a) { push_back(T(std::forward<A>(a)...)); }
    void pop_back()
    {
        M::wait();
        at[--n].~T();
    }
    iterator erase(iterator from, iterator to)
    {
        M::wait();
        const size_t first = (size_t)(from - begin()), gone = (size_t)(to - from);
        for (size_t i = first; i + gone < n; i++)
            at[i] = std::move(at[i + gone]);
        resize(n - gone);
        return begin() + (ptrdiff_t)first;
    }
    iterator erase(iterator where) { return erase(where, where + 1); }
    template <typename I, typename = typename std::iterator_traits<I>::iterator_category>
    iterator insert(iterator where, I from, I to)
    {
        M::wait();
        const size_t first = (size_t)(where - begin());
        std::vector<T> all(at, at + first);
        all.insert(all.end(), from, to);
        all.insert(all.end(), at + first, at + n);
        assign(all.begin(), all.end());
        return begin() + (ptrdiff_t)first;
    }
    iterator insert(iterator where, const T &value)
    {
        const T copy = value;
        return insert(where, &copy, &copy + 1);
    }
    T &operator[](size_t i)
    {
        M::wait();
        return at[i];
    }
    const T &operator[](size_t i) const
    {
        M::wait();
        return at[i];
    }
    T &front() { return (*this)[0]; }
    const T &front() const { return (*this)[0]; }
    T &back() { return (*this)[n - 1]; }
    const T &back() const { return (*this)[n - 1]; }
    pointer data() { return iterator(at); }
    const_pointer data() const { return const_iterator(at); }
    iterator begin() { return iterator(at); }
    iterator end() { return iterator(at + n); }
    const_iterator begin() const { return const_iterator(at); }
    const_iterator end() const { return const_iterator(at + n); }
    const_iterator cbegin() const { return begin(); }
    const_iterator cend() const { return end(); }
    reverse_iterator rbegin() { return reverse_iterator(end()); }
    reverse_iterator rend() { return reverse_iterator(begin()); }
    size_t size() const { return n; }
    size_t capacity() const { return room; }
    size_t max_size() const { return (size_t)-1 / sizeof(T); }
    bool empty() const { return !n; }
    template <typename N> bool operator==(const ig_vector<T, N> &o) const
    {
        M::wait();
        bool same = n == o.size();
        for (size_t i = 0; same && i < n; i++)
            same = at[i] == o.begin()[i];
        return same;
    }
    template <typename N> bool operator!=(const ig_vector<T, N> &o) const { return !(*this == o); }
};
template <typename T, typename A = void> using host_vector = ig_vector<T, ig_on_host>;
template <typename T, typename A = void> using device_vector = ig_vector<T, ig_on_device>;
template <typename T, typename A = void> using universal_vector = ig_vector<T, ig_on_device>;
template <typename T, typename M> void swap(ig_vector<T, M> &a, ig_vector<T, M> &b) { a.swap(b); }

/* ---- iterators ---- */

template <typename T> struct counting_iterator : ig_steps<counting_iterator<T>> {
    IG_TRAITS(T, T)
    T x;
    explicit counting_iterator(T first = T()) : x(first) {}
    T operator*() const { return x; }
    T base() const { return x; }
    counting_iterator &operator+=(ptrdiff_t n) { return x += (T)n, *this; }
    friend ptrdiff_t operator-(const counting_iterator &a, const counting_iterator &b)
    {
        return (ptrdiff_t)a.x - (ptrdiff_t)b.x;
    }
};
template <typename T> counting_iterator<T> make_counting_iterator(T x) { return counting_iterator<T>(x); }

template <typename T> struct constant_iterator : ig_steps<constant_iterator<T>> {
    IG_TRAITS(T, T)
    T x;
    ptrdiff_t n;
    explicit constant_iterator(T value = T(), ptrdiff_t at = 0) : x(value), n(at) {}
    T operator*() const { return x; }
    constant_iterator &operator+=(ptrdiff_t by) { return n += by, *this; }
    friend ptrdiff_t operator-(const constant_iterator &a, const constant_iterator &b) { return a.n - b.n; }
};
template <typename T> constant_iterator<T> make_constant_iterator(T x, ptrdiff_t n = 0)
{
    return constant_iterator<T>(x, n);
}

/* What is stored is dropped. */
struct ig_sink {
    template <typename T> const ig_sink &operator=(const T &) const { return *this; }
};
struct discard_iterator : ig_steps<discard_iterator> {
    IG_TRAITS(ig_sink, ig_sink)
    ptrdiff_t n;
    explicit discard_iterator(ptrdiff_t at = 0) : n(at) {}
    ig_sink operator*() const { return {}; }
    discard_iterator &operator+=(ptrdiff_t by) { return n += by, *this; }
    friend ptrdiff_t operator-(const discard_iterator &a, const discard_iterator &b) { return a.n - b.n; }
};
inline discard_iterator make_discard_iterator(ptrdiff_t n = 0) { return discard_iterator(n); }

template <typename F, typename I, typename R = void, typename V = void>
struct transform_iterator : ig_steps<transform_iterator<F, I, R, V>> {
    typedef std::decay_t<decltype(std::declval<F &>()(*std::declval<I &>()))> made;
    IG_TRAITS(made, made)
    I at;
    F f;
    transform_iterator(I i, F g) : at(i), f(g) {}
    explicit transform_iterator(I i) : at(i), f() {}
    transform_iterator() = default;
    made operator*() const { return const_cast<F &>(f)(*at); }
    const I &base() const { return at; }
    transform_iterator &operator=(const transform_iterator &o) /* a lambda cannot be assigned */
    {
        at = o.at;
        return *this;
    }
    transform_iterator(const transform_iterator &) = default;
    transform_iterator &operator+=(ptrdiff_t n) { return at += n, *this; }
    friend ptrdiff_t operator-(const transform_iterator &a, const transform_iterator &b) { return a.at - b.at; }
};
template <typename F, typename I> transform_iterator<F, I> make_transform_iterator(I i, F f) { return {i, f}; }

/* What is stored goes through a function first. */
template <typename F, typename I> struct transform_output_iterator : ig_steps<transform_output_iterator<F, I>> {
    struct place {
        I at;
        F f;
        template <typename T> const place &operator=(const T &x) const
        {
            *at = const_cast<F &>(f)(x);
            return *this;
        }
    };
    IG_TRAITS(place, place)
    I at;
    F f;
    transform_output_iterator(I i, F g) : at(i), f(g) {}
    place operator*() const { return {at, f}; }
    transform_output_iterator &operator+=(ptrdiff_t n) { return at += n, *this; }
    friend ptrdiff_t operator-(const transform_output_iterator &a, const transform_output_iterator &b)
    {
        return a.at - b.at;
    }
};
template <typename I, typename F> transform_output_iterator<F, I> make_transform_output_iterator(I i, F f)
{
    return {i, f};
}

template <typename E, typename I> struct permutation_iterator : ig_steps<permutation_iterator<E, I>> {
    IG_TRAITS(typename std::iterator_traits<E>::value_type, typename std::iterator_traits<E>::reference)
    E elements;
    I at;
    permutation_iterator(E e, I i) : elements(e), at(i) {}
    reference operator*() const { return elements[(ptrdiff_t)*at]; }
    permutation_iterator &operator+=(ptrdiff_t n) { return at += n, *this; }
    friend ptrdiff_t operator-(const permutation_iterator &a, const permutation_iterator &b) { return a.at - b.at; }
};
template <typename E, typename I> permutation_iterator<E, I> make_permutation_iterator(E e, I i) { return {e, i}; }

template <typename T> struct zip_iterator;
template <typename... I> struct zip_iterator<tuple<I...>> : ig_steps<zip_iterator<tuple<I...>>> {
    typedef tuple<typename std::iterator_traits<I>::value_type...> values;
    typedef tuple<typename std::iterator_traits<I>::reference...> references;
    IG_TRAITS(values, references)
    tuple<I...> at;
    zip_iterator() = default;
    zip_iterator(tuple<I...> i) : at(i) {}
    references operator*() const
    {
        return std::apply([](const I &...i) { return references(*i...); }, at);
    }
    const tuple<I...> &get_iterator_tuple() const { return at; }
    zip_iterator &operator+=(ptrdiff_t n)
    {
        std::apply([n](I &...i) { ((i += n), ...); }, at);
        return *this;
    }
    friend ptrdiff_t operator-(const zip_iterator &a, const zip_iterator &b)
    {
        return std::get<0>(a.at) - std::get<0>(b.at);
    }
};
template <typename... I> zip_iterator<tuple<I...>> make_zip_iterator(tuple<I...> i) { return {i}; }
template <typename... I> zip_iterator<tuple<I...>> make_zip_iterator(I... i) { return {std::make_tuple(i...)}; }
template <typename F> struct zip_function {
    F f;
    explicit zip_function(F g) : f(g) {}
    template <typename T> decltype(auto) operator()(T &&t) { return std::apply(f, std::forward<T>(t)); }
};
template <typename F> zip_function<F> make_zip_function(F f) { return zip_function<F>(f); }

template <typename I> using reverse_iterator = std::reverse_iterator<I>;
using std::make_reverse_iterator;
template <typename I> using iterator_traits = std::iterator_traits<I>;
template <typename I> struct iterator_value {
    typedef typename std::iterator_traits<I>::value_type type;
};
template <typename I> struct iterator_difference {
    typedef ptrdiff_t type;
};
template <typename I> using iterator_value_t = typename iterator_value<I>::type;
} // namespace thrust

#endif
