/* Textures and surfaces in memory: an object is the address of this descriptor, which the runtime writes
 * (src/lib/cudart/textures.c). Coordinates, fractions and addressing are as in CUDA's programming guide: linear filters
 * use fractions of 8 bits, and the sums below are evaluated in the order in which they are written. */
typedef unsigned long long cudaTextureObject_t, CUtexObject;
typedef unsigned long long cudaSurfaceObject_t, CUsurfObject;
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };

struct ig_texture {
    unsigned long long ig_data, ig_row, ig_slice; /* the first texel; bytes from row to row and from layer to layer */
    int ig_size[3], ig_bytes;                     /* texels of each dimension; bytes of a texel */
    unsigned char ig_kind, ig_bits, ig_channels;  /* kind: 0 signed, 1 unsigned, 2 float */
    unsigned char ig_is_float, ig_is_linear, ig_is_normalized; /* integers read as floats; filter; coordinates */
    unsigned char ig_mode[3], ig_is_plain;                     /* 0 wrap, 1 clamp, 2 mirror, 3 border; one float per texel */
    float ig_border[4];
};

/* The CPU has addresses. Devices that run text have bytes from here on: see module_texel_room in the engine. */
__device__ char ig_texels[16];
__device__ inline const ig_texture *ig_texture_at(unsigned long long ig_object)
{
    return (const ig_texture *)ig_texel_address(ig_texels, ig_object);
}

__device__ inline uint4 ig_texel_border(const ig_texture *ig_t)
{
    return make_uint4(__float_as_uint(ig_t->ig_border[0]), __float_as_uint(ig_t->ig_border[1]),
                      __float_as_uint(ig_t->ig_border[2]), __float_as_uint(ig_t->ig_border[3]));
}

/* A component as the 32 bits of its value. */
__device__ inline unsigned ig_texel_part(const ig_texture *ig_t, const char *ig_at, int ig_i)
{
    if (ig_t->ig_bits == 32)
        return ((const unsigned *)ig_at)[ig_i];
    if (ig_t->ig_kind == 2)
        return __float_as_uint(__half2float(__ushort_as_half(((const unsigned short *)ig_at)[ig_i])));
    if (ig_t->ig_kind == 1) {
        const unsigned ig_v = ig_t->ig_bits == 8 ? ((const unsigned char *)ig_at)[ig_i] : ((const unsigned short *)ig_at)[ig_i];
        return ig_t->ig_is_float ? __float_as_uint((float)ig_v / (ig_t->ig_bits == 8 ? 255.0f : 65535.0f)) : ig_v;
    }
    const int ig_v = ig_t->ig_bits == 8 ? ((const signed char *)ig_at)[ig_i] : ((const short *)ig_at)[ig_i];
    return ig_t->ig_is_float ? __float_as_uint(fmaxf((float)ig_v / (ig_t->ig_bits == 8 ? 127.0f : 32767.0f), -1.0f)) : (unsigned)ig_v;
}

/* The texel at an index of each dimension; a negative index stands for the border. */
__device__ inline uint4 ig_texel(const ig_texture *ig_t, int ig_x, int ig_y, int ig_z)
{
    if ((ig_x | ig_y | ig_z) < 0)
        return ig_texel_border(ig_t);
    const char *ig_at = (const char *)ig_texel_address(ig_texels, ig_t->ig_data) + ig_z * ig_t->ig_slice + ig_y * ig_t->ig_row + (unsigned long long)ig_x * ig_t->ig_bytes;
    uint4 ig_v = make_uint4(0, 0, 0, 0);
    if (ig_t->ig_is_plain) {
        ig_v.x = *(const unsigned *)ig_at;
        return ig_v;
    }
    ig_v.x = ig_texel_part(ig_t, ig_at, 0);
    if (ig_t->ig_channels > 1)
        ig_v.y = ig_texel_part(ig_t, ig_at, 1);
    if (ig_t->ig_channels > 2) {
        ig_v.z = ig_texel_part(ig_t, ig_at, 2);
        ig_v.w = ig_texel_part(ig_t, ig_at, 3);
    }
    return ig_v;
}

/* The coordinate in texels. Beyond the texture it is at most one texel away, so that it converts to an int. */
__device__ inline float ig_texel_place(const ig_texture *ig_t, float ig_x, int ig_d)
{
    const int ig_n = ig_t->ig_size[ig_d];
    if (ig_t->ig_is_normalized) {
        const float ig_low = floorf(ig_x);
        if (ig_t->ig_mode[ig_d] == 0)
            ig_x -= ig_low;
        else if (ig_t->ig_mode[ig_d] == 2)
            ig_x = fmodf(ig_low, 2.0f) != 0 ? 1 - (ig_x - ig_low) : ig_x - ig_low;
        ig_x *= ig_n;
    }
    return fmaxf(fminf(ig_x, ig_n + 1.0f), -1.0f);
}

