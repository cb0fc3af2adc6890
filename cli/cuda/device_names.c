/* Names that the device's side has, and those that only the host has: see device.h. */
#include "cuda/device.h"

#include "cuda/name_set.h"

#include <string.h>

/* Of std:: in ingot_nvrtc.h. */
static const char *const device_std[] = {
#define NAME(name) #name,
#include "cuda/device_std.def"
#undef NAME
};

/* Types of the host's library, which `using namespace std` makes visible, and of CUDA's. */
static const char *const host_types[] = {"FILE",
                                         "basic_string",
                                         "chrono",
                                         "condition_variable",
                                         "cublasHandle_t",
                                         "cudaDeviceProp",
                                         "cudaFuncAttributes",
                                         "cudaGraphExec_t",
                                         "cudaGraph_t",
                                         "cudaPointerAttributes",
                                         "cudnnHandle_t",
                                         "cufftHandle",
                                         "curandGenerator_t",
                                         "cusolverDnHandle_t",
                                         "cusparseHandle_t",
                                         "deque",
                                         "fstream",
                                         "ifstream",
                                         "istream",
                                         "list",
                                         "map",
                                         "mt19937",
                                         "multimap",
                                         "mutex",
                                         "ofstream",
                                         "ostream",
                                         "ostringstream",
                                         "priority_queue",
                                         "pthread_mutex_t",
                                         "pthread_t",
                                         "queue",
                                         "set",
                                         "shared_ptr",
                                         "stack",
                                         "string",
                                         "stringstream",
                                         "string_view",
                                         "thread",
                                         "timespec",
                                         "timeval",
                                         "unique_ptr",
                                         "unordered_map",
                                         "unordered_set",
                                         "vector"};

static const char *const conversions[] = {"alignof", "bool",     "char",  "decltype", "double",
                                          "float",   "int",      "long",  "short",    "sizeof",
                                          "signed",  "unsigned", "size_t"};

static const char *const namespaces[] = {
    "cooperative_groups", "cub", "cuda", "cute", "cutlass", "nvcuda", "std", "thrust"};

/* Headers, or folders of headers, that end with a slash; '*' stands for any ending. */
static const char *const headers[] = {"cooperative_groups.h",
                                      "cooperative_groups/",
                                      "crt/",
                                      "cub/",
                                      "cuComplex.h",
                                      "cuda/",
                                      "cuda_awbarrier*",
                                      "cuda_bf16.h",
                                      "cuda_fp*",
                                      "cuda_pipeline*",
                                      "curand_kernel.h",
                                      "curand_*",
                                      "cute/",
                                      "cutlass/",
                                      "math_constants.h",
                                      "mma.h",
                                      "nv/",
                                      "thrust/"};

#define COUNT(list) (sizeof(list) / sizeof *(list))

static bool is_one_of(const scan_token *t, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (scan_is(t, words[i]))
            return true;
    return false;
}

static bool is_qualified(const scan *s, int i)
{
    return i >= 2 && s->at[i - 1].mark == ':' && s->at[i - 2].mark == ':';
}

/* True if the token is a member of something: behind '.' or "->". */
static bool is_member(const scan *s, int i)
{
    return i >= 1 && (s->at[i - 1].mark == '.' ||
                      (i >= 2 && s->at[i - 1].mark == '>' && s->at[i - 2].mark == '-'));
}

bool device_needs_host(const rewrite_job *job, const scan *s, int from, int to)
{
    for (int i = from; i <= to; i++) {
        const scan_token *t = &s->at[i];
        if (t->directive || t->kind != SCAN_NAME || is_member(s, i))
            continue;
        const bool is_std = i >= 3 && is_qualified(s, i) && scan_is(&s->at[i - 3], "std");
        if (is_std && !is_one_of(t, device_std, COUNT(device_std)))
            return true;
        if (!is_qualified(s, i) && !name_set_has(&job->device_types, t) &&
            is_one_of(t, host_types, COUNT(host_types)))
            return true;
        if (name_set_has(&job->host_types, t))
            return true;
    }
    return false;
}

bool device_calls_host(const rewrite_job *job, const scan *s, int from, int to)
{
    for (int i = from; i < to; i++) {
        const scan_token *t = &s->at[i];
        if (t->directive || t->kind != SCAN_NAME || s->at[i + 1].mark != '(')
            continue;
        if (!is_one_of(t, conversions, COUNT(conversions)) && !name_set_has(&job->macros, t) &&
            !name_set_has(&job->device_types, t))
            return true;
    }
    return false;
}

bool device_has_header(const char *name, size_t bytes)
{
    for (size_t i = 0; i < COUNT(headers); i++) {
        const size_t n = strlen(headers[i]);
        const bool begins = strchr("/*", headers[i][n - 1]) != NULL;
        const size_t same = n - (headers[i][n - 1] == '*');
        if (bytes >= same && memcmp(name, headers[i], same) == 0 && (begins || bytes == n))
            return true;
    }
    return false;
}

bool device_has_namespace(const rewrite_job *job, const scan *s, int first, int last)
{
    if (scan_is(&s->at[first], "std"))
        return first == last;
    return is_one_of(&s->at[first], namespaces, COUNT(namespaces)) ||
           name_set_has(&job->namespaces, &s->at[first]);
}
