/* The minimax polynomials of math.cuh, printed by tests/math/minimax.py.
 * vm_poly_NAME_TYPE(x) is evaluated by Estrin's scheme: terms are joined in pairs, and the pairs in pairs, which
 * gives short chains of fma. vm_sums_NAME_TYPE(x) is x times a polynomial of degree 7, as two sums of four powers: no
 * term is a constant, so no sum begins with a copy of one. vm_row_NAME_TYPE(x) is evaluated by Horner's scheme. The script's
 * table says what each polynomial approximates, and under which weight. */

/* error 2^-26.2 */
static __device__ inline float vm_poly_exp_f32(float x)
{
    float a0 = fmaf(0x1.5554aep-3f, x, 0x1p-1f);
    float a1 = fmaf(0x1.122882p-7f, x, 0x1.555486p-5f);
    float x2 = x * x;
    float top = fmaf(0x1.6d996p-10f, x2, a1);
    float b0 = fmaf(top, x2, a0);
    return b0;
}

/* error 2^-55.6 */
static __device__ inline double vm_poly_exp_f64(double x)
{
    double a0 = fma(0x1.555555555555cp-3, x, 0x1.0000000000005p-1);
    double a1 = fma(0x1.111111110e675p-7, x, 0x1.5555555552093p-5);
    double a2 = fma(0x1.a01a01b5fa8b6p-13, x, 0x1.6c16c17f51f3dp-10);
    double a3 = fma(0x1.71dde9b4710b8p-19, x, 0x1.a019a631a0fabp-16);
    double a4 = fma(0x1.af77320b3aebdp-26, x, 0x1.28a3032a868dap-22);
    double x2 = x * x;
    double b0 = fma(a1, x2, a0);
    double b1 = fma(a3, x2, a2);
    double x4 = x2 * x2;
    double top = fma(a4, x4, b1);
    double c0 = fma(top, x4, b0);
    return c0;
}

/* error 2^-27.0 */
static __device__ inline float vm_poly_exp2_f32(float x)
{
    float a0 = fmaf(0x1.ebfbep-3f, x, 0x1.62e43p-1f);
    float a1 = fmaf(0x1.3b29e4p-7f, x, 0x1.c6af6cp-5f);
    float a2 = fmaf(0x1.446c7ep-13f, x, 0x1.5f089ep-10f);
    float x2 = x * x;
    float top = fmaf(a2, x2, a1);
    float b0 = fmaf(top, x2, a0);
    return b0;
}

/* error 2^-56.2 */
static __device__ inline double vm_poly_exp2_f64(double x)
{
    double a0 = fma(0x1.ebfbdff82c598p-3, x, 0x1.62e42fefa39efp-1);
    double a1 = fma(0x1.3b2ab6fba1ddap-7, x, 0x1.c6b08d704a0cbp-5);
    double a2 = fma(0x1.43091309700dcp-13, x, 0x1.5d87fe78a2d56p-10);
    double a3 = fma(0x1.62bfd47675c9ap-20, x, 0x1.ffcbfc741e29dp-17);
    double a4 = fma(0x1.e60641ce9034ep-28, x, 0x1.b524dceddf9b1p-24);
    double x2 = x * x;
    double b0 = fma(a1, x2, a0);
    double b1 = fma(a3, x2, a2);
    double b2 = fma(0x1.ea0410a6d77c8p-32, x2, a4);
    double x4 = x2 * x2;
    double top = fma(b2, x4, b1);
    double c0 = fma(top, x4, b0);
    return c0;
}

/* error 2^-27.3 */
static __device__ inline float vm_poly_log_f32(float x)
{
    float a0 = fmaf(-0x1.00022p-2f, x, 0x1.55554ap-2f);
    float a1 = fmaf(-0x1.54786cp-3f, x, 0x1.99a598p-3f);
    float a2 = fmaf(-0x1.0ce15ep-3f, x, 0x1.226e2ap-3f);
    float a3 = fmaf(-0x1.41ec36p-4f, x, 0x1.07d204p-3f);
    float x2 = x * x;
    float b0 = fmaf(a1, x2, a0);
    float b1 = fmaf(a3, x2, a2);
    float x4 = x2 * x2;
    float c0 = fmaf(b1, x4, b0);
    return c0;
}

