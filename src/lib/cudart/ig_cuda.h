/* The functions that a whole CUDA program calls through the cuda_runtime.h of `ingot run`.
 *
 * They are exported only for that header. They may change with every version, as the header does, and are not
 * part of ingot.h. Results are numbers of cuda_errors.def. As in CUDA, a failure is also kept until
 * ig_cuda_last_error reads it. An error of a running kernel is permanent: all later calls return it. On an
 * NVIDIA GPU the driver does the work, as in CUDA. On other devices work is done in the order of the calls,
 * regardless of its stream. */
#ifndef CUDART_IG_CUDA_H
#define CUDART_IG_CUDA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define IG_CUDA_API __attribute__((visibility("default")))

/* A source file with device code. The rewriter defines one in each file that is compiled. It has its text in one or
 * both of two forms: as it is written, for modules of the library, and its device side, for NVRTC. Lists end with NULL.
 * Lists of headers have names and texts in turn: the files that the text includes, by the names in that text. */
typedef struct ig_cuda_unit {
    const char *name;
    const char *text, *const *headers;         /* as written; NULL: only an NVIDIA GPU can run it */
    const char *gpu_text, *const *gpu_headers; /* the device side; NULL: only modules can run it */
    const char *const *defines, *const *folders;
    const char *const *options; /* for NVRTC */
    int is_linked; /* its device code is linked with the other units that have this flag */
    void *state;   /* the library's; initially NULL */
    struct ig_cuda_unit *next; /* the library's list of linked units */
} ig_cuda_unit;

/* Registers a unit with the flag is_linked; call it before the first launch. */
IG_CUDA_API int ig_cuda_unit_add(ig_cuda_unit *unit);
/* Registers a kernel under the address of its stub; call it before the first launch. name includes template
 * arguments: "tile<float, 16>". type is the type of a pointer to it: "void (*)(float*)". Texts are copied. sizes, which is
 * not copied, are the bytes of the n parameters. */
typedef struct ig_cuda_kernel ig_cuda_kernel;
IG_CUDA_API ig_cuda_kernel *ig_cuda_kernel_add(ig_cuda_unit *unit, const void *stub,
                                               const char *name, const char *type,
                                               const size_t *sizes, int n);
/* Registers a device variable under the address of the host variable of that name. While no kernel runs, the
 * host variable holds the value of a managed variable. */
IG_CUDA_API int ig_cuda_variable_add(ig_cuda_unit *unit, void *shadow, const char *name,
                                     size_t bytes, int managed);

/* The source line of the calling thread's next call, for messages. file is a literal. */
IG_CUDA_API void ig_cuda_call_at(const char *file, int line);

/* Sets the shape of the calling thread's next launch. If the result is not 0, the shape is refused, and the
 * caller must skip the launch. is_call: the program receives the result, as with cudaLaunchKernel. */
IG_CUDA_API int ig_cuda_push(const uint32_t grid[3], const uint32_t block[3], size_t shared_bytes,
                             void *stream, int is_call);
/* Adds cudaLaunchAttributes to the shape. They must stay valid until the launch. */
IG_CUDA_API int ig_cuda_push_attributes(const void *attributes, unsigned n);
/* Launches with the shape that was set; args and sizes describe the n parameters. */
IG_CUDA_API int ig_cuda_launch(ig_cuda_kernel *kernel, void *const *args, const size_t *sizes,
                               int n);
/* The same by the stub's address, as in cudaLaunchKernel. With `cooperative`, all blocks run at the same
 * time. */
IG_CUDA_API int ig_cuda_launch_stub(const void *stub, void *const *args, int cooperative);

typedef struct ig_cuda_attributes {
    size_t shared_bytes, local_bytes, constant_bytes;
    int max_threads, registers, dynamic_shared_bytes, version;
} ig_cuda_attributes;
IG_CUDA_API int ig_cuda_function(const void *stub, ig_cuda_attributes *a);
/* Sets a cudaFuncAttribute: 8, the limit of a kernel's dynamic shared memory, or a hint. */
IG_CUDA_API int ig_cuda_function_set(const void *stub, int attribute, int value);
/* The number of blocks of a kernel that a multiprocessor runs at the same time. */
IG_CUDA_API int ig_cuda_occupancy(const void *stub, int threads, size_t shared_bytes, int *blocks);

