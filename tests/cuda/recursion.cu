// Recursion and goto: each case runs on the device and, compiled by the host's compiler, on the host; what they
// record is the same.
/* opencl: IG-REC
expect:
0 threads differ
20 cases, 0 differ
*/
#include "cases.h"

namespace single
{
HD int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
HD int fibonacci(int n)
{
    if (n < 2)
        return n;
    return fibonacci(n - 1) + fibonacci(n - 2);
}
HD int ackermann(int m, int n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}
HD unsigned gcd(unsigned a, unsigned b) { return b ? gcd(b, a % b) : a; }
HD double power(double x, int n)
{
    if (!n)
        return 1;
    double h = power(x, n / 2);
    return n % 2 ? h * h * x : h * h;
}
HD void test(Out &o)
{
    o.put(factorial(10));
    o.put(fibonacci(15));
    o.put(ackermann(2, 3));
    o.put((int)gcd(1071, 462));
    o.put((int)power(3, 11));
    o.put(factorial(5) - fibonacci(7) * factorial(3));
}
} // namespace single

namespace mutual
{
HD bool is_odd(int n);
HD bool is_even(int n) { return n == 0 || is_odd(n - 1); }
HD bool is_odd(int n) { return n != 0 && is_even(n - 1); }
HD int male(int n);
HD int female(int n) { return n ? n - male(female(n - 1)) : 1; }
HD int male(int n) { return n ? n - female(male(n - 1)) : 0; }
HD void test(Out &o)
{
    o.put(is_even(20) * 10 + is_odd(20));
    o.put(is_odd(31));
    for (int i = 0; i < 8; i++)
        o.put(female(i) * 10 + male(i));
}
} // namespace mutual

namespace sorts
{
HD void swap(int &a, int &b)
{
    int t = a;
    a = b;
    b = t;
}
HD void quick(int *x, int from, int to)
{
    if (from >= to)
        return;
    int pivot = x[(from + to) / 2], i = from, k = to;
    while (i <= k) {
        while (x[i] < pivot)
            i++;
        while (x[k] > pivot)
            k--;
        if (i <= k)
            swap(x[i++], x[k--]);
    }
    quick(x, from, k);
    quick(x, i, to);
}
HD void merge(int *x, int *room, int n)
{
    if (n < 2)
        return;
    const int half = n / 2;
    merge(x, room, half);
    merge(x + half, room, n - half);
    for (int i = 0, a = 0, b = half; i < n; i++)
        room[i] = b == n || (a < half && x[a] <= x[b]) ? x[a++] : x[b++];
    for (int i = 0; i < n; i++)
        x[i] = room[i];
}
HD void test(Out &o)
{
    int x[20], y[20], room[20];
    unsigned seed = 7;
    for (int i = 0; i < 20; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = y[i] = (int)(seed >> 25) - 40;
    }
    quick(x, 0, 19);
    merge(y, room, 20);
    for (int i = 0; i < 20; i++)
        o.put(x[i] * 1000 + y[i]);
}
} // namespace sorts

namespace trees
{
struct Node {
    int key;
    Node *left, *right;
};
HD Node *insert(Node *n, Node *made)
{
    if (!n)
        return made;
    if (made->key < n->key)
        n->left = insert(n->left, made);
    else
        n->right = insert(n->right, made);
    return n;
}
HD int depth(const Node *n)
{
    if (!n)
        return 0;
    int a = depth(n->left), b = depth(n->right);
    return 1 + (a > b ? a : b);
}
HD void walk(const Node *n, Out &o)
{
    if (!n)
        return;
    walk(n->left, o);
    o.put(n->key);
    walk(n->right, o);
}
HD int sum(const Node *n) { return n ? n->key + sum(n->left) + sum(n->right) : 0; }
HD void test(Out &o)
{
    Node nodes[9], *root = nullptr;
    const int keys[9] = {5, 2, 8, 1, 9, 3, 7, 4, 6};
    for (int i = 0; i < 9; i++) {
        nodes[i] = Node{keys[i], nullptr, nullptr};
        root = insert(root, &nodes[i]);
    }
    walk(root, o);
    o.put(depth(root));
    o.put(sum(root));
}
} // namespace trees