/* error 2^-58.5 */
static __device__ inline double vm_poly_atanh_f64(double x)
{
    double a0 = fma(0x1.999999997fdb1p-2, x, 0x1.5555555555592p-1);
    double a1 = fma(0x1.c71c52084b56fp-3, x, 0x1.24924941f21eap-2);
    double a2 = fma(0x1.39a1b3909b7cap-3, x, 0x1.74663f2985de9p-3);
    double x2 = x * x;
    double b0 = fma(a1, x2, a0);
    double b1 = fma(0x1.2f05af95edb5bp-3, x2, a2);
    double x4 = x2 * x2;
    double c0 = fma(b1, x4, b0);
    return c0;
}

/* error 2^-35.8 */
static __device__ inline float vm_poly_atanh5_f32(float x)
{
    float top = fmaf(0x1.df9bc8p-3f, x, 0x1.24529ep-2f);
    float a0 = fmaf(top, x, 0x1.999ap-2f);
    return a0;
}

/* error 2^-65.3 */
static __device__ inline double vm_poly_atanh5_f64(double x)
{
    double a0 = fma(0x1.2492492457df4p-2, x, 0x1.9999999999b3p-2);
    double a1 = fma(0x1.745ce9e827ec4p-3, x, 0x1.c71c722d5881ap-3);
    double a2 = fma(0x1.0f7ffd44c19e4p-3, x, 0x1.3b1eeb2f5b32ep-3);
    double x2 = x * x;
    double b0 = fma(a1, x2, a0);
    double b1 = fma(0x1.0e41f97edd6f3p-3, x2, a2);
    double x4 = x2 * x2;
    double c0 = fma(b1, x4, b0);
    return c0;
}

/* error 2^-27.9 */
static __device__ inline float vm_poly_sin_f32(float x)
{
    float top = fmaf(-0x1.992c2ap-13f, x, 0x1.1106fcp-7f);
    float a0 = fmaf(top, x, -0x1.555544p-3f);
    return a0;
}

/* error 2^-57.8 */
static __device__ inline double vm_poly_sin_f64(double x)
{
    double a0 = fma(0x1.111111110f5fp-7, x, -0x1.5555555555547p-3);
    double a1 = fma(0x1.71de352bff856p-19, x, -0x1.a01a019bbd148p-13);
    double a2 = fma(0x1.5d80e6bdb185p-33, x, -0x1.ae5e29465f956p-26);
    double x2 = x * x;
    double top = fma(a2, x2, a1);
    double b0 = fma(top, x2, a0);
    return b0;
}

/* error 2^-33.1 */
static __device__ inline float vm_poly_cos_f32(float x)
{
    float top = fmaf(0x1.99e37ep-16f, x, -0x1.6c0c24p-10f);
    float a0 = fmaf(top, x, 0x1.55554ap-5f);
    return a0;
}

/* error 2^-64.0 */
static __device__ inline double vm_poly_cos_f64(double x)
{
    double a0 = fma(-0x1.6c16c16c14ebfp-10, x, 0x1.555555555554ap-5);
    double a1 = fma(-0x1.27e4f7d4b6f57p-22, x, 0x1.a01a019c6a78dp-16);
    double a2 = fma(-0x1.8f9ad25d9d1b3p-37, x, 0x1.1ee9c6a9b9569p-29);
    double x2 = x * x;
    double top = fma(a2, x2, a1);
    double b0 = fma(top, x2, a0);
    return b0;
}

/* error 2^-29.1 */
static __device__ inline float vm_poly_tan_f32(float x)
{
    float a0 = fmaf(0x1.110caep-3f, x, 0x1.555564p-2f);
    float a1 = fmaf(0x1.5b2342p-6f, x, 0x1.bb02c6p-5f);
    float a2 = fmaf(-0x1.c4bc4p-13f, x, 0x1.6b05d6p-7f);
    float x2 = x * x;
    float b0 = fmaf(a1, x2, a0);
    float b1 = fmaf(0x1.289e58p-8f, x2, a2);
    float x4 = x2 * x2;
    float c0 = fmaf(b1, x4, b0);
    return c0;
}

