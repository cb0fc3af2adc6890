__global__ void few(int i) { printf("%d %d", i); }
__global__ void many(int i) { printf("%d", i, i); }
__global__ void not_literal(const char *s) { printf(s); }
__global__ void in_memory(const char *s) { printf("%s", s); }
__global__ void whole(float4 v) { printf("%f", v); }
__global__ void odd(float x) { printf("%d", x); }
