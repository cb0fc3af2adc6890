// Spheres by ray casting: classes with constructors, operators and member functions, some outside of their class.
/* expect:
..............................
..............................
.........######++++++.........
......########++++++++++......
.....#######++++++++++++-.....
....######++++++++++++++--....
....+++++++++++++++++++---....
.....++++++++++++++++----.....
......++++++++++++------......
.........+++++-------.........
..............................
..............................
hits 144 of 360
*/
#include <cmath>
#include <cstdio>

class vec3
{
  public:
    __host__ __device__ vec3() {}
    __host__ __device__ vec3(float e0, float e1, float e2) { e[0] = e0, e[1] = e1, e[2] = e2; }
    __host__ __device__ inline float x() const { return e[0]; }
    __host__ __device__ inline float y() const { return e[1]; }
    __host__ __device__ inline float z() const { return e[2]; }
    __host__ __device__ inline vec3 operator-() const { return vec3(-e[0], -e[1], -e[2]); }
    __host__ __device__ inline float operator[](int i) const { return e[i]; }
    __host__ __device__ inline float &operator[](int i) { return e[i]; }
    __host__ __device__ inline vec3 &operator*=(const float t);
    __host__ __device__ inline float length() const { return sqrtf(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]); }
    __host__ __device__ inline void make_unit_vector();

  private:
    float e[3];
};

__host__ __device__ inline vec3 operator+(const vec3 &a, const vec3 &b) { return vec3(a[0] + b[0], a[1] + b[1], a[2] + b[2]); }
__host__ __device__ inline vec3 operator-(const vec3 &a, const vec3 &b) { return vec3(a[0] - b[0], a[1] - b[1], a[2] - b[2]); }
__host__ __device__ inline vec3 operator*(float t, const vec3 &v) { return vec3(t * v[0], t * v[1], t * v[2]); }
__host__ __device__ inline float dot(const vec3 &a, const vec3 &b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
__host__ __device__ inline vec3 &vec3::operator*=(const float t)
{
    e[0] *= t, e[1] *= t, e[2] *= t;
    return *this;
}
__host__ __device__ inline void vec3::make_unit_vector() { *this *= 1.0f / length(); }

struct ray {
    vec3 origin, direction;
    __device__ ray(const vec3 &o, const vec3 &d) : origin(o), direction(d) {}
    __device__ vec3 at(float t) const { return origin + t * direction; }
};

struct hit_record {
    float t;
    vec3 p, normal;
};

class sphere
{
  public:
    __host__ __device__ sphere() {}
    __host__ __device__ sphere(vec3 c, float r) : center(c), radius(r) {}
    __device__ bool hit(const ray &r, float t_max, hit_record &rec) const;
    vec3 center;
    float radius;
};

__device__ bool sphere::hit(const ray &r, float t_max, hit_record &rec) const
{
    vec3 oc = r.origin - center;
    float a = dot(r.direction, r.direction), b = dot(oc, r.direction);
    float discriminant = b * b - a * (dot(oc, oc) - radius * radius);
    if (discriminant <= 0)
        return false;
    float t = (-b - sqrtf(discriminant)) / a;
    if (t < 0.001f || t > t_max)
        return false;
    rec.t = t;
    rec.p = r.at(t);
    rec.normal = rec.p - center;
    rec.normal.make_unit_vector();
    return true;
}

__constant__ sphere world[2];

__global__ void render(char *picture, int *hits, int w, int h)
{
    int i = threadIdx.x + blockIdx.x * blockDim.x, j = threadIdx.y + blockIdx.y * blockDim.y;
    if ((i >= w) || (j >= h))
        return;
    vec3 light(-1, 1, 1);
    light.make_unit_vector();
    ray r(vec3(0, 0, 3), vec3((i + 0.5f) / w * 2 - 1, 1 - (j + 0.5f) / h * 2, -2));
    hit_record rec, best;
    float t = 1e30f;
    for (const sphere *s = world; s < world + 2; ++s)
        if (s->hit(r, t, rec)) {
            t = rec.t;
            best = rec;
        }
    char shade = '.';
    if (t < 1e30f) {
        const float d = dot(best.normal, light);
        shade = d > 0.8f ? '#' : d > 0.1f ? '+' : '-';
        atomicAdd(hits, 1);
    }
    picture[j * w + i] = shade;
}

int main()
{
    const int w = 30, h = 12;
    const sphere spheres[2] = {sphere(vec3(0, 0, 0), 1), sphere(vec3(0, 0, -50), 10)};
    char *picture;
    int *hits;
    cudaMemcpyToSymbol(world, spheres, sizeof spheres);
    cudaMallocManaged(&picture, w * h);
    cudaMallocManaged(&hits, sizeof(int));
    *hits = 0;
    render<<<dim3(w / 8 + 1, h / 8 + 1), dim3(8, 8)>>>(picture, hits, w, h);
    cudaDeviceSynchronize();
    for (int j = 0; j < h; j++)
        printf("%.*s\n", w, picture + j * w);
    printf("hits %d of %d\n", *hits, w * h);
}
