/* Errors and launches. The rewriter turns a kernel into a stub that launches itself. */
#ifndef INGOT_LAUNCH_H
#define INGOT_LAUNCH_H

#include "ingot_types.h"

/* Of the runtime's functions; cuda_runtime.h takes the names back. */
#define IG_CALL static inline cudaError_t
#define IG_HERE ig_cuda::place at = ig_cuda::here()

static inline const char *cudaGetErrorString(cudaError_t e) { return ig_cuda_error_text(e); }
static inline const char *cudaGetErrorName(cudaError_t e) { return ig_cuda_error_name(e); }
IG_CALL cudaGetLastError() { return (cudaError_t)ig_cuda_last_error(1); }
IG_CALL cudaPeekAtLastError() { return (cudaError_t)ig_cuda_last_error(0); }

namespace ig_cuda
{
/* The source line of a call. It is the last parameter of the runtime's functions, and callers omit it. */
struct place {
    const char *file;
    int line;
};
static inline place here(const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    return {file, line};
}
static inline void from(place at) { ig_cuda_call_at(at.file, at.line); }

static inline int ig_push(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = 0,
                          place at = here(), int is_call = 0)
{
    from(at);
    const uint32_t g[] = {grid.x, grid.y, grid.z}, b[] = {block.x, block.y, block.z};
    return ig_cuda_push(g, b, shared, stream, is_call);
}

/* The name of an instance, piece by piece. */
struct ig_name {
    char s[1000];
    size_t n;
    explicit ig_name(const char *begin) : n(0) { add(begin, strlen(begin)); }
    ig_name &add(const char *more, size_t bytes)
    {
        bytes = bytes < sizeof s - 1 - n ? bytes : sizeof s - 1 - n;
        memcpy(s + n, more, bytes);
        s[n += bytes] = 0;
        return *this;
    }
    ig_name &ig_text(const char *more) { return add(more, strlen(more)); }
    /* Adds the compiler's spelling of a type or value: the text from "= " to the closing bracket. */
    ig_name &told(const char *function)
    {
        const char *at = strstr(function, "ig_told = ");
        at = at ? at + strlen("ig_told = ") : function;
        while (*at == '&' || *at == '(')
            at++;
        size_t bytes = 0;
        int depth = 0;
        for (; at[bytes] && (depth || (at[bytes] != ']' && at[bytes] != ';')); bytes++)
            depth +=
                (at[bytes] == '<' || at[bytes] == '(') - (at[bytes] == '>' || at[bytes] == ')');
        return add(at, bytes);
    }
    template <typename ig_told> ig_name &ig_type() { return told(__PRETTY_FUNCTION__); }
    /* A parameter of a template, or all of a pack. */
    template <typename... T> ig_name &ig_types(const char *between)
    {
        ((ig_text(between).template ig_type<T>(), between = ", "), ...);
        return *this;
    }
    template <typename... T> ig_name &ig_values(const char *between, T... v)
    {
        ((ig_text(between).ig_value(v), between = ", "), ...);
        return *this;
    }
    template <auto ig_told> ig_name &ig_function() { return told(__PRETTY_FUNCTION__); }
    template <typename T> ig_name &ig_value(T v)
    {
        char t[64];
        if constexpr (std::is_same<T, bool>::value) {
            return ig_text(v ? "true" : "false");
        } else if constexpr (std::is_enum<T>::value) {
            ig_text("(").ig_type<T>().ig_text(")");
            snprintf(t, sizeof t, "%lld", (long long)v);
        } else if constexpr (std::is_integral<T>::value) {
            snprintf(t, sizeof t, std::is_signed<T>::value ? "%lld" : "%llu", (long long)v);
        } else {
            static_assert(std::is_integral<T>::value,
                          "a kernel template whose argument is neither a type nor an integer");
        }
        return ig_text(t);
    }
};

/* The type of a kernel's I-th parameter, or what it points to. */
template <typename F> struct ig_parameters;
template <typename... P> struct ig_parameters<void (*)(P...)> {
    template <size_t I>
    using at = std::remove_cv_t<
        std::remove_pointer_t<std::remove_reference_t<std::tuple_element_t<I, std::tuple<P...>>>>>;
};
template <typename F, size_t I> using ig_pointed = typename ig_parameters<F>::template at<I>;

/* A lambda for a kernel captures copies. */
template <typename T> struct ig_holds {
    using type = std::decay_t<T>;
    static_assert(
        !std::is_array<std::remove_reference_t<T>>::value,
        "a lambda for a kernel captures an array by value; capture a pointer or a struct");
};
template <typename T> using ig_held = typename ig_holds<T>::type;

/* The spelling of a kernel's type, which tells overloads apart. */
template <typename F> static inline ig_name type_name(F)
{
    return ig_name("").template ig_type<F>();
}

/* The sizes of a kernel's parameters: a reference is an address. */
template <typename... P> struct sizes_of {
    static constexpr size_t at[] = {(std::is_reference<P>::value ? sizeof(void *) : sizeof(P))...,
                                    0};
};
template <typename... P> constexpr const size_t *parameter_sizes(void (*)(P...))
{
    return sizes_of<P...>::at;
}
template <typename... P> constexpr int parameter_count(void (*)(P...)) { return sizeof...(P); }

/* The kernel of a stub, registered with the library before main. */
template <typename Id, auto Stub> struct known {
    static ig_cuda_kernel *kernel;
};
template <typename Id, auto Stub>
ig_cuda_kernel *known<Id, Stub>::kernel = ig_cuda_kernel_add(Id::ig_unit(), (const void *)Stub,
                                                             Id::ig_own().s, type_name(Stub).s,
                                                             parameter_sizes(Stub),
                                                             parameter_count(Stub));

/* Launches a kernel. A reference is passed as an address. */
template <typename... P, typename... A>
static inline void launch_with(ig_cuda_kernel *kernel, void (*)(P...), A &...a)
{
    void *values[] = {(void *)&a..., 0};
    void *args[] = {(std::is_reference<P>::value ? (void *)&a : 0)..., 0};
    for (size_t i = 0; i < sizeof...(P); i++)
        args[i] = args[i] ? &values[i] : values[i];
    ig_cuda_launch(kernel, args, sizes_of<P...>::at, (int)sizeof...(P));
}
template <typename Id, auto Stub, typename... A> static inline void ig_launch(A &...a)
{
    launch_with(known<Id, Stub>::kernel, Stub, a...);
}

IG_CALL error(int e) { return (cudaError_t)e; }
IG_CALL fail(cudaError_t e) { return (cudaError_t)ig_cuda_fail(e); }
} // namespace ig_cuda

