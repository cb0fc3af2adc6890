/* A module: the kernels and variables of one source, and what devices made of them. Launches on buffers
 * only; arrays are the engine's.
 *
 * Any thread may call these functions for any module. A launch holds the module's lock, so launches of one
 * module run one after another. Whoever holds the engine's lock may take a module's, never the other way
 * round. */
#ifndef MODULE_MODULE_H
#define MODULE_MODULE_H

#include "engine/backend/lanes.h"
#include "compiler/tree.h"

/* As ig_module_new. *said receives the messages about kernels with errors (memory_free), or NULL. */
ig_module *module_new(const char *name, const char *source, const kernel_parse_options *options,
                      char **said);

/* All launches will have blocks of one axis and of whole warps: called before the first. */
void module_whole_warps(ig_module *m);

/* From here to module_batch_end, kernels of such modules for the device, which has kernels_build, are not built: module_code gives
 * NULL. Modules that are freed until then are left out. All uses of such modules hold one lock, the engine's. Returns false
 * if this has begun already. */
bool module_batch_begin(const backend *dev);
/* What becomes of these kernels. */
typedef enum batch_way {
    BATCH_JOINED, /* few texts of many kernels: the fastest, if they are used together again, because the cache has texts */
    BATCH_APART,  /* by several threads, a text of each */
    BATCH_DROPPED /* module_code builds them when it is asked again */
} batch_way;
void module_batch_end(batch_way way);

/* What a launch needs to know about a kernel. */
typedef struct module_kernel {
    const ig_kernel_info *info;
    const size_t *offsets; /* of its parameters in the packed arguments */
    size_t argument_bytes;
    size_t shared_bytes;         /* static ones */
    uint32_t max_threads;        /* of a block, as declared in the source; 0: not declared */
    const char *warnings;        /* where the device differs from the source, or NULL */
    const kernel_source *source; /* for source positions */
    const lane_code *lanes;      /* NULL if the device runs text */
} module_kernel;

/* Fails with IG_ERR_ARGUMENT: the module has no kernel of that name. Lists those that it has. */
ig_status module_no_kernel(const ig_module *m, const char *kernel);

/* Builds a kernel for a device; what *out points to lives as long as the module. */
ig_status module_prepare(ig_module *m, const backend *dev, const char *kernel, module_kernel *out);

/* What the device launches, for callers that launch often: they need neither the lock nor a name, and do not wait.
 * Lives as long as the module. NULL in *out if only module_launch can launch it: the device runs lane code, or the kernel
 * has variables, prints or asserts. */
ig_status module_code(ig_module *m, const backend *dev, const char *kernel, const uint32_t block[3],
                      kernel_code **out);

/* Launches it and waits. l->globals is filled in here; a shape that the device cannot take is refused.
 * Text devices print and assert too, but have no packed arguments, check or profile. */
ig_status module_launch(ig_module *m, const backend *dev, const char *kernel, lane_launch *l);

/* Finds the argument of each parameter, by name or by position. of_param has an entry for each, NULL at
 * first. */
ig_status module_match(const ig_kernel_info *k, const ig_arg *args, int n_args,
                       const ig_arg **of_param);
/* A number in the storage format of the parameter. */
ig_status module_number(const ig_kernel_info *k, const ig_kernel_param *p, const ig_arg *g,
                        uint64_t *bits);

/* A __device__, __constant__ or __managed__ variable on a device. IG_ERR_ARGUMENT if there is none. */
ig_status module_variable(ig_module *m, const backend *dev, const char *name, binding *at,
                          size_t *bytes);

#endif