__device__ inline int ig_texel_index(const ig_texture *ig_t, int ig_i, int ig_d)
{
    const int ig_n = ig_t->ig_size[ig_d];
    if ((unsigned)ig_i < (unsigned)ig_n)
        return ig_i;
    if (ig_t->ig_mode[ig_d] == 3)
        return -1;
    const int ig_edge = ig_i < 0 ? 0 : ig_n - 1;
    return ig_t->ig_mode[ig_d] == 0 && ig_t->ig_is_normalized ? ig_n - 1 - ig_edge : ig_edge;
}

/* Splits a coordinate for a linear filter: the index of the first texel, and the weight of the second. */
__device__ inline float ig_texel_split(const ig_texture *ig_t, float ig_x, int ig_d, int *ig_first)
{
    const float ig_at = ig_texel_place(ig_t, ig_x, ig_d) - 0.5f, ig_low = floorf(ig_at);
    *ig_first = (int)ig_low;
    return rintf((ig_at - ig_low) * 256.0f) * (1.0f / 256.0f);
}

__device__ inline int ig_texel_point(const ig_texture *ig_t, float ig_x, int ig_d)
{
    return ig_texel_index(ig_t, (int)floorf(ig_texel_place(ig_t, ig_x, ig_d)), ig_d);
}

__device__ inline float4 ig_texel_add(float4 ig_sum, float ig_weight, uint4 ig_v)
{
    return make_float4(__fadd_rn(ig_sum.x, __fmul_rn(ig_weight, __uint_as_float(ig_v.x))), __fadd_rn(ig_sum.y, __fmul_rn(ig_weight, __uint_as_float(ig_v.y))),
                       __fadd_rn(ig_sum.z, __fmul_rn(ig_weight, __uint_as_float(ig_v.z))), __fadd_rn(ig_sum.w, __fmul_rn(ig_weight, __uint_as_float(ig_v.w))));
}

__device__ inline uint4 ig_texel_bits(float4 ig_v)
{
    return make_uint4(__float_as_uint(ig_v.x), __float_as_uint(ig_v.y), __float_as_uint(ig_v.z), __float_as_uint(ig_v.w));
}

__device__ inline uint4 ig_sample_1d(const ig_texture *ig_t, float ig_x, int ig_layer)
{
    if (!ig_t->ig_is_linear)
        return ig_texel(ig_t, ig_texel_point(ig_t, ig_x, 0), 0, ig_layer);
    int ig_i;
    const float ig_a = ig_texel_split(ig_t, ig_x, 0, &ig_i);
    float4 ig_sum = make_float4(0, 0, 0, 0);
    ig_sum = ig_texel_add(ig_sum, 1 - ig_a, ig_texel(ig_t, ig_texel_index(ig_t, ig_i, 0), 0, ig_layer));
    ig_sum = ig_texel_add(ig_sum, ig_a, ig_texel(ig_t, ig_texel_index(ig_t, ig_i + 1, 0), 0, ig_layer));
    return ig_texel_bits(ig_sum);
}

__device__ inline float4 ig_sample_plane(const ig_texture *ig_t, float ig_x, float ig_y, int ig_k, float ig_weight, float4 ig_sum)
{
    int ig_i, ig_j;
    const float ig_a = ig_texel_split(ig_t, ig_x, 0, &ig_i), ig_b = ig_texel_split(ig_t, ig_y, 1, &ig_j);
    const int ig_i0 = ig_texel_index(ig_t, ig_i, 0), ig_i1 = ig_texel_index(ig_t, ig_i + 1, 0);
    const int ig_j0 = ig_texel_index(ig_t, ig_j, 1), ig_j1 = ig_texel_index(ig_t, ig_j + 1, 1);
    ig_sum = ig_texel_add(ig_sum, (1 - ig_a) * (1 - ig_b) * ig_weight, ig_texel(ig_t, ig_i0, ig_j0, ig_k));
    ig_sum = ig_texel_add(ig_sum, ig_a * (1 - ig_b) * ig_weight, ig_texel(ig_t, ig_i1, ig_j0, ig_k));
    ig_sum = ig_texel_add(ig_sum, (1 - ig_a) * ig_b * ig_weight, ig_texel(ig_t, ig_i0, ig_j1, ig_k));
    return ig_texel_add(ig_sum, ig_a * ig_b * ig_weight, ig_texel(ig_t, ig_i1, ig_j1, ig_k));
}

