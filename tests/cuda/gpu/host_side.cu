// Host code of all kinds around kernels: none of it reaches the device's compiler, and what kernels need does.
/* expect:
sum 10 of 4 in 'first', checksum 6
scaled 2 4 6 8
kinds 1 4 9, table 30
picked 12, limit 8, area 12
walls 3, level 2
log: made 2 reports
*/
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace std;
using namespace std::chrono;
using Clock = steady_clock;
typedef std::map<std::string, int> Counts;
template <typename T> using List = std::vector<T>;

#define CHECK(call)                                                                                \
    do {                                                                                           \
        cudaError_t e = (call);                                                                    \
        if (e != cudaSuccess) {                                                                    \
            std::cerr << __FILE__ << ":" << __LINE__ << " " << cudaGetErrorString(e) << std::endl; \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define REPORT(name)                                                                               \
    static void report_##name(std::ostream &out)                                                   \
    {                                                                                              \
        out << #name;                                                                              \
    }
#define SQUARE(x) ((x) * (x))

static std::mutex guard;
static Counts counts = {{"reports", 0}};
const int WIDTH = SQUARE(2);
const std::string TITLE = "first";
const int FROM_HOST = std::max(3, 4);
__constant__ float weights[3] = {1, 4, 9};
static const float *const host_weights = new float[3]{1, 4, 9};
constexpr int twice(int x) { return 2 * x; }
constexpr int LIMIT = twice(WIDTH);
enum class Kind : int { Plain = 1, Square = 2 };
int host_counter = 0;
float (*chosen)(float) = nullptr;
extern "C" {
int c_function(int x);
}

REPORT(one)
REPORT(two)

/* A class of the host's that shares its file with kernels. */
class Logger
{
  public:
    explicit Logger(const std::string &path) : path_(path), stream_() {}
    ~Logger() { stream_ << "end"; }
    void write(const std::string &line)
    {
        std::lock_guard<std::mutex> lock(guard);
        stream_ << line << '\n';
        counts["reports"]++;
    }

  private:
    std::string path_;
    std::ostringstream stream_;
};

/* One that both sides use, with functions for either. */
struct Span {
    const int *data;
    int n;
    Span(const int *d, int count) : data(d), n(count) { host_counter++; }
    Span(const List<int> &v) : Span(v.data(), (int)v.size()) {}
    __host__ __device__ int size() const { return n; }
    __device__ int at(int i) const { return data[i]; }
    std::string text() const
    {
        std::ostringstream s;
        s << n << " of " << TITLE;
        return s.str();
    }
    friend std::ostream &operator<<(std::ostream &out, const Span &s) { return out << s.text(); }
    int checksum() const;
    static int made() { return host_counter; }
};
int Span::checksum() const { return n + 2; }

struct Shape {
    __host__ __device__ Shape(int w, int h) : width(w), height(h) {}
    int width, height;
    __host__ __device__ int area() const { return width * height; }
#ifdef __CUDA_ARCH__
    __device__ int walls() const { return 3; }
#else
    int walls() const { return (int)std::string("abc").size(); }
#endif
};

/* Names of the host's library for other things. */
struct stack {
    int top, queue[2], list;
    stack *below;
};

template <typename T> struct Scale {
    T by;
    __device__ T operator()(T x) const { return x * by; }
};

namespace detail
{
template <typename T> __device__ T pick(T a, T b, Kind k) { return k == Kind::Plain ? a : b; }
template <typename T> void print(const char *name, const List<T> &v)
{
    std::cout << name;
    for (const auto &x : v)
        std::cout << ' ' << x;
    std::cout << std::endl;
}
} // namespace detail

__global__ void sum(Span s, int *out)
{
    int total = 0;
    for (int i = 0; i < s.size(); i++)
        total += s.at(i);
    *out = total;
}
template <typename T, typename F> __global__ void apply(T *x, F f)
{
    x[threadIdx.x] = f(x[threadIdx.x]);
}
template <Kind K> __global__ void kinds(float *out, float *all)
{
    out[threadIdx.x] = K == Kind::Square ? weights[threadIdx.x] : 0;
    if (threadIdx.x == 0)
        *all = weights[0] + weights[1] + weights[2] + 16;
}
__global__ void picks(int *out, Shape shape)
{
    out[0] = detail::pick(12, 13, Kind::Plain);
    out[1] = LIMIT < 100 ? LIMIT : 100;
    out[2] = shape.area();
    out[3] = shape.walls();
    stack s = {7, {1, 2}, 3, nullptr};
    out[4] = s.queue[1] != s.top - 5 ? 0 : std::is_same<decltype(out), int *>::value ? 2 : 1;
}

auto later = [](int x) -> int { return x + host_counter; };
int c_function(int x) { return later(x); }
auto trailing(const std::vector<int> &v) -> decltype(v.size()) { return v.size(); }
#if defined(NOT_DEFINED)
void never(std::unique_ptr<int> p) { std::cout << *p; }
#endif

template <typename T> class Buffer
{
    T *at_ = nullptr;
    std::unique_ptr<int> owner_;

  public:
    explicit Buffer(size_t n) { CHECK(cudaMalloc(&at_, n * sizeof(T))); }
    ~Buffer() { cudaFree(at_); }
    Buffer(const Buffer &) = delete;
    operator T *() const { return at_; }
};

int main(int argc, char **argv)
{
    List<int> v(4);
    std::iota(v.begin(), v.end(), 1);
    Buffer<int> d(8), out(8);
    CHECK(cudaMemcpy(d, v.data(), 16, cudaMemcpyHostToDevice));
    Span span(d, (int)trailing(v));
    sum<<<1, 1>>>(span, out);
    int total, five[5];
    CHECK(cudaMemcpy(&total, out, 4, cudaMemcpyDeviceToHost));
    printf("sum %d of %d in '%s', checksum %d\n", total, span.size(), TITLE.c_str(), span.checksum());
    apply<<<1, 4>>>((int *)d, Scale<int>{2});
    CHECK(cudaMemcpy(v.data(), d, 16, cudaMemcpyDeviceToHost));
    detail::print("scaled", v);
    Buffer<float> f(4);
    kinds<Kind::Square><<<1, 3>>>(f, f + 3);
    float g[4];
    CHECK(cudaMemcpy(g, f, 16, cudaMemcpyDeviceToHost));
    printf("kinds %g %g %g, table %g\n", g[0], g[1], g[2], g[3]);
    picks<<<1, 1>>>(out, Shape(3, FROM_HOST));
    CHECK(cudaMemcpy(five, out, sizeof five, cudaMemcpyDeviceToHost));
    printf("picked %d, limit %d, area %d\n", five[0], five[1], five[2]);
    printf("walls %d, level %d\n", five[3], five[4]);
    Logger log("nowhere");
    for (auto report : {report_one, report_two}) {
        std::ostringstream s;
        report(s);
        log.write(s.str());
    }
    printf("log: made %d reports\n", counts["reports"]);
    return argc > 5 || argv == nullptr;
}