/* error 2^-55.5 */
static __device__ inline double vm_poly_tan_f64(double x)
{
    double a0 = fma(0x1.111111111bbd8p-3, x, 0x1.55555555554bbp-2);
    double a1 = fma(0x1.664f4a20c18a5p-6, x, 0x1.ba1ba1b1d6ab3p-5);
    double a2 = fma(0x1.d6dafa2343ba8p-9, x, 0x1.226e057356ad7p-7);
    double a3 = fma(0x1.38a82f1c5139dp-11, x, 0x1.7d46481f28d18p-10);
    double a4 = fma(0x1.2e06ade43e875p-13, x, 0x1.ca98d56cdaa17p-13);
    double a5 = fma(0x1.9e92c6fbf330cp-14, x, -0x1.346ec7036a9b2p-15);
    double a6 = fma(0x1.71e0e5d9515f1p-16, x, -0x1.a25445b661de7p-15);
    double x2 = x * x;
    double b0 = fma(a1, x2, a0);
    double b1 = fma(a3, x2, a2);
    double b2 = fma(a5, x2, a4);
    double x4 = x2 * x2;
    double c0 = fma(b1, x4, b0);
    double c1 = fma(a6, x4, b2);
    double x8 = x4 * x4;
    double d0 = fma(c1, x8, c0);
    return d0;
}

/* error 2^-27.6 */
static __device__ inline float vm_poly_asin_f32(float x)
{
    float a0 = fmaf(0x1.33014ep-4f, x, 0x1.5555cap-3f);
    float a1 = fmaf(0x1.8ba272p-6f, x, 0x1.748c6p-5f);
    float x2 = x * x;
    float top = fmaf(0x1.59dac4p-5f, x2, a1);
    float b0 = fmaf(top, x2, a0);
    return b0;
}

/* error 2^-55.9 */
static __device__ inline double vm_poly_asin_f64(double x)
{
    double a0 = fma(0x1.333333336f83bp-4, x, 0x1.5555555555387p-3);
    double a1 = fma(0x1.f1c72c6cadbc6p-6, x, 0x1.6db6db41d63dep-5);
    double a2 = fma(0x1.1c6c2708fa0d3p-6, x, 0x1.6e89ef87048b8p-6);
    double a3 = fma(0x1.8ee453e5b29d1p-7, x, 0x1.c6f88ae63379dp-7);
    double a4 = fma(0x1.40b01764187f8p-6, x, 0x1.aab65e6529707p-8);
    double a5 = fma(0x1.05cd714066c85p-5, x, -0x1.0af21ab2bce64p-6);
    double x2 = x * x;
    double b0 = fma(a1, x2, a0);
    double b1 = fma(a3, x2, a2);
    double b2 = fma(a5, x2, a4);
    double x4 = x2 * x2;
    double top = fma(b2, x4, b1);
    double c0 = fma(top, x4, b0);
    return c0;
}

/* error 2^-28.7 */
static __device__ inline float vm_poly_atan_f32(float x)
{
    float a0 = fmaf(0x1.999276p-3f, x, -0x1.55554p-2f);
    float a1 = fmaf(0x1.c0d2bcp-4f, x, -0x1.2426fep-3f);
    float a2 = fmaf(0x1.dd1106p-5f, x, -0x1.58dd18p-4f);
    float a3 = fmaf(0x1.6a944cp-7f, x, -0x1.01b1bap-5f);
    float x2 = x * x;
    float b0 = fmaf(a1, x2, a0);
    float b1 = fmaf(a3, x2, a2);
    float x4 = x2 * x2;
    float top = fmaf(-0x1.df072ap-10f, x4, b1);
    float c0 = fmaf(top, x4, b0);
    return c0;
}

/* error 2^-57.7 */
static __device__ inline double vm_poly_atan_f64(double x)
{
    double a0 = fma(0x1.9999999995aep-3, x, -0x1.555555555552ap-2);
    double a1 = fma(0x1.c71c7184220b4p-4, x, -0x1.24924923921fp-3);
    double a2 = fma(0x1.3b136a1394c59p-4, x, -0x1.745d11fad4c07p-4);
    double a3 = fma(0x1.e1bcf669ad525p-5, x, -0x1.110e6d76096acp-4);
    double a4 = fma(0x1.82ee9c6f7952fp-5, x, -0x1.ae64479ac88dap-5);
    double a5 = fma(0x1.2c97badab8b7ap-5, x, -0x1.59d7c1fe19874p-5);
    double a6 = fma(0x1.69d7190548f65p-6, x, -0x1.eb48050583c1dp-6);
    double a7 = fma(0x1.dc00e655fcc42p-8, x, -0x1.ca95099cdc1eap-7);
    double a8 = fma(0x1.ba37b8e4f006ap-11, x, -0x1.7ea2cc1680d38p-9);
    double a9 = fma(0x1.c49c3b242312fp-17, x, -0x1.449f9b2e42275p-13);
    double x2 = x * x;
    double b0 = fma(a1, x2, a0);
    double b1 = fma(a3, x2, a2);
    double b2 = fma(a5, x2, a4);
    double b3 = fma(a7, x2, a6);
    double b4 = fma(a9, x2, a8);
    double x4 = x2 * x2;
    double c0 = fma(b1, x4, b0);
    double c1 = fma(b3, x4, b2);
    double x8 = x4 * x4;
    double top = fma(b4, x8, c1);
    double d0 = fma(top, x8, c0);
    return d0;
}

