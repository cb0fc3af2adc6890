struct bits { int a : 3; };
struct counted { int n; __device__ int twice() { return 2 * n; } };
struct base { int n; };
struct derived : base { int m; };
struct later;
__global__ void fields(bits *b) { b->a = 1; }
__global__ void unknown(base *b) { b->m = 1; }
__global__ void inherited(derived *b) { b->m = 1; }
__global__ void incomplete(later *l) { l->x = 1; }
__global__ void operated(base *b) { b[0] = b[1] + b[2]; }
__global__ void too_many(base *b) { b[0] = base{1, 2}; }
