/* A peer for bench/opencl: f32 matrix products of CLBlast on an OpenCL device.
 *
 *   clblast DEVICE N SECONDS    DEVICE is the number of the device among all devices of all platforms
 *
 * Prints the median and the best time of a product in seconds, after one that is checked and not counted. */
#define CL_TARGET_OPENCL_VERSION 120
#include <clblast_c.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DEVICES_MOST = 16, TIMES_MOST = 1000 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const char *what, int code)
{
    fprintf(stderr, "clblast: %s failed with code %d\n", what, code);
    return 1;
}

static cl_device_id device_at(int number)
{
    cl_platform_id platform[DEVICES_MOST];
    cl_device_id device[DEVICES_MOST];
    cl_uint n_platform = 0;
    if (clGetPlatformIDs(DEVICES_MOST, platform, &n_platform) != CL_SUCCESS)
        return NULL;
    for (cl_uint i = 0; i < n_platform; i++) {
        cl_uint n = 0;
        if (clGetDeviceIDs(platform[i], CL_DEVICE_TYPE_ALL, DEVICES_MOST, device, &n) != CL_SUCCESS)
            continue;
        if (number < (int)n)
            return device[number];
        number -= (int)n;
    }
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One product, finished. */
static int multiply(size_t n, cl_mem a, cl_mem b, cl_mem c, cl_command_queue queue)
{
    const CLBlastStatusCode status =
        CLBlastSgemm(CLBlastLayoutRowMajor, CLBlastTransposeNo, CLBlastTransposeNo, n, n, n, 1, a,
                     0, n, b, 0, n, 0, c, 0, n, &queue, NULL);
    return status == CLBlastSuccess ? clFinish(queue) : (int)status;
}

/* The element in the middle, against double. */
static int is_right(const float *a, const float *b, const float *c, size_t n)
{
    const size_t row = n / 2, column = n / 3;
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += (double)a[row * n + k] * (double)b[k * n + column];
    return fabs(sum - (double)c[row * n + column]) < 1e-3 * (1 + fabs(sum));
}

static int measure(cl_device_id device, size_t n, double seconds)
{
    cl_int status;
    const size_t bytes = n * n * sizeof(float);
    float *a = malloc(bytes), *b = malloc(bytes), *c = malloc(bytes);
    double times[TIMES_MOST];
    int made = 0;
    if (!a || !b || !c)
        return fail("malloc", 0);
    for (size_t i = 0; i < n * n; i++) {
        a[i] = (float)(i * 7919 % 1000) / 500 - 1;
        b[i] = (float)(i * 104729 % 1000) / 500 - 1;
    }
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    if (status != CL_SUCCESS)
        return fail("clCreateContext", status);
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    if (status != CL_SUCCESS)
        return fail("clCreateCommandQueue", status);
    const cl_mem_flags copied = CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR;
    cl_mem on[3] = {clCreateBuffer(context, copied, bytes, a, NULL),
                    clCreateBuffer(context, copied, bytes, b, NULL),
                    clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &status)};
    if (status != CL_SUCCESS)
        return fail("clCreateBuffer", status);
    status = multiply(n, on[0], on[1], on[2], queue);
    if (status)
        return fail("CLBlastSgemm", status);
    status = clEnqueueReadBuffer(queue, on[2], CL_TRUE, 0, bytes, c, 0, NULL, NULL);
    if (status || !is_right(a, b, c, n))
        return fail("the check of the product", status);
    const double end = now_s() + seconds;
    while (made < TIMES_MOST && (made < 3 || now_s() < end)) {
        const double begin = now_s();
        status = multiply(n, on[0], on[1], on[2], queue);
        times[made++] = now_s() - begin;
        if (status)
            return fail("CLBlastSgemm", status);
    }
    qsort(times, (size_t)made, sizeof *times, by_size);
    printf("%.9f %.9f\n", times[made / 2], times[0]);
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(on[i]);
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
    free(a);
    free(b);
    free(c);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: clblast DEVICE N SECONDS\n");
        return 2;
    }
    cl_device_id device = device_at(atoi(argv[1]));
    if (!device)
        return fail("finding the device", 0);
    return measure(device, (size_t)atoi(argv[2]), atof(argv[3]));
}
