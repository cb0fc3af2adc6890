struct vec2 {
    float x, y;
    __device__ vec2() : x(0), y(0) {}
    __device__ vec2(float a, float b = 2) : x(a), y(b) { x += 1; }
    __device__ float dot(const vec2 &o) const { return x * o.x + y * o.y; }
    __device__ vec2 operator+(const vec2 &o) const { return vec2(x + o.x, y + o.y); }
    __device__ vec2 &operator+=(const vec2 &o) { x += o.x; this->y += o.y; return *this; }
    __device__ float &operator[](int i) { return i ? y : x; }
    __device__ float operator[](int i) const { return i ? y : x; }
    __device__ static vec2 ones() { return vec2(1, 1); }
    __device__ float twice() { return 2 * dot(*this); }
};
template <typename T, int N> struct packed {
    T v[N];
    static constexpr int size = N;
    packed() = default;
    __device__ explicit packed(T x) { for (int i = 0; i < size; i++) v[i] = x; }
    __device__ T &operator[](int i) { return v[i]; }
};
struct add { __device__ float operator()(float a, float b) const { return a + b; } };
template <typename Op> __device__ float fold(float *x, Op op) { return op(x[0], x[1]); }
__device__ float largest(float a, float b) { return a > b ? a : b; }
template <float (*f)(float, float)> __device__ float with(float x) { return f(x, 1); }
__global__ void made(float *x) { vec2 a(1, 2), b = a + vec2(3), c, d{4, 5}; b += c; b[0] = d.twice(); x[0] = b.y; }
__global__ void called(float *x, const vec2 *v) { x[0] = v->dot(v[1]) + v[0][1] + vec2::ones().x; }
__global__ void templates(float *x)
{
    packed<float, 4> p(2.0f), q;
    q[1] = p[2];
    x[0] = q.size + fold(x, add()) + with<largest>(x[1]);
    __shared__ vec2 s[2];
    s[0] += s[1];
}
