/* Names that the device side has, and names that only the host has: see device.h. */
#include "cuda/device.h"

#include "cuda/name_set.h"

#include <string.h>

/* Names of std:: in ingot_nvrtc.h. */
static const char *const device_std[] = {
#define NAME(name) #name,
#include "cuda/device_std.def"
#undef NAME
};

/* Types of the host's library, which `using namespace std` makes visible, and of CUDA's host interface. */
static const char *const host_types[] = {"FILE",
                                         "GLuint",
                                         "MPI_Comm",
                                         "any",
                                         "atomic",
                                         "basic_string",
                                         "bitset",
                                         "chrono",
                                         "condition_variable",
                                         "cublasHandle_t",
                                         "cublasStatus_t",
                                         "cudaArray_t",
                                         "cudaDeviceProp",
                                         "cudaFuncAttributes",
                                         "cudaGraphExec_t",
                                         "cudaGraph_t",
                                         "cudaMemPool_t",
                                         "cudaPointerAttributes",
                                         "cudnnHandle_t",
                                         "cudnnStatus_t",
                                         "cufftHandle",
                                         "cufftResult",
                                         "curandGenerator_t",
                                         "cusolverDnHandle_t",
                                         "cusparseHandle_t",
                                         "cusparseStatus_t",
                                         "default_random_engine",
                                         "deque",
                                         "duration",
                                         "duration_cast",
                                         "exception",
                                         "forward_list",
                                         "fstream",
                                         "function",
                                         "future",
                                         "high_resolution_clock",
                                         "ifstream",
                                         "ios",
                                         "iostream",
                                         "istream",
                                         "istringstream",
                                         "list",
                                         "map",
                                         "microseconds",
                                         "milliseconds",
                                         "mt19937",
                                         "multimap",
                                         "multiset",
                                         "mutex",
                                         "nanoseconds",
                                         "normal_distribution",
                                         "ofstream",
                                         "optional",
                                         "ostream",
                                         "ostringstream",
                                         "priority_queue",
                                         "promise",
                                         "pthread_mutex_t",
                                         "pthread_t",
                                         "queue",
                                         "random_device",
                                         "runtime_error",
                                         "set",
                                         "shared_ptr",
                                         "stack",
                                         "steady_clock",
                                         "streambuf",
                                         "string",
                                         "string_view",
                                         "stringbuf",
                                         "stringstream",
                                         "system_clock",
                                         "thread",
                                         "time_point",
                                         "timespec",
                                         "timeval",
                                         "uniform_int_distribution",
                                         "uniform_real_distribution",
                                         "unique_ptr",
                                         "unordered_map",
                                         "unordered_set",
                                         "variant",
                                         "vector",
                                         "weak_ptr"};

static const char *const conversions[] = {"alignof", "bool",     "char",  "decltype", "double",
                                          "float",   "int",      "long",  "short",    "sizeof",
                                          "signed",  "unsigned", "size_t"};

static const char *const namespaces[] = {
    "cooperative_groups", "cub", "cuda", "cute", "cutlass", "nvcuda", "std", "thrust"};

/* Headers, or folders of headers with a final slash; '*' stands for any ending. */
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

/* True if the token names a member: it follows '.' or "->". */
static bool is_member(const scan *s, int i)
{
    return i >= 1 && (s->at[i - 1].mark == '.' ||
                      (i >= 2 && s->at[i - 1].mark == '>' && s->at[i - 2].mark == '-'));
}

/* True if the next tokens show that the word is a type, not a declared name. */
static bool is_type(const scan *s, int i)
{
    const scan_token *next = &s->at[i + 1];
    return next->kind == SCAN_NAME || (next->mark && strchr("<>*&:", next->mark)) ||
           (next->mark == ';' && i > 0 && s->at[i - 1].mark == '=');
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
        if (is_type(s, i) && !is_qualified(s, i) && !name_set_has(&job->device_types, t) &&
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
        if (t->directive || t->kind != SCAN_NAME || is_member(s, i))
            continue;
        if (scan_is(t, "new") || name_set_has(&job->host_values, t))
            return true;
        if (s->at[i + 1].mark != '(')
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