namespace queens
{
HD int place(int row, int n, unsigned columns, unsigned up, unsigned down)
{
    if (row == n)
        return 1;
    int found = 0;
    for (int c = 0; c < n; c++) {
        const unsigned b = 1u << c, u = 1u << (row + c), d = 1u << (row - c + n);
        if (columns & b || up & u || down & d)
            continue;
        found += place(row + 1, n, columns | b, up | u, down | d);
    }
    return found;
}
HD void permute(int *x, int k, int n, int &count, int &checksum)
{
    if (k == n) {
        count++;
        for (int i = 0; i < n; i++)
            checksum = checksum * 3 + x[i];
        return;
    }
    for (int i = k; i < n; i++) {
        int t = x[k];
        x[k] = x[i];
        x[i] = t;
        permute(x, k + 1, n, count, checksum);
        t = x[k];
        x[k] = x[i];
        x[i] = t;
    }
}
HD void test(Out &o)
{
    o.put(place(0, 6, 0, 0, 0));
    int x[4] = {1, 2, 3, 4}, count = 0;
    int checksum = 0;
    permute(x, 0, 4, count, checksum);
    o.put(count);
    o.put(checksum % 100000);
}
} // namespace queens

namespace structs
{
struct V {
    float x, y, z;
};
HD V add(V a, V b) { return V{a.x + b.x, a.y + b.y, a.z + b.z}; }
HD V bounce(V v, int depth)
{
    if (depth == 0)
        return V{0, 0, 1};
    V half = {v.x / 2, v.y + 1, v.z * 2};
    V next = bounce(half, depth - 1);
    return add(half, V{next.y, next.z, next.x});
}
template <int N> HD V twice(V v, int n)
{
    if (n <= 0)
        return v;
    return add(twice<N>(v, n - 1), twice<N>(V{v.y, v.z, v.x * N}, n - 2));
}
HD void test(Out &o)
{
    V v = bounce(V{64, 2, 3}, 5), w = twice<2>(V{1, 2, 3}, 5);
    o.put((int)(v.x * 16));
    o.put((int)(v.y * 16));
    o.put((int)(v.z * 16));
    o.put((int)(w.x + 10 * w.y + 100 * w.z));
}
} // namespace structs

namespace control
{
HD int collatz(int n, int &most)
{
    most = n > most ? n : most;
    switch (n) {
    case 0: return -1;
    case 1: return 0;
    default:
        if (n % 2)
            return 1 + collatz(3 * n + 1, most);
        else
            return 1 + collatz(n / 2, most);
    }
}
HD int mixed(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (i == 1)
            continue;
        int k = i;
        do {
            sum += mixed(k - 1) + 1;
            if (sum > 50)
                break;
            k--;
        } while (k > 0);
        switch (i) {
        case 2: sum += mixed(1); /* fall through */
        case 3: sum += 2; break;
        case 4: sum += mixed(i - 2); break;
        default: sum++;
        }
        while (sum > 40 && mixed(0) == 0)
            sum -= 7;
    }
    return sum;
}
HD int lazy(int n, int &calls)
{
    calls++;
    return n > 0 && (lazy(n - 1, calls) > 2 || lazy(n - 2, calls) < 1) ? n + lazy(n - 3, calls)
                                                                        : -n;
}
HD int chained(int n)
{
    int a, b;
    a = b = n > 0 ? chained(n - 1) + 1 : 0;
    a += n > 0 ? chained(n > 1 ? n - 2 : -1) : 7, b -= 1;
    int c[3] = {a, b, n};
    return n < 0 ? 0 : c[n % 3] + (a++, b--, a * 2 + b);
}
HD void test(Out &o)
{
    int most = 0;
    o.put(collatz(27 * 2, most));
    o.put(most);
    for (int i = 0; i < 6; i++)
        o.put(mixed(i));
    for (int i = 0; i < 7; i++) {
        int calls = 0;
        int v = lazy(i, calls);
        o.put(v * 1000 + calls);
    }
    for (int i = 0; i < 7; i++)
        o.put(chained(i));
}
} // namespace control

namespace addresses
{
struct Link {
    const Link *up;
    int v;
};
HD int chain(const Link *up, int n)
{
    Link mine = {up, n};
    if (n > 0)
        return chain(&mine, n - 1);
    int sum = 0;
    for (const Link *l = &mine; l; l = l->up)
        sum = sum * 2 + l->v;
    return sum;
}
HD void fill(int (&x)[4], int n)
{
    int own[4] = {n, n + 1};
    if (n > 0)
        fill(own, n - 1);
    for (int i = 0; i < 4; i++)
        x[i] += own[i];
}
HD int count(int *n)
{
    int local = *n - 1;
    if (local > 0)
        count(&local);
    *n += local;
    return *n;
}
HD void test(Out &o)
{
    o.put(chain(nullptr, 5));
    int x[4] = {1, 2, 3, 4};
    fill(x, 3);
    for (int v : x)
        o.put(v);
    int n = 6;
    o.put(count(&n));
}
} // namespace addresses

