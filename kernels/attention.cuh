/* Definitions that the kernels of attention share; included after hopper.cuh and the definitions of
 * attention.cu. */
typedef unsigned short half_bits;

/* The warpgroup that copies gives its registers to those that compute. */
static __device__ __forceinline__ void fewer_registers(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
}

static __device__ __forceinline__ void more_registers(void)
{
#if WGS == 3
    asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
#else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
#endif
}

/* Two values in 32 bits, the first below. */
static __device__ __forceinline__ unsigned pack_two(float low, float high)
{
    unsigned both;
#if IS_F16
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#endif
    return both;
}

static __device__ __forceinline__ float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ __forceinline__ float log2_fast(float x)
{
    float y;
    asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* The panel that begins `bytes` after another one. */
static __device__ __forceinline__ unsigned long long panel_at(unsigned long long panel, int bytes)
{
    return (panel & 0xffffffff00000000ull) | ((unsigned)panel + (unsigned)bytes / 16);
}

/* d = a b^T, or d += a b^T: 64 x N sums, of which a thread has N / 2. Both panels have k inside. */
static __device__ __forceinline__ void multiply_panels(float (&d)[64], unsigned long long a,
                                                       unsigned long long b, int add)
{
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" R64
                 "}, %64, %65, add, 1, 1, 0, 0;\n}"
                 : D64(0)
                 : "l"(a), "l"(b), "r"(add));
}

static __device__ __forceinline__ void multiply_panels(float (&d)[32], unsigned long long a,
                                                       unsigned long long b, int add)
{
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " {" R32
                 "}, %32, %33, add, 1, 1, 0, 0;\n}"
                 : D16(0), D16(16)
                 : "l"(a), "l"(b), "r"(add));
}

/* d += a b: 64 x N sums; a is in registers, rows of the panel of b are points of k. */
static __device__ __forceinline__ void multiply_registers(float (&d)[32], const unsigned *a,
                                                          unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " {" R32
                 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;\n"
                 : D16(0), D16(16)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

static __device__ __forceinline__ void multiply_registers(float (&d)[64], const unsigned *a,
                                                          unsigned long long b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " {" R64
                 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;\n"
                 : D64(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

/* Starts d = a b^T over DIM elements: 64 rows of a, which has A_ROWS rows, and the B_ROWS rows of b. */
template <int A_ROWS, int B_ROWS>
static __device__ __forceinline__ void start_products(float (&d)[B_ROWS / 2], unsigned a, unsigned b)
{
    const unsigned long long first_a = panel_of<1>(a, 0), first_b = panel_of<1>(b, 0);
    multiply_begin();
#pragma unroll
    for (int i = 0; i < DIM / 16; i++)
        multiply_panels(d, panel_at(first_a, i / 4 * (A_ROWS * 128) + i % 4 * 32),
                        panel_at(first_b, i / 4 * (B_ROWS * 128) + i % 4 * 32), i > 0);
    multiply_commit();
}

/* Starts d += a b: a has 64 x K elements in registers, b has K rows of DIM elements. */
template <int K>
static __device__ __forceinline__ void start_sums(float (&d)[DIM / 2], const unsigned (&a)[K / 4],
                                                  unsigned b)
{
    const unsigned long long first = panel_of<0>(b, K * 128);
    multiply_begin();
#pragma unroll
    for (int i = 0; i < K / 16; i++)
        multiply_registers(d, a + 4 * i, panel_at(first, i * 2048));
    multiply_commit();
}

/* 64 x N sums as the left operand of the next product. */
template <int N>
static __device__ __forceinline__ void pack_all(const float (&s)[N / 2], unsigned (&p)[N / 4])
{
#pragma unroll
    for (int i = 0; i < N / 4; i++)
        p[i] = pack_two(s[2 * i], s[2 * i + 1]);
}

/* Waits for the tiles of step j, if there is one. It stands between arithmetic and the wait for products that run
 * at the same time. Without a branch between the two, the compiler moves the wait before the arithmetic, and nothing
 * overlaps. */
template <int STAGES>
static __device__ __forceinline__ void await_step(unsigned full, unsigned j, unsigned steps)
{
    if (j < steps)
        barrier_wait(full + j % STAGES * 8, j / STAGES & 1);
}

/* A row's part of a thread: elements DIM / 8 * 2, of which r says which of the two rows. */
static __device__ __forceinline__ void write_row(const float (&x)[DIM / 2], int r, float factor,
                                                 half_bits *to, int dim)
{
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int j = 0; j < DIM / 8; j++) {
        const int col = j * 8 + lane % 4 * 2;
        const unsigned both = pack_two(x[4 * j + 2 * r] * factor, x[4 * j + 2 * r + 1] * factor);
        if (dim % 2 == 0) {
            if (col < dim)
                *(unsigned *)(to + col) = both;
        } else {
            if (col < dim)
                to[col] = (half_bits)both;
            if (col + 1 < dim)
                to[col + 1] = (half_bits)(both >> 16);
        }
    }
}
