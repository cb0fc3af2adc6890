typedef float real;
using index = unsigned int;
typedef struct { real x, y; } pair;
enum { zero, five = 5, six };
enum class color : unsigned char { red = 1, green };
constexpr int size(int n) { int s = 1; for (int i = 0; i < n; i++) s *= 2; return s; }
const int width = size(3) + six;
static const float table[2][3] = {{1, 2}, {4, 5, 6}};
static_assert(width == 14, "computed by a loop");
__global__ void types(real *x, index n, pair p, color c)
{
    auto v = x[n];
    auto *q = x;
    const auto &r = x[1];
    float a[width], b[] = {1, 2, 3}, m[2][2] = {1, 2, 3};
    bool is = c == color::green;
    a[0] = b[five - 3] + m[1][0] + r + p.x;
    q[is] = v + a[0] + static_cast<int>(c) + sizeof(a) + alignof(double);
    long long big = 1LL << 40;
    x[0] = big + 'a' + 0x1p3f + 1e3f;
}
__global__ void tables(float *x, int i) { x[i] = table[1][i] + width; static const int odd[] = {1, 3}; x[0] = odd[i]; }
__global__ void references(float *x)
{
    float &first = x[0];
    const int &seven = 7;
    first += seven;
    int (&row)[2] = *(int (*)[2])x;
    row[1] = 3;
}
