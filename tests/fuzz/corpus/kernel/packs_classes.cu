template <typename... Ts> struct List { static constexpr int size = sizeof...(Ts); };
template <typename L> struct Bytes;
template <typename... Ts> struct Bytes<List<Ts...>> { static constexpr int value = (0 + ... + (int)sizeof(Ts)); };
template <typename T, typename... Rest> struct Tuple { T head; Tuple<Rest...> tail; };
template <typename T> struct Tuple<T> { T head; };
template <int N, typename T, typename... Rest> struct Nth { using type = typename Nth<N - 1, Rest...>::type; };
template <typename T, typename... Rest> struct Nth<0, T, Rest...> { using type = T; };
template <int... Is> struct Seq {};
template <int N, int... Is> struct Make : Make<N - 1, N - 1, Is...> {};
template <int... Is> struct Make<0, Is...> { using type = Seq<Is...>; };
template <int... Is> __device__ float weigh(const float *x, Seq<Is...>) { return ((x[Is] * (Is + 1)) + ...); }
template <typename T> __device__ float total(const Tuple<T> &t) { return t.head; }
template <typename T, typename U, typename... R> __device__ float total(const Tuple<T, U, R...> &t) { return t.head + total(t.tail); }
template <typename... Ops> struct Chain;
template <> struct Chain<> { __device__ static float run(float x) { return x; } };
template <typename Op, typename... Rest> struct Chain<Op, Rest...> { __device__ static float run(float x) { return Chain<Rest...>::run(Op::apply(x)); } };
struct Twice { __device__ static float apply(float x) { return 2 * x; } };
struct Inc { __device__ static float apply(float x) { return x + 1; } };
__global__ void k(float *out) {
    out[0] = List<int, float, char>::size;
    out[1] = Bytes<List<int, double, char>>::value;
    Tuple<int, float, char> t = {1, {2.5f, {3}}};
    out[2] = t.head + t.tail.head + t.tail.tail.head;
    Nth<1, int, float, char>::type f = 2.75f;
    out[3] = f;
    float x[3] = {1, 10, 100};
    out[4] = weigh(x, Make<3>::type());
    out[5] = total(t);
    out[6] = Chain<Twice, Inc, Twice>::run(3);
}