/* error 2^-34.0 */
static __device__ inline float vm_poly_sinh_f32(float x)
{
    float a0 = fmaf(0x1.111136p-7f, x, 0x1.555556p-3f);
    float a1 = fmaf(0x1.7a2672p-19f, x, 0x1.9ffe12p-13f);
    float x2 = x * x;
    float b0 = fmaf(a1, x2, a0);
    return b0;
}

/* error 2^-63.2 */
static __device__ inline double vm_poly_sinh_f64(double x)
{
    double a0 = fma(0x1.11111111110a1p-7, x, 0x1.5555555555556p-3);
    double a1 = fma(0x1.71de3a45f6d0ap-19, x, 0x1.a01a01a0292p-13);
    double a2 = fma(0x1.611a3a0142bp-33, x, 0x1.ae646766d4908p-26);
    double x2 = x * x;
    double b0 = fma(a1, x2, a0);
    double b1 = fma(0x1.b4cf82854c101p-41, x2, a2);
    double x4 = x2 * x2;
    double c0 = fma(b1, x4, b0);
    return c0;
}

/* error 2^-57.0 */
static __device__ inline double vm_poly_erf_f64(double x)
{
    double a0 = fma(-0x1.812746b0379c2p-2, x, 0x1.06eba8214db68p-3);
    double a1 = fma(-0x1.b82ce312062bcp-6, x, 0x1.ce2f21a041018p-4);
    double a2 = fma(-0x1.c02db072f3fdep-11, x, 0x1.565bccfa9a825p-8);
    double a3 = fma(-0x1.f4ca94990c8bfp-17, x, 0x1.f9a2bf73f0c35p-14);
    double a4 = fma(-0x1.5c16e30fa81d3p-23, x, 0x1.b9827b18846c5p-20);
    double a5 = fma(-0x1.acdff90af3887p-31, x, 0x1.d7849365e1051p-27);
    double x2 = x * x;
    double b0 = fma(a1, x2, a0);
    double b1 = fma(a3, x2, a2);
    double b2 = fma(a5, x2, a4);
    double x4 = x2 * x2;
    double top = fma(b2, x4, b1);
    double c0 = fma(top, x4, b0);
    return c0;
}

/* error 2^-59.5 */
static __device__ inline double vm_poly_erfc_f64(double x)
{
    double a0 = fma(-0x1.51c9b0006c236p+1, x, -0x1.d97fbf27aa2a1p+0);
    double a1 = fma(-0x1.5477f09c034e6p-5, x, -0x1.afabc11a295f5p-1);
    double a2 = fma(-0x1.033f65af9b3a9p-9, x, 0x1.48c9d3eb1988bp-7);
    double a3 = fma(0x1.b8de9fb0d7a8fp-16, x, 0x1.f1b3896043f9p-13);
    double a4 = fma(0x1.426be32151e88p-17, x, -0x1.c7a784cd9d6b9p-16);
    double a5 = fma(0x1.32d667fffca28p-23, x, -0x1.1475831b09c78p-19);
    double a6 = fma(-0x1.befc287389512p-25, x, 0x1.a2f1b5dca97dap-24);
    double a7 = fma(-0x1.899c2277ae5afp-29, x, 0x1.002a62b21dfadp-26);
    double a8 = fma(-0x1.fae431a3426b1p-36, x, 0x1.94de12ac5a1d9p-32);
    double x2 = x * x;
    double b0 = fma(a1, x2, a0);
    double b1 = fma(a3, x2, a2);
    double b2 = fma(a5, x2, a4);
    double b3 = fma(a7, x2, a6);
    double b4 = fma(0x1.2474c1092e7c8p-40, x2, a8);
    double x4 = x2 * x2;
    double c0 = fma(b1, x4, b0);
    double c1 = fma(b3, x4, b2);
    double x8 = x4 * x4;
    double top = fma(b4, x8, c1);
    double d0 = fma(top, x8, c0);
    return d0;
}

