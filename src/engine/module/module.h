/* A module: the kernels and variables of one source, and the code built from them for devices. Modules only use
 * buffers; the engine handles arrays.
 *
 * Any thread may call these functions for any module. A launch holds the module's lock, so launches of one
 * module run one after another. A thread that holds the engine's lock may take a module's lock, never the other
 * way round. */
#ifndef MODULE_MODULE_H
#define MODULE_MODULE_H

#include "engine/backend/lanes.h"
#include "compiler/tree.h"
#include "ingot.h"

/* As ig_module_new. *said receives the messages about kernels with errors (memory_free), or NULL. */
ig_module *module_new(const char *name, const char *source, const kernel_parse_options *options,
                      char **said);

/* As ig_module_new. is_library: the source is of kernels/, and so are the files that it includes. */
ig_module *module_open(const char *name, const char *source, const ig_module_options *o,
                       bool is_library);

/* Promises that all launches have blocks with one axis and whole warps. Call it before the first launch. */
void module_whole_warps(ig_module *m);

/* Kernels for one device, which must have kernels_build. module_code defers their builds until module_batch_end. This
 * concerns modules with module_whole_warps, whose uses must all hold the engine's lock; modules that are freed meanwhile
 * are left out. */
typedef struct module_batch {
    const backend *dev;
    struct deferred *at;
    int n, room;
} module_batch;
/* How module_batch_end treats the deferred kernels. */
typedef enum batch_way {
    BATCH_JOINED, /* few texts of many kernels: fastest if they are used together again, as the cache stores texts */
    BATCH_APART,  /* built by several threads, one text for each kernel */
    BATCH_DROPPED /* module_code builds them at the next call */
} batch_way;
void module_batch_end(module_batch *batch, batch_way way);

/* The properties of a kernel that a launch needs. */
typedef struct module_kernel {
    const ig_kernel_info *info;
    const size_t *offsets; /* of the packed arguments */
    size_t argument_bytes;
    size_t shared_bytes;         /* static shared memory */
    uint32_t max_threads;        /* of a block, as declared in the source; 0: not declared */
    bool has_textures;           /* it reads textures or surfaces */
    const char *warnings;        /* semantics that differ on this device, or NULL */
    const kernel_source *source; /* for source positions */
    const lane_code *lanes;      /* NULL if the device runs text */
} module_kernel;

/* Fails with IG_ERR_ARGUMENT: the module has no kernel of that name. The message lists the kernels that it has. */
ig_status module_no_kernel(const ig_module *m, const char *kernel);

/* Builds a kernel for a device. The pointers in *out are valid as long as the module. */
ig_status module_prepare(ig_module *m, const backend *dev, const char *kernel, module_kernel *out);

/* The code that the device launches, for callers that launch often: such a launch needs neither the lock nor a name,
 * and does not wait. Valid as long as the module. *out is NULL if only module_launch can launch it: the device runs
 * lane code, or the kernel has variables, prints or asserts; or if the build is deferred to the batch, which may be
 * NULL. */
ig_status module_code(ig_module *m, const backend *dev, const char *kernel, const uint32_t block[3],
                      module_batch *batch, kernel_code **out);

/* Launches the kernel and waits. Sets l->globals. Fails if the device does not allow the launch shape.
 * Devices that run text print and assert, too, but do not support packed arguments, check and profile. */
ig_status module_launch(ig_module *m, const backend *dev, const char *kernel, lane_launch *l);

/* Finds the argument of each parameter, by name or by position. of_param has an entry for each parameter, NULL at
 * first. */
ig_status module_match(const ig_kernel_info *k, const ig_arg *args, int n_args,
                       const ig_arg **of_param);
/* A number in the storage format of the parameter. */
ig_status module_number(const ig_kernel_info *k, const ig_kernel_param *p, const ig_arg *g,
                        uint64_t *bits);

/* A __device__, __constant__ or __managed__ variable on a device. IG_ERR_ARGUMENT if there is none. */
ig_status module_variable(ig_module *m, const backend *dev, const char *name, binding *at,
                          size_t *bytes);

/* Textures on devices that run text: a kernel reads and writes texels in the memory of the module's variables, from
 * MODULE_TEXELS_AT bytes after the variable ig_texels on; the room is the same for all modules. An object is such a
 * number of bytes. */
enum { MODULE_TEXELS_AT = 16 << 20 };
size_t module_texel_room(const backend *dev);

#endif
