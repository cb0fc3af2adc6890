struct bits { int a : 3; };
struct counted { int n; template <int M> __device__ int times() { return M * n; } __device__ int get() const { return n; } int host() { return n; } };
struct made { int n; __device__ made(int a, int b) : n(a + b) {} };
struct copied { int n; __device__ copied(const copied &o) { n = o.n + 1; } };
struct ended { int n; __device__ ~ended() { n = 0; } };
struct base { int n; };
struct derived : base { int m; };
struct later;
__global__ void fields(bits *b) { b->a = 1; }
__global__ void template_member(counted *c) { c->n = c->times<2>(); }
__global__ void no_member(counted *c) { c->n = c->missing(); }
__global__ void host_member(counted *c) { c->n = c->host(); }
__global__ void const_member(const counted *c) { c->n = c->get(); }
__global__ void not_made(made *m) { m[0] = made(1); made n; }
__global__ void copy(copied *c) { c->n = 1; }
__global__ void destroyed(ended *e) { e->n = 1; }
__global__ void unknown(base *b) { b->m = 1; }
__global__ void inherited(derived *b) { b->m = 1; }
__global__ void incomplete(later *l) { l->x = 1; }
__global__ void operated(base *b) { b[0] = b[1] + b[2]; }
__global__ void too_many(base *b) { b[0] = base{1, 2}; }