/* Kinds of memory. */
enum { IG_CUDA_HOST, IG_CUDA_PINNED, IG_CUDA_DEVICE, IG_CUDA_MANAGED };
IG_CUDA_API int ig_cuda_alloc(void **at, size_t bytes, int kind);
IG_CUDA_API int ig_cuda_free(void *at, int pinned);
/* Stream-ordered allocation of device memory. */
IG_CUDA_API int ig_cuda_alloc_async(void **at, size_t bytes, void *stream);
IG_CUDA_API int ig_cuda_free_async(void *at, void *stream);
/* Registers host memory as pinned, and unregisters it. */
IG_CUDA_API int ig_cuda_adopt(void *at, size_t bytes);
IG_CUDA_API int ig_cuda_forget(void *at);
IG_CUDA_API int ig_cuda_kind(const void *at);
/* The device address of pinned memory. */
IG_CUDA_API int ig_cuda_mapped(void *host, void **device);
/* Copies rows of width bytes; kind is a cudaMemcpyKind. The pitch of a single row is ignored. */
IG_CUDA_API int ig_cuda_copy(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                             size_t width, size_t height, int kind, void *stream, int is_async);
IG_CUDA_API int ig_cuda_fill(void *at, size_t pitch, int value, size_t width, size_t height,
                             void *stream, int is_async);
/* The device variable of a host variable. */
IG_CUDA_API int ig_cuda_symbol(const void *shadow, void **at, size_t *bytes);
/* A range of it, which must lie inside. */
IG_CUDA_API int ig_cuda_symbol_range(const void *shadow, size_t offset, size_t bytes, void **at);

/* Texels: the bits of their components, and 0 for signed integers, 1 for unsigned ones, 2 for floats. */
typedef struct ig_cuda_texels {
    int bits[4], kind;
} ig_cuda_texels;
/* An array of texels in one to three dimensions, as in CUDA: height and depth may be 0. Its flags are CUDA's. */
typedef struct ig_cuda_array {
    ig_cuda_texels texels;
    size_t width, height, depth, texel_bytes;
    unsigned flags;
    char *data; /* its rows, without gaps */
} ig_cuda_array;
IG_CUDA_API int ig_cuda_array_new(ig_cuda_array **array, ig_cuda_texels texels, size_t width,
                                  size_t height, size_t depth, unsigned flags);
IG_CUDA_API int ig_cuda_array_free(ig_cuda_array *array);
/* One side of a copy of planes of rows: an array, or memory with `rows` rows of `pitch` bytes per plane; x counts
 * bytes. */
typedef struct ig_cuda_box {
    ig_cuda_array *array;
    char *at;
    size_t pitch, rows, x, y, z;
} ig_cuda_box;
/* extent: bytes, rows, planes. */
IG_CUDA_API int ig_cuda_copy_box(const ig_cuda_box *to, const ig_cuda_box *from,
                                 const size_t extent[3], int kind, void *stream, int is_async);
/* The memory of a texture or surface, and how it is read; numbers as in CUDA's enums. Of memory (resource 2), width is in
 * bytes; of rows of memory (3), in texels. */
typedef struct ig_cuda_texture {
    int resource;
    ig_cuda_array *array;
    void *at;
    ig_cuda_texels texels;
    size_t width, height, pitch;
    int address[3], filter, read_mode, normalized, srgb;
    float border[4];
} ig_cuda_texture;
IG_CUDA_API int ig_cuda_texture_new(unsigned long long *object, const ig_cuda_texture *about);
IG_CUDA_API int ig_cuda_texture_free(unsigned long long object);
IG_CUDA_API int ig_cuda_surface_new(unsigned long long *object, const ig_cuda_texture *about);
IG_CUDA_API int ig_cuda_surface_free(unsigned long long object);

/* Streams and events. NULL is the default stream, 1 and 2 are cudaStreamLegacy and cudaStreamPerThread. */
IG_CUDA_API int ig_cuda_stream_new(void **stream, unsigned flags, int priority);
IG_CUDA_API int ig_cuda_stream_free(void *stream);
IG_CUDA_API int ig_cuda_stream_wait(void *stream);
IG_CUDA_API int ig_cuda_stream_query(void *stream);
IG_CUDA_API int ig_cuda_stream_after(void *stream, void *event);
IG_CUDA_API int ig_cuda_stream_about(void *stream, unsigned *flags, int *priority);
/* Calls f(context) on the host when the stream reaches this point; as in CUDA, f must not call the
 * runtime. */
IG_CUDA_API int ig_cuda_stream_call(void *stream, void (*f)(void *context), void *context);
IG_CUDA_API int ig_cuda_priorities(int *least, int *greatest);
IG_CUDA_API int ig_cuda_event_new(void **event, unsigned flags);
IG_CUDA_API int ig_cuda_event_free(void *event);
IG_CUDA_API int ig_cuda_event_record(void *event, void *stream);
IG_CUDA_API int ig_cuda_event_wait(void *event);
IG_CUDA_API int ig_cuda_event_query(void *event);
IG_CUDA_API int ig_cuda_event_time(void *from, void *to, float *milliseconds);

