__global__ void twice(int n) { int n2 = n; float n2 = 1; }
__global__ void size(int n) { float a[n]; }
__global__ void reference(int n) { float &r = n; }
__global__ void value(int n) { int &r = n + 1; }
__global__ void automatic() { auto x; }
__global__ void changing() { constexpr int x = 3; x = 4; }
__global__ void not_constant(int n) { constexpr int x = n; }
__global__ void kept() { static int calls; calls++; }
__global__ void asserted() { static_assert(sizeof(int) == 8, "int is small"); }
__global__ void huge() { float a[1 << 30][1 << 20]; }
