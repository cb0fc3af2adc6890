const char *host = "abc"; constexpr char letter = "abc"[1];
__device__ int length(const char *s) { int n = 0; while (s[n]) n++; return n; }
__global__ void k(int *x) { const char *names[] = {"zero", "one"}; x[0] = "0123"[x[1] & 3] + length(x[0] ? "ab" : names[1]) + *("xy" + 1); printf("%s %s\n", names[x[0] & 1], __func__); if (!"no") x[0] = sizeof("abc"); }