/* error 2^-27.0 */
static __device__ inline float vm_sums_erf_root_f32(float x)
{
    float x2 = x * x;
    float x3 = x2 * x;
    float x4 = x2 * x2;
    float high = -0x1.8723eap-10f * x;
    high = fmaf(0x1.0ce11cp-8f, x2, high);
    high = fmaf(-0x1.74c532p-11f, x3, high);
    high = fmaf(0x1.422b76p-15f, x4, high);
    float low = -0x1.afd558p-5f * x4;
    low = fmaf(0x1.11d08p-6f, x3, low);
    low = fmaf(0x1.1d34bcp-1f, x2, low);
    low = fmaf(0x1.c39fd6p-25f, x, low);
    low = fmaf(high, x4, low);
    return fmaf(0x1.20dd74p+0f, x, low);
}

/* error 2^-27.0 */
static __device__ inline float vm_sums_gelu_root_f32(float x)
{
    float x2 = x * x;
    float x3 = x2 * x;
    float x4 = x2 * x2;
    float high = -0x1.1493f4p-7f * x;
    high = fmaf(0x1.0ce11cp-5f, x2, high);
    high = fmaf(-0x1.0796a2p-7f, x3, high);
    high = fmaf(0x1.422b76p-11f, x4, high);
    float low = -0x1.afd558p-3f * x4;
    low = fmaf(0x1.833b6cp-5f, x3, low);
    low = fmaf(0x1.1d34bcp+0f, x2, low);
    low = fmaf(high, x4, low);
    return fmaf(0x1.988454p+0f, x, low);
}

/* error 2^-13.5 */
static __device__ inline float vm_row_gelu_tail_f32(float x)
{
    float y = fmaf(-0x1.50184ep-12f, x, 0x1.7de88ep-8f);
    y = fmaf(y, x, -0x1.8b2a74p-5f);
    y = fmaf(y, x, -0x1.db4222p-2f);
    y = fmaf(y, x, -0x1.263076p+0f);
    return fmaf(y, x, -0x1.0007e6p+0f);
}

/* error 2^-31.2 */
static __device__ inline float vm_poly_erfinv_near_f32(float x)
{
    float a0 = fmaf(0x1.eedbecp-3f, x, 0x1.3f40e6p-1f);
    float a1 = fmaf(-0x1.b66594p-11f, x, -0x1.780ddp-8f);
    float a2 = fmaf(-0x1.aaffeep-17f, x, 0x1.990bbp-13f);
    float a3 = fmaf(0x1.e93654p-22f, x, -0x1.d310d6p-20f);
    float a4 = fmaf(-0x1.e1cecap-28f, x, -0x1.b5eba8p-26f);
    float a5 = fmaf(0x1.2427ecp-33f, x, 0x1.40fcfap-30f);
    float x2 = x * x;
    float b0 = fmaf(a1, x2, a0);
    float b1 = fmaf(a3, x2, a2);
    float b2 = fmaf(a5, x2, a4);
    float x4 = x2 * x2;
    float top = fmaf(b2, x4, b1);
    float c0 = fmaf(top, x4, b0);
    return c0;
}

/* error 2^-56.6 */
static __device__ inline double vm_poly_erfinv_near_f64(double x)
{
    double a0 = fma(0x1.eedbebdce73e6p-3, x, 0x1.3f40e5dae5b77p-1);
    double a1 = fma(-0x1.b6666b152b2ccp-11, x, -0x1.780def1d3f0b4p-8);
    double a2 = fma(-0x1.aab13d1c5553ep-17, x, 0x1.9912c04a303b8p-13);
    double a3 = fma(0x1.e32b0d50d4393p-22, x, -0x1.d539c9f8a31ffp-20);
    double a4 = fma(-0x1.77b3a2547b66p-28, x, -0x1.96f826730b0d2p-26);
    double a5 = fma(-0x1.146be0f103d92p-35, x, 0x1.3155b651182b8p-30);
    double a6 = fma(0x1.7bd81c40401aep-39, x, -0x1.30e00a2a7ea1ep-36);
    double a7 = fma(-0x1.dcc1e4dd00aa4p-45, x, 0x1.dbdba32563d5cp-48);
    double a8 = fma(0x1.3ca990e8b2b64p-52, x, 0x1.c3a087a15eb9fp-48);
    double a9 = fma(0x1.d7204956e6aa1p-57, x, -0x1.63d5d9856f4b3p-53);
    double a10 = fma(-0x1.c2e7f01999ce6p-62, x, 0x1.a6e137122e941p-60);
    double a11 = fma(0x1.21f247d89c1c2p-68, x, 0x1.3269edffa3195p-66);
    double a12 = fma(0x1.eecdadd951429p-77, x, -0x1.474e731ac739fp-71);
    double a13 = fma(-0x1.0c1fc2f09b6e9p-83, x, 0x1.24a363ae9c268p-79);
    double x2 = x * x;
    double b0 = fma(a1, x2, a0);
    double b1 = fma(a3, x2, a2);
    double b2 = fma(a5, x2, a4);
    double b3 = fma(a7, x2, a6);
    double b4 = fma(a9, x2, a8);
    double b5 = fma(a11, x2, a10);
    double b6 = fma(a13, x2, a12);
    double x4 = x2 * x2;
    double c0 = fma(b1, x4, b0);
    double c1 = fma(b3, x4, b2);
    double c2 = fma(b5, x4, b4);
    double x8 = x4 * x4;
    double d0 = fma(c1, x8, c0);
    double d1 = fma(b6, x8, c2);
    double x16 = x8 * x8;
    double e0 = fma(d1, x16, d0);
    return e0;
}