__device__ inline uint4 ig_sample_2d(const ig_texture *ig_t, float ig_x, float ig_y, int ig_layer)
{
    if (!ig_t->ig_is_linear)
        return ig_texel(ig_t, ig_texel_point(ig_t, ig_x, 0), ig_texel_point(ig_t, ig_y, 1), ig_layer);
    return ig_texel_bits(ig_sample_plane(ig_t, ig_x, ig_y, ig_layer, 1, make_float4(0, 0, 0, 0)));
}

__device__ inline uint4 ig_sample_3d(const ig_texture *ig_t, float ig_x, float ig_y, float ig_z)
{
    if (!ig_t->ig_is_linear)
        return ig_texel(ig_t, ig_texel_point(ig_t, ig_x, 0), ig_texel_point(ig_t, ig_y, 1), ig_texel_point(ig_t, ig_z, 2));
    int ig_k;
    const float ig_c = ig_texel_split(ig_t, ig_z, 2, &ig_k);
    const float4 ig_sum = ig_sample_plane(ig_t, ig_x, ig_y, ig_texel_index(ig_t, ig_k, 2), 1 - ig_c, make_float4(0, 0, 0, 0));
    return ig_texel_bits(ig_sample_plane(ig_t, ig_x, ig_y, ig_texel_index(ig_t, ig_k + 1, 2), ig_c, ig_sum));
}

__device__ inline int ig_texel_layer(const ig_texture *ig_t, int ig_layer)
{
    return max(0, min(ig_layer, ig_t->ig_size[2] - 1));
}

/* A direction selects a face of the cube, and a point of it. Filters do not blend faces. */
__device__ inline uint4 ig_sample_cube(const ig_texture *ig_t, float ig_x, float ig_y, float ig_z, int ig_layer)
{
    const float ig_ax = fabsf(ig_x), ig_ay = fabsf(ig_y), ig_az = fabsf(ig_z);
    float ig_m = ig_az, ig_s = ig_z < 0 ? -ig_x : ig_x, ig_u = -ig_y;
    int ig_face = ig_z < 0 ? 5 : 4;
    if (ig_ax >= ig_ay && ig_ax >= ig_az) {
        ig_face = ig_x < 0 ? 1 : 0;
        ig_m = ig_ax;
        ig_s = ig_x < 0 ? ig_z : -ig_z;
    } else if (ig_ay >= ig_az) {
        ig_face = ig_y < 0 ? 3 : 2;
        ig_m = ig_ay;
        ig_s = ig_x;
        ig_u = ig_y < 0 ? -ig_z : ig_z;
    }
    return ig_sample_2d(ig_t, (ig_s / ig_m + 1) * 0.5f, (ig_u / ig_m + 1) * 0.5f, ig_texel_layer(ig_t, ig_layer * 6 + ig_face));
}