/* Graphs. The numbers of nodes are CUDA's. */
enum {
    IG_CUDA_NODE_KERNEL,
    IG_CUDA_NODE_COPY,
    IG_CUDA_NODE_FILL,
    IG_CUDA_NODE_CALL,
    IG_CUDA_NODE_GRAPH,
    IG_CUDA_NODE_EMPTY,
    IG_CUDA_NODE_WAIT,
    IG_CUDA_NODE_RECORD,
    IG_CUDA_NODE_ALLOC = 10,
    IG_CUDA_NODE_FREE,
    IG_CUDA_NODE_CONDITION = 13
};
enum { IG_CUDA_BODIES_MOST = 8 };
typedef struct ig_cuda_graph ig_cuda_graph;
typedef struct ig_cuda_node ig_cuda_node;
typedef struct ig_cuda_exec ig_cuda_exec;
/* The work of a node: the fields of its type. */
typedef struct ig_cuda_step {
    int type;
    const void *stub; /* a kernel: its stub's address, shape and parameters */
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    int is_cooperative;
    void *const *args;
    ig_cuda_box to, from; /* a copy: ig_cuda_copy_box */
    size_t extent[3];
    int kind;
    void *
        at; /* a fill: rows of width values of `element` bytes; and the address of allocated or freed memory */
    size_t pitch, width, height;
    unsigned value, element;
    void (*call)(void *context);
    void *context;
    ig_cuda_graph *graph; /* a child */
    void *event;
    size_t bytes;                 /* to allocate */
    unsigned long long condition; /* a condition: its handle; 0 if, 1 while, 2 switch */
    int condition_type, n_bodies;
    ig_cuda_graph **bodies; /* only of ig_cuda_node_about */
} ig_cuda_step;
IG_CUDA_API int ig_cuda_graph_new(ig_cuda_graph **graph);
IG_CUDA_API int ig_cuda_graph_free(ig_cuda_graph *graph);
IG_CUDA_API int ig_cuda_graph_clone(ig_cuda_graph **copy, const ig_cuda_graph *graph);
/* The node of a clone that corresponds to a node of the original. */
IG_CUDA_API int ig_cuda_graph_find_copy(ig_cuda_node **copy, const ig_cuda_node *original,
                                        ig_cuda_graph *clone);
/* Adds a node that runs after n_after others. */
IG_CUDA_API int ig_cuda_graph_add(ig_cuda_node **node, ig_cuda_graph *graph,
                                  ig_cuda_node *const *after, size_t n_after,
                                  const ig_cuda_step *step);
/* Lists of nodes: *n is the room of the list, then its length; without a list, the number of all. */
IG_CUDA_API int ig_cuda_graph_nodes(const ig_cuda_graph *graph, int roots_only,
                                    ig_cuda_node **nodes, size_t *n);
IG_CUDA_API int ig_cuda_graph_edges(const ig_cuda_graph *graph, ig_cuda_node **from,
                                    ig_cuda_node **to, size_t *n);
IG_CUDA_API int ig_cuda_node_neighbors(const ig_cuda_node *node, int is_after_it,
                                       ig_cuda_node **nodes, size_t *n);
IG_CUDA_API int ig_cuda_node_about(ig_cuda_node *node, ig_cuda_step *step);
IG_CUDA_API int ig_cuda_node_set(ig_cuda_node *node, const ig_cuda_step *step);
IG_CUDA_API int ig_cuda_node_edge(ig_cuda_node *from, ig_cuda_node *to, int is_removed);
IG_CUDA_API int ig_cuda_node_free(ig_cuda_node *node);
/* A condition: an unsigned int in device memory at the address `handle`. */
IG_CUDA_API int ig_cuda_graph_condition_new(unsigned long long *handle, ig_cuda_graph *graph,
                                            unsigned initial, int is_set);
IG_CUDA_API int ig_cuda_exec_new(ig_cuda_exec **exec, const ig_cuda_graph *graph);
IG_CUDA_API int ig_cuda_exec_free(ig_cuda_exec *exec);
IG_CUDA_API int ig_cuda_exec_launch(ig_cuda_exec *exec, void *stream);
/* Replaces the work of the node that corresponds to a node of the graph that the exec was made of. */
IG_CUDA_API int ig_cuda_exec_set(ig_cuda_exec *exec, const ig_cuda_node *node,
                                 const ig_cuda_step *step);