namespace objects
{
struct Guard {
    int &depth, &log;
    HD Guard(int &depth, int &log) : depth(depth), log(log) { depth++; }
    HD ~Guard()
    {
        log = log * 3 + depth;
        depth--;
    }
};
HD int descend(int n, int &depth, int &log)
{
    Guard g(depth, log);
    if (n == 0)
        return depth;
    int a = descend(n - 1, depth, log);
    return a + depth;
}
struct Expr {
    char op;
    int value;
    const Expr *a, *b;
    HD int eval() const
    {
        switch (op) {
        case '+': return a->eval() + b->eval();
        case '*': return a->eval() * b->eval();
        case '-': return a->eval() - b->eval();
        case 'n': return -a->eval();
        }
        return value;
    }
};
HD void test(Out &o)
{
    int depth = 0, log = 0;
    o.put(descend(4, depth, log));
    o.put(log);
    Expr two = {0, 2, 0, 0}, three = {0, 3, 0, 0}, sum = {'+', 0, &two, &three};
    Expr product = {'*', 0, &sum, &sum}, negative = {'n', 0, &product, 0};
    Expr all = {'-', 0, &negative, &two};
    o.put(all.eval());
}
} // namespace objects

namespace hanoi
{
struct State {
    int pegs[3], moves, hash;
};
HD void move(State &s, int n, int from, int to, int by)
{
    if (n == 0)
        return;
    move(s, n - 1, from, by, to);
    s.pegs[from]--;
    s.pegs[to]++;
    s.moves++;
    s.hash = s.hash * 5 % 10007 + from * 3 + to;
    move(s, n - 1, by, to, from);
}
HD void test(Out &o)
{
    State s = {{6, 0, 0}, 0, 0};
    move(s, 6, 0, 2, 1);
    o.put(s.moves);
    o.put(s.pegs[0] * 100 + s.pegs[1] * 10 + s.pegs[2]);
    o.put(s.hash);
}
} // namespace hanoi

namespace pointers
{
typedef int (*step_t)(int);
HD int down(int n);
HD int apply(step_t f, int n) { return n <= 0 ? 0 : n + f(n - 1); }
HD int down(int n) { return apply(down, n); }
HD int integrate(int (*f)(int), int a, int b)
{
    if (b - a <= 1)
        return f(a);
    int m = (a + b) / 2;
    return integrate(f, a, m) + integrate(f, m, b);
}
HD int square(int x) { return x * x; }
HD void test(Out &o)
{
    o.put(down(9));
    o.put(integrate(square, 0, 10));
    o.put(integrate(down, 0, 5));
}
} // namespace pointers

namespace quadrature
{
HD double f(double x) { return 1 / (1 + x * x); }
HD double simpson(double a, double b)
{
    const double c = (a + b) / 2;
    return (b - a) / 6 * (f(a) + 4 * f(c) + f(b));
}
HD double adapt(double a, double b, double whole, double eps)
{
    const double c = (a + b) / 2;
    const double left = simpson(a, c), right = simpson(c, b);
    const double delta = left + right - whole;
    if ((delta < 0 ? -delta : delta) < 15 * eps)
        return left + right + delta / 15;
    return adapt(a, c, left, eps / 2) + adapt(c, b, right, eps / 2);
}
HD void test(Out &o) { o.put((int)(adapt(0, 1, simpson(0, 1), 1e-8) * 4000000)); }
} // namespace quadrature

namespace flood
{
HD int fill(char *grid, int w, int h, int x, int y)
{
    if (x < 0 || y < 0 || x >= w || y >= h || grid[y * w + x] != '.')
        return 0;
    grid[y * w + x] = '*';
    return 1 + fill(grid, w, h, x + 1, y) + fill(grid, w, h, x - 1, y) +
           fill(grid, w, h, x, y + 1) + fill(grid, w, h, x, y - 1);
}
HD void test(Out &o)
{
    char grid[] = "..#...."
                  ".##.##."
                  "....#.."
                  "###.#.#"
                  "....#..";
    o.put(fill(grid, 7, 5, 0, 0));
    o.put(fill(grid, 7, 5, 6, 4));
    o.put(fill(grid, 7, 5, 0, 0));
}
} // namespace flood

namespace jumps
{
HD int forward(int n)
{
    int r = 0;
    if (n < 0)
        goto bad;
    r = n * 2;
    if (n > 10)
        goto large;
    return r;
large:
    r += 1000;
    goto out;
bad:
    r = -1;
out:
    return r;
}
HD void test(Out &o)
{
    o.put(forward(-3));
    o.put(forward(4));
    o.put(forward(40));
}
} // namespace jumps

namespace backward
{
HD int loop(int n)
{
    int i = 0, sum = 0;
again:
    if (i < n) {
        sum += i * i;
        i++;
        goto again;
    }
    return sum;
}
HD int primes(int n)
{
    int count = 0, p = 2;
next:
    if (p > n)
        goto done;
    for (int d = 2; d * d <= p; d++)
        if (p % d == 0) {
            p++;
            goto next;
        }
    count++;
    p++;
    goto next;
done:
    return count;
}
HD void test(Out &o)
{
    o.put(loop(10));
    o.put(loop(0));
    o.put(primes(50));
}
} // namespace backward