namespace ig_cuda
{
IG_CALL launch_stub(const void *f, dim3 grid, dim3 block, void **args, size_t shared,
                    cudaStream_t stream, place at, int cooperative)
{
    const int e = ig_push(grid, block, shared, stream, at, 1);
    return (cudaError_t)(e ? e : ig_cuda_launch_stub(f, args, cooperative));
}
} // namespace ig_cuda
IG_CALL cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared = 0,
                         cudaStream_t stream = 0, IG_HERE)
{
    return ig_cuda::launch_stub(f, grid, block, args, shared, stream, at, 0);
}
template <typename F>
IG_CALL cudaLaunchKernel(F *f, dim3 grid, dim3 block, void **args, size_t shared = 0,
                         cudaStream_t stream = 0, IG_HERE)
{
    return cudaLaunchKernel((const void *)f, grid, block, args, shared, stream, at);
}
/* Kernels with a barrier of the whole grid compile for NVIDIA GPUs alone; on other devices blocks need not run
 * at the same time. */
template <typename F>
IG_CALL cudaLaunchCooperativeKernel(F *f, dim3 grid, dim3 block, void **args, size_t shared = 0,
                                    cudaStream_t stream = 0, IG_HERE)
{
    return ig_cuda::launch_stub((const void *)f, grid, block, args, shared, stream, at, 1);
}

/* A hint: memory that should stay in the cache. */
enum cudaAccessProperty {
    cudaAccessPropertyNormal,
    cudaAccessPropertyStreaming,
    cudaAccessPropertyPersisting
};
struct cudaAccessPolicyWindow {
    void *base_ptr;
    size_t num_bytes;
    float hitRatio;
    enum cudaAccessProperty hitProp, missProp;
};
enum cudaSynchronizationPolicy {
    cudaSyncPolicyAuto = 1,
    cudaSyncPolicySpin,
    cudaSyncPolicyYield,
    cudaSyncPolicyBlockingSync
};

/* Attributes: other devices than NVIDIA GPUs refuse clusters of several blocks. The structs are CUDA's, as far as programs set them. */
enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore = 0,
    cudaLaunchAttributeAccessPolicyWindow = 1,
    cudaLaunchAttributeCooperative = 2,
    cudaLaunchAttributeSynchronizationPolicy = 3,
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeClusterSchedulingPolicyPreference = 5,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6,
    cudaLaunchAttributePriority = 8,
    cudaLaunchAttributePreferredClusterDimension = 11,
    cudaLaunchAttributePreferredSharedMemoryCarveout = 14
};
union cudaLaunchAttributeValue {
    char pad[64];
    struct cudaAccessPolicyWindow accessPolicyWindow;
    enum cudaSynchronizationPolicy syncPolicy;
    int cooperative;
    struct {
        unsigned x, y, z;
    } clusterDim, preferredClusterDim;
    int clusterSchedulingPolicyPreference, programmaticStreamSerializationAllowed, priority;
    unsigned sharedMemCarveout;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    char pad[8 - sizeof(cudaLaunchAttributeID)];
    cudaLaunchAttributeValue val;
};
static_assert(sizeof(cudaLaunchAttribute) == 72, "the library reads them");
struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute *attrs;
    unsigned numAttrs;
};
namespace ig_cuda
{
static inline int push(const cudaLaunchConfig_t *c, place at)
{
    const int e = ig_push(c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream, at, 1);
    return e || !c->numAttrs ? e : ig_cuda_push_attributes(c->attrs, c->numAttrs);
}
} // namespace ig_cuda
template <typename... P, typename... A>
IG_CALL cudaLaunchKernelEx(const cudaLaunchConfig_t *c, void (*kernel)(P...), A &&...args)
{
    const cudaError_t before = cudaGetLastError(); /* the result is the error of this launch */
    if (!ig_cuda::push(c, ig_cuda::here()))
        kernel(std::forward<A>(args)...);
    const cudaError_t e = cudaPeekAtLastError();
    if (before && !e)
        ig_cuda::fail(before);
    return e;
}
IG_CALL cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *f, void **args, IG_HERE)
{
    const int e = ig_cuda::push(c, at);
    return (cudaError_t)(e ? e : ig_cuda_launch_stub(f, args, 0));
}

#endif
