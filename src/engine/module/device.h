/* Kernels and variables of a module on devices: built on first use, kept until the module is freed. */
#ifndef MODULE_DEVICE_H
#define MODULE_DEVICE_H

#include "engine/module/module.h"
#include "compiler/print/print.h"
#include "ingot.h"

#include <pthread.h>

/* A kernel on a device: lane code, or text with its hidden parameters. */
typedef struct module_built {
    struct module_built *next;
    const backend *dev;
    const kernel_tree *tree;
    const kernel_entry *entry;
    bool whole_warps;            /* see module_whole_warps */
    uint32_t block[3];           /* the only block shape that it can be launched with, or zeros */
    struct module_built *shapes; /* builds of the same kernel for one block shape each */
    lane_code *lanes;
    kernel_printed *printed;
    kernel_code *code;
    module_batch *batch; /* that will build the code, or NULL */
    buffer *log;         /* output of printf and assert if it runs text, or NULL */
    size_t *offsets;     /* of the packed parameters, in CUDA's layout */
} module_built;

/* The variables of a module on a device. */
typedef struct module_variables {
    struct module_variables *next;
    const backend *dev;
    buffer *buf;
} module_variables;

struct ig_module {
    kernel_tree *tree;
    ig_kernel_info *kernels;
    int n_kernels;
    bool whole_warps;
    module_built *built;
    module_variables *variables;
    pthread_mutex_t lock; /* held while devices and objects on them are used, also in launches */
};

static inline void module_enter(ig_module *m) { pthread_mutex_lock(&m->lock); }
static inline void module_leave(ig_module *m) { pthread_mutex_unlock(&m->lock); }

/* The functions below are called with the module's lock held. */

/* The batch may be NULL. */
ig_status module_built_for(ig_module *m, const backend *dev, const kernel_entry *e,
                           module_batch *batch, module_built **out);
/* Launches with args or packed, the parameters of the source. If the kernel prints or asserts, the launch waits and
 * writes the output; a failed assertion is IG_ERR_DEVICE and sets l->asserted. */
ig_status module_built_launch(module_built *b, const lane_launch *l);

/* The code for blocks of one shape; NULL if it runs lane code or has hidden parameters. */
ig_status module_built_code(module_built *b, const uint32_t block[3], kernel_code **out);

/* ---- children.c ---- */

/* After a launch by lane code: runs the grids that it launched. all: the memory of the variables. */
ig_status module_children(ig_module *m, const backend *dev, const binding *all,
                          const lane_launch *parent);

/* ---- batch.c ---- */

/* True if the build is deferred, to be done with others. The batch, which may be NULL, then owns the image's params. */
bool batch_takes(module_batch *batch, module_built *b, const kernel_image *image,
                 kernel_param *params);
/* Removes b from its batch, if it is in one. */
void batch_forget(module_built *b);

/* The memory of all variables; buf is NULL if there are none. */
ig_status module_globals(ig_module *m, const backend *dev, binding *out);
/* Gives one of them its initial value; all: their memory. */
ig_status module_reset(const ig_module *m, const backend *dev, buffer *all, const kernel_var *v);

/* Releases everything that the module has on devices. */
void module_off_devices(ig_module *m);

#endif
