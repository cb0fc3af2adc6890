template <typename T> struct Traits { static const int kind = 0; using value = T; };
template <typename T> struct Traits<T *> { static const int kind = 1; using value = T; };
template <typename T> struct Traits<const T *> { static const int kind = 2; using value = T; };
template <typename T, int N> struct Traits<T[N]> { static const int kind = 3 + N; using value = T; };
template <> struct Traits<double> { static const int kind = 50; using value = float; };
template <typename T> struct Traits<T &> { static const int kind = 70; using value = T; };
template <int B, int N> struct Pow { static const int value = B * Pow<B, N - 1>::value; };
template <int B> struct Pow<B, 0> { static const int value = 1; };
template <int N> struct Pow<2, N> { static const int value = 1 << N; };
template <> struct Pow<2, 0> { static const int value = 1; };
__global__ void k(float *out) {
    out[0] = Traits<float>::kind;
    out[1] = Traits<float *>::kind;
    out[2] = Traits<const float *>::kind;
    out[3] = Traits<float[5]>::kind;
    out[4] = Traits<double>::kind + sizeof(Traits<double>::value);
    out[5] = Traits<int &>::kind;
    out[6] = Pow<3, 4>::value;
    out[7] = Pow<2, 5>::value + Pow<2, 0>::value;
}