/* The components as a value of the program's type. */
#define IG_TEXEL(ig_scalar, ig_base, ig_get) \
    __device__ inline void ig_texel_put(uint4 ig_v, ig_scalar *ig_to) { *ig_to = (ig_scalar)ig_get(ig_v.x); } \
    __device__ inline void ig_texel_put(uint4 ig_v, ig_base##1 *ig_to) { ig_to->x = (ig_scalar)ig_get(ig_v.x); } \
    __device__ inline void ig_texel_put(uint4 ig_v, ig_base##2 *ig_to) \
    { \
        ig_to->x = (ig_scalar)ig_get(ig_v.x); \
        ig_to->y = (ig_scalar)ig_get(ig_v.y); \
    } \
    __device__ inline void ig_texel_put(uint4 ig_v, ig_base##4 *ig_to) \
    { \
        ig_to->x = (ig_scalar)ig_get(ig_v.x); \
        ig_to->y = (ig_scalar)ig_get(ig_v.y); \
        ig_to->z = (ig_scalar)ig_get(ig_v.z); \
        ig_to->w = (ig_scalar)ig_get(ig_v.w); \
    }
IG_TEXEL(signed char, char, )
IG_TEXEL(unsigned char, uchar, )
IG_TEXEL(short, short, )
IG_TEXEL(unsigned short, ushort, )
IG_TEXEL(int, int, )
IG_TEXEL(unsigned int, uint, )
IG_TEXEL(float, float, __uint_as_float)
__device__ inline void ig_texel_put(uint4 ig_v, char *ig_to) { *ig_to = (char)ig_v.x; }

/* A function of CUDA that returns a value, and the one that writes it. */
#define IG_TEXTURE(ig_name, ig_params, ig_args, ig_value) \
    template <typename ig_t> __device__ inline ig_t ig_name ig_params \
    { \
        ig_t ig_r; \
        const ig_texture *ig_x = ig_texture_at(ig_texture_in); \
        ig_texel_put(ig_value, &ig_r); \
        return ig_r; \
    } \
    template <typename ig_t> __device__ inline void ig_name ig_args \
    { \
        const ig_texture *ig_x = ig_texture_at(ig_texture_in); \
        ig_texel_put(ig_value, ig_to); \
    }
#define IG_P(...) (cudaTextureObject_t ig_texture_in, __VA_ARGS__)
#define IG_Q(...) (ig_t *ig_to, cudaTextureObject_t ig_texture_in, __VA_ARGS__)
#define IG_BOTH(ig_name, ig_value, ...) IG_TEXTURE(ig_name, IG_P(__VA_ARGS__), IG_Q(__VA_ARGS__), ig_value)

__device__ inline uint4 ig_fetch_1d(const ig_texture *ig_t, int ig_i)
{
    if ((unsigned)ig_i < (unsigned)ig_t->ig_size[0])
        return ig_texel(ig_t, ig_i, 0, 0);
    return make_uint4(0, 0, 0, 0);
}

/* Component c of the four texels that a linear filter would blend, counterclockwise from the lower left. */
__device__ inline uint4 ig_gather_2d(const ig_texture *ig_t, float ig_x, float ig_y, int ig_c)
{
    int ig_i, ig_j;
    ig_texel_split(ig_t, ig_x, 0, &ig_i);
    ig_texel_split(ig_t, ig_y, 1, &ig_j);
    const int ig_i0 = ig_texel_index(ig_t, ig_i, 0), ig_i1 = ig_texel_index(ig_t, ig_i + 1, 0);
    const int ig_j0 = ig_texel_index(ig_t, ig_j, 1), ig_j1 = ig_texel_index(ig_t, ig_j + 1, 1);
    const uint4 ig_v[4] = {ig_texel(ig_t, ig_i0, ig_j1, 0), ig_texel(ig_t, ig_i1, ig_j1, 0), ig_texel(ig_t, ig_i1, ig_j0, 0), ig_texel(ig_t, ig_i0, ig_j0, 0)};
    unsigned ig_r[4];
    for (int ig_n = 0; ig_n < 4; ig_n++)
        ig_r[ig_n] = ig_c == 0 ? ig_v[ig_n].x : ig_c == 1 ? ig_v[ig_n].y : ig_c == 2 ? ig_v[ig_n].z : ig_v[ig_n].w;
    return make_uint4(ig_r[0], ig_r[1], ig_r[2], ig_r[3]);
}

IG_BOTH(tex1Dfetch, ig_fetch_1d(ig_x, ig_i), int ig_i)
IG_BOTH(tex1D, ig_sample_1d(ig_x, ig_1, 0), float ig_1)
IG_BOTH(tex2D, ig_sample_2d(ig_x, ig_1, ig_2, 0), float ig_1, float ig_2)
IG_BOTH(tex3D, ig_sample_3d(ig_x, ig_1, ig_2, ig_3), float ig_1, float ig_2, float ig_3)
IG_BOTH(tex1DLayered, ig_sample_1d(ig_x, ig_1, ig_texel_layer(ig_x, ig_l)), float ig_1, int ig_l)
IG_BOTH(tex2DLayered, ig_sample_2d(ig_x, ig_1, ig_2, ig_texel_layer(ig_x, ig_l)), float ig_1, float ig_2, int ig_l)
IG_BOTH(texCubemap, ig_sample_cube(ig_x, ig_1, ig_2, ig_3, 0), float ig_1, float ig_2, float ig_3)
IG_BOTH(texCubemapLayered, ig_sample_cube(ig_x, ig_1, ig_2, ig_3, ig_l), float ig_1, float ig_2, float ig_3, int ig_l)
IG_BOTH(tex2Dgather, ig_gather_2d(ig_x, ig_1, ig_2, ig_c), float ig_1, float ig_2, int ig_c = 0)
/* Textures have one level. */
IG_BOTH(tex1DLod, ig_sample_1d(ig_x, ig_1, 0), float ig_1, float)
IG_BOTH(tex2DLod, ig_sample_2d(ig_x, ig_1, ig_2, 0), float ig_1, float ig_2, float)
IG_BOTH(tex3DLod, ig_sample_3d(ig_x, ig_1, ig_2, ig_3), float ig_1, float ig_2, float ig_3, float)
IG_BOTH(tex1DLayeredLod, ig_sample_1d(ig_x, ig_1, ig_texel_layer(ig_x, ig_l)), float ig_1, int ig_l, float)
IG_BOTH(tex2DLayeredLod, ig_sample_2d(ig_x, ig_1, ig_2, ig_texel_layer(ig_x, ig_l)), float ig_1, float ig_2, int ig_l, float)
IG_BOTH(tex1DGrad, ig_sample_1d(ig_x, ig_1, 0), float ig_1, float, float)
IG_BOTH(tex2DGrad, ig_sample_2d(ig_x, ig_1, ig_2, 0), float ig_1, float ig_2, float2, float2)
IG_BOTH(tex3DGrad, ig_sample_3d(ig_x, ig_1, ig_2, ig_3), float ig_1, float ig_2, float ig_3, float4, float4)

/* ---- surfaces: bytes of a row, and rows ---- */

/* The address of a value in a surface; NULL if it is outside. A boundary mode of trap ends the kernel. */
__device__ inline char *ig_surface_at(cudaSurfaceObject_t ig_surface, int ig_x, int ig_y, int ig_z, int ig_bytes, int ig_mode)
{
    const ig_texture *ig_t = ig_texture_at(ig_surface);
    const int ig_width = ig_t->ig_size[0] * ig_t->ig_bytes;
    if (ig_x < 0 || ig_x > ig_width - ig_bytes || (unsigned)ig_y >= (unsigned)ig_t->ig_size[1] || (unsigned)ig_z >= (unsigned)ig_t->ig_size[2]) {
        if (ig_mode == cudaBoundaryModeTrap)
            __trap();
        if (ig_mode != cudaBoundaryModeClamp)
            return nullptr;
        ig_x = max(0, min(ig_x, ig_width - ig_bytes));
        ig_y = max(0, min(ig_y, ig_t->ig_size[1] - 1));
        ig_z = max(0, min(ig_z, ig_t->ig_size[2] - 1));
    }
    return (char *)ig_texel_address(ig_texels, ig_t->ig_data) + ig_z * ig_t->ig_slice + ig_y * ig_t->ig_row + ig_x;
}

#define IG_SURFACE(ig_name, ig_place, ...) \
    template <typename ig_t> __device__ inline ig_t ig_name##read(cudaSurfaceObject_t ig_s, __VA_ARGS__, cudaSurfaceBoundaryMode ig_mode = cudaBoundaryModeTrap) \
    { \
        const ig_t *ig_at = (const ig_t *)ig_surface_at(ig_s, ig_place, sizeof(ig_t), ig_mode); \
        return ig_at ? *ig_at : ig_t(); \
    } \
    template <typename ig_t> __device__ inline void ig_name##read(ig_t *ig_to, cudaSurfaceObject_t ig_s, __VA_ARGS__, cudaSurfaceBoundaryMode ig_mode = cudaBoundaryModeTrap) \
    { \
        const ig_t *ig_at = (const ig_t *)ig_surface_at(ig_s, ig_place, sizeof(ig_t), ig_mode); \
        *ig_to = ig_at ? *ig_at : ig_t(); \
    } \
    template <typename ig_t> __device__ inline void ig_name##write(ig_t ig_value, cudaSurfaceObject_t ig_s, __VA_ARGS__, cudaSurfaceBoundaryMode ig_mode = cudaBoundaryModeTrap) \
    { \
        ig_t *ig_at = (ig_t *)ig_surface_at(ig_s, ig_place, sizeof(ig_t), ig_mode); \
        if (ig_at) \
            *ig_at = ig_value; \
    }
#define IG_AT(...) __VA_ARGS__
IG_SURFACE(surf1D, IG_AT(ig_1, 0, 0), int ig_1)
IG_SURFACE(surf2D, IG_AT(ig_1, ig_2, 0), int ig_1, int ig_2)
IG_SURFACE(surf3D, IG_AT(ig_1, ig_2, ig_3), int ig_1, int ig_2, int ig_3)
IG_SURFACE(surf1DLayered, IG_AT(ig_1, 0, ig_l), int ig_1, int ig_l)
IG_SURFACE(surf2DLayered, IG_AT(ig_1, ig_2, ig_l), int ig_1, int ig_2, int ig_l)
IG_SURFACE(surfCubemap, IG_AT(ig_1, ig_2, ig_l), int ig_1, int ig_2, int ig_l)