/* Replaces all work; *result is a cudaGraphExecUpdateResult. */
IG_CUDA_API int ig_cuda_exec_update(ig_cuda_exec *exec, const ig_cuda_graph *graph, int *result);
/* Memory of graphs in bytes, by cudaGraphMemAttributeType; reset: of the most so far. */
IG_CUDA_API int ig_cuda_graph_memory(int which, size_t *value, int reset);
/* Captures a stream into a new graph, or into one that is there. */
IG_CUDA_API int ig_cuda_capture_begin(void *stream, int mode, ig_cuda_graph *into,
                                      ig_cuda_node *const *after, size_t n_after);
IG_CUDA_API int ig_cuda_capture_end(void *stream, ig_cuda_graph **graph);
/* The capture of a stream, and the nodes after which its next work runs; an id of 0: none. */
IG_CUDA_API int ig_cuda_capture_about(void *stream, unsigned long long *id, ig_cuda_graph **graph,
                                      ig_cuda_node *const **last, size_t *n);
IG_CUDA_API int ig_cuda_capture_after(void *stream, ig_cuda_node *const *nodes, size_t n,
                                      int is_replaced);

IG_CUDA_API int ig_cuda_synchronize(void);
IG_CUDA_API int ig_cuda_reset(void);
IG_CUDA_API int ig_cuda_last_error(int forget);
/* Records an error that a header found; returns it. */
IG_CUDA_API int ig_cuda_fail(int error);
IG_CUDA_API const char *ig_cuda_error_name(int error);
IG_CUDA_API const char *ig_cuda_error_text(int error);

typedef struct ig_cuda_facts {
    char name[128];
    uint64_t memory, memory_used, shared_bytes; /* the last: the opt-in maximum per block */
    uint64_t cache_bytes;                       /* of the last level; 0: unknown */
    int cores, threads;                         /* threads of a block */
    int waits;          /* blocks may wait for others: cooperative launches */
    int driver_version; /* of CUDA's driver; 0: there is none, and ig_cuda_attribute fails */
    char bus[32];
} ig_cuda_facts;
IG_CUDA_API int ig_cuda_device(ig_cuda_facts *facts);
/* A cudaDeviceAttr of an NVIDIA GPU. */
IG_CUDA_API int ig_cuda_attribute(int attribute, int *value);
/* A cudaLimit. */
IG_CUDA_API int ig_cuda_limit(int limit, size_t *value, int set);

/* ---- the driver API: modules that a program loads ---- */

typedef struct ig_cuda_module ig_cuda_module;
/* Loads an image: text that begins with IG_CUDA_IMAGE; on an NVIDIA GPU also what its driver takes. */
IG_CUDA_API int ig_cuda_module_load(void **module, const void *image);
IG_CUDA_API int ig_cuda_module_unload(ig_cuda_module *module);
/* A kernel by its name, which may be mangled. It is its own stub in the functions above. */
IG_CUDA_API int ig_cuda_module_function(ig_cuda_module *module, const char *name,
                                        ig_cuda_kernel **kernel);
IG_CUDA_API int ig_cuda_module_global(ig_cuda_module *module, const char *name, void **at,
                                      size_t *bytes);
/* Launches with the shape that was set. The arguments are pointers to values, or `extra` is cuLaunchKernel's. */
IG_CUDA_API int ig_cuda_launch_function(ig_cuda_kernel *kernel, void *const *args, void **extra,
                                        int cooperative);

/* The first line of an image. Records follow: "NAME BYTES", a line end, the bytes, a line end. The names: name, text,
 * header (a name, then a text), gpu_text, gpu_header, define, folder, option, expression. */
#define IG_CUDA_IMAGE "//ingot device code 1\n"

/* ---- NVRTC: results are nvrtcResult's ---- */

typedef struct ig_cuda_program ig_cuda_program;
IG_CUDA_API int ig_cuda_program_new(ig_cuda_program **program, const char *text, const char *name,
                                    int n, const char *const *headers,
                                    const char *const *header_names);
IG_CUDA_API void ig_cuda_program_free(ig_cuda_program *program);
IG_CUDA_API int ig_cuda_program_expression(ig_cuda_program *program, const char *expression);
IG_CUDA_API int ig_cuda_program_compile(ig_cuda_program *program, int n,
                                        const char *const *options);
IG_CUDA_API int ig_cuda_program_symbol(const ig_cuda_program *program, const char *expression,
                                       const char **name);
/* Each pointer may be NULL. The sizes count the zero byte. */
IG_CUDA_API int ig_cuda_program_log(const ig_cuda_program *program, size_t *bytes, char *log);
IG_CUDA_API int ig_cuda_program_image(const ig_cuda_program *program, size_t *bytes, char *image);

#ifdef __cplusplus
}
#endif
#endif
