/* Ingot: lazy arrays with gradients, and kernels in CUDA C.
 *
 * This header includes all public headers. Four rules hold for every function:
 *
 * - Builders (the functions that return an ig_array *) are lazy and cheap: they check their arguments,
 *   infer shape and dtype, and record a node. Work is done by ig_eval and by the functions that read data
 *   (ig_data, ig_read, ig_item, ig_print).
 * - An array that several evaluations use should be evaluated first. Otherwise each of them may compute it
 *   again; ig_eval says when it does not.
 * - A builder that fails returns NULL. A builder that is given NULL returns NULL, so expressions nest. The
 *   first error of a thread stays until ig_error reads it. Where NULL means an absent argument ("may be
 *   NULL"), it does so only while no error waits. Counts must not be negative.
 * - Arguments are borrowed. A result belongs to the innermost open scope of the calling thread. To keep an
 *   array longer, call ig_retain.
 *
 * Structs that the caller makes begin with `size`. Set `size` to the sizeof of the struct, and all fields that are not
 * used to 0. This also holds for structs that a function fills. Later versions of the library add fields at the end.
 *
 * Names, arguments, defaults and special cases follow the Python array API standard 2025.12 where
 * it has the function. A negative axis counts from the end.
 */
#ifndef INGOT_H
#define INGOT_H

#include "ingot/base.h"     /* status, dtypes, errors, settings */
#include "ingot/device.h"   /* devices, math modes, fallback */
#include "ingot/machine.h"  /* facts about the machine */
#include "ingot/array.h"    /* arrays: ownership, evaluation, reading */
#include "ingot/storage.h"  /* quantized arrays */
#include "ingot/blocks.h"   /* arrays larger than memory */
#include "ingot/team.h"     /* many machines */
#include "ingot/ops.h"      /* every op */
#include "ingot/grad.h"     /* gradients and other transforms */
#include "ingot/loops.h"    /* loops and branches */
#include "ingot/kernel.h"   /* kernels in CUDA C */
#include "ingot/verify.h"   /* comparison with f64 */
#include "ingot/nn.h"       /* networks and optimizers */
#include "ingot/io.h"       /* files */
#include "ingot/store.h"    /* arrays in files, by boxes: Zarr, HDF5 */
#include "ingot/text.h"     /* tokenizers and text models */
#include "ingot/generate.h" /* language models that continue texts */
#include "ingot/onnx.h"     /* ONNX models */

#endif