/* error 2^-29.5 */
static __device__ inline float vm_poly_erfinv_tail_f32(float x)
{
    float a0 = fmaf(0x1.026e3p+0f, x, 0x1.6b7e0ap+1f);
    float a1 = fmaf(-0x1.a2ea76p-11f, x, 0x1.4cddp-10f);
    float a2 = fmaf(0x1.6d53b2p-12f, x, 0x1.288898p-11f);
    float a3 = fmaf(0x1.6ab7b8p-13f, x, 0x1.1872f8p-11f);
    float a4 = fmaf(-0x1.b70b6ap-14f, x, -0x1.4b20d4p-15f);
    float x2 = x * x;
    float b0 = fmaf(a1, x2, a0);
    float b1 = fmaf(a3, x2, a2);
    float b2 = fmaf(-0x1.ba0c6ap-16f, x2, a4);
    float x4 = x2 * x2;
    float top = fmaf(b2, x4, b1);
    float c0 = fmaf(top, x4, b0);
    return c0;
}

/* error 2^-60.5 */
static __device__ inline double vm_poly_erfinv_tail_f64(double x)
{
    double a0 = fma(0x1.026e265c38c4p+0, x, 0x1.6b7e0914cbf1bp+1);
    double a1 = fma(-0x1.c79a1b11b766ap-11, x, 0x1.4a42eb3d8998ap-10);
    double a2 = fma(-0x1.ee5c5af18592dp-14, x, 0x1.508bb6b18d549p-12);
    double a3 = fma(-0x1.110ad81664471p-15, x, 0x1.d3090b087d705p-15);
    double a4 = fma(-0x1.29f349b65ebc3p-17, x, 0x1.39440567fddfcp-16);
    double a5 = fma(-0x1.be76ac1985832p-22, x, 0x1.94a53803b4e27p-19);
    double a6 = fma(0x1.00ba5ed3ca765p-22, x, -0x1.2719a98eb741fp-22);
    double a7 = fma(0x1.01234be5b323cp-26, x, -0x1.9202c2c8d1153p-24);
    double a8 = fma(-0x1.416cf175ae0afp-28, x, 0x1.7874abb2468d4p-28);
    double a9 = fma(-0x1.516aa16366983p-33, x, 0x1.a405a749a5741p-30);
    double a10 = fma(0x1.f0be6095e41cbp-35, x, -0x1.aa8b2b4adf565p-34);
    double a11 = fma(0x1.70fc2a268fa6ap-41, x, -0x1.ee8da5476619fp-37);
    double a12 = fma(-0x1.5b6a32357354fp-42, x, 0x1.cc81a7e163f34p-41);
    double a13 = fma(-0x1.f4d7c0aa34d51p-49, x, 0x1.cd02e7ae05b52p-45);
    double x2 = x * x;
    double b0 = fma(a1, x2, a0);
    double b1 = fma(a3, x2, a2);
    double b2 = fma(a5, x2, a4);
    double b3 = fma(a7, x2, a6);
    double b4 = fma(a9, x2, a8);
    double b5 = fma(a11, x2, a10);
    double b6 = fma(a13, x2, a12);
    double x4 = x2 * x2;
    double c0 = fma(b1, x4, b0);
    double c1 = fma(b3, x4, b2);
    double c2 = fma(b5, x4, b4);
    double x8 = x4 * x4;
    double d0 = fma(c1, x8, c0);
    double d1 = fma(b6, x8, c2);
    double x16 = x8 * x8;
    double e0 = fma(d1, x16, d0);
    return e0;
}
