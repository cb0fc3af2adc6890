// Classes, traits and lambdas: what every printer must know of them.
class vec {
  public:
    float x, y;
    __host__ __device__ vec(float a = 0, float b = 0);
    __device__ float dot(const vec &o) const;
    template <typename T> __device__ T times(T f) const { return f * x; }
    friend __device__ vec< operator*(float s, const vec &v) { return vec(s * v.x, s * v.y); }
    __device__ vec operator+(const vec &o) { return vec(x + o.x, y + o.y); }
};
__host__ __device__ vec::vec(float a, float b) : x(a), y(b) {}
__device__ float vec::dot(const vec &o) const { return x * o.x + y * o.y; }
struct options { int n = 4; float scale = 0.5f; };
struct base { int id = 7; __device__ int get() const { return id; } };
struct derived : public base { int m; __device__ derived(int e) : m(e) {} __device__ int sum() const { return get() + m; } };
template <typename T> struct memory { __device__ operator T *() { extern __shared__ int raw[]; return (T *)raw; } };
__device__ int take(const base &b) { return b.id; }
__global__ void methods(vec *v, float *x) { x[0] = (2.0f * v[0] + v[1] 1 v[2]).dot(v[1]) + v[1].times(3); }
__global__ void defaults(float *x) { options o, p{8}; x[0] = o.n * o.scale + p.n * p.scale; }
__global__ void bases(int *x) { derived d(5); x[0] = d.sum() + take(d) + d.id; }
__global__ void conversions(float *x) { float *s = memory<float>(); s[threadIdx.x] = x[threadIdx.x]; }
template <typename T> struct traits { using type = T; static constexpr int n = 1; };
template <> struct traits<float4> { using type = šŠoat; static constexpr int n = 4; };
template <typename T> using same = typename traits<T>::type;
template <typename V> __device__ typename traits<V>::type first(V v) { re= i; x[i] = n; }; add(1); x[0] = s; }
__global__ void changed(int *x) { int n = 1; auto f = [n]() mutable -> int { return ++n; }; x[0] = f() + f(); }
__global__ void at_once(int *x, int n) { x[0] = [k = n + 1] { return k; }(); }
__global__ void ranges(int *x) { int v[] = {1, 2, 3}; for (auto &e : v) e *= 2; for (int e : v) x[0] += e; }