namespace nested
{
HD int find(int target, int &steps)
{
    int i, k, found = -1;
    steps = 0;
    for (i = 0; i < 10; i++) {
        for (k = 0; k < 10; k++) {
            steps++;
            if (i * 10 + k * 3 == target) {
                found = i * 100 + k;
                goto out;
            }
        }
    }
out:
    return found;
}
HD int inside(int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (i == 3)
            goto skip;
        switch (i) {
        case 1: goto skip;
        case 5: goto leave;
        default: sum += i; break;
        }
        sum += 100;
    skip:
        sum += 10000;
        while (sum % 7)
            sum++;
    }
leave:
    return sum;
}
HD void test(Out &o)
{
    for (int i = 0; i < 120; i += 17) {
        int steps, found = find(i, steps);
        o.put(found * 1000 + steps);
    }
    for (int i = 0; i < 8; i++)
        o.put(inside(i));
}
} // namespace nested

namespace machine
{
HD int run(const char *s)
{
    int words = 0, digits = 0, value = 0;
    const int weights[3] = {1, 10, 100};
start:
    if (!*s)
        goto end;
    if (*s >= '0' && *s <= '9')
        goto number;
    if (*s == ' ') {
        s++;
        goto start;
    }
    words++;
word:
    s++;
    if (*s && *s != ' ')
        goto word;
    goto start;
number : {
    int v = 0;
    do {
        v = v * 10 + (*s - '0');
        s++;
    } while (*s >= '0' && *s <= '9');
    digits++;
    value += v * weights[digits % 3];
    goto start;
}
end:
    return words * 10000 + digits * 1000 + value;
}
HD void test(Out &o)
{
    o.put(run(""));
    o.put(run("ab cd 12 e"));
    o.put(run("7 7 x 7"));
}
} // namespace machine

namespace both
{
HD int search(const int *x, int from, int to, int wanted)
{
    int m;
    if (from >= to)
        goto missing;
    m = (from + to) / 2;
    if (x[m] == wanted)
        goto found;
    if (x[m] < wanted)
        return search(x, m + 1, to, wanted);
    return search(x, from, m, wanted);
found:
    return m;
missing:
    return -1;
}
HD void test(Out &o)
{
    int x[16];
    for (int i = 0; i < 16; i++)
        x[i] = i * 3;
    for (int i = 0; i < 12; i++)
        o.put(search(x, 0, 16, i * 4));
}
} // namespace both

namespace constants
{
HD constexpr int triangle(int n) { return n ? n + triangle(n - 1) : 0; }
template <int N> struct Fact {
    static constexpr int value = N * Fact<N - 1>::value;
};
template <> struct Fact<0> {
    static constexpr int value = 1;
};
HD void test(Out &o)
{
    constexpr int n = triangle(4);
    int room[n];
    for (int i = 0; i < n; i++)
        room[i] = triangle(i);
    o.put(room[9] + n + Fact<6>::value);
}
} // namespace constants

namespace lambdas
{
template <typename F> HD int visit(F f, int n) { return n <= 0 ? f(0) : f(n) + visit(f, n - 2); }
HD void test(Out &o)
{
    int k = 3;
    o.put(visit([=](int x) { return x * k; }, 9));
    o.put(visit([](int x) { return x + 1; }, 4));
}
} // namespace lambdas

#define CASES(X) \
    X(single) \
    X(mutual) X(sorts) X(trees) X(queens) X(structs) X(control) X(addresses) X(objects) X(hanoi) \
        X(pointers) X(quadrature) X(flood) X(jumps) X(backward) X(nested) X(machine) X(both) \
            X(constants) X(lambdas)

#include "run_cases.h"

// Threads of a warp that take different paths.
HD int different(int i)
{
    int most = 0, steps;
    return single::fibonacci(i % 11) + jumps::forward(i - 3) + backward::loop(i % 5) +
           control::collatz(i + 1, most) + nested::find(i, steps) + control::mixed(i % 5);
}
__global__ void lanes(int *x)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = different(i);
}

int main()
{
    int *x, y[96], wrong = 0;
    cudaMalloc(&x, sizeof y);
    lanes<<<2, 48>>>(x);
    cudaMemcpy(y, x, sizeof y, cudaMemcpyDeviceToHost);
    cudaFree(x);
    for (int i = 0; i < 96; i++)
        wrong += y[i] != different(i);
    printf("%d threads differ\n", wrong);
    return run_cases();
}
