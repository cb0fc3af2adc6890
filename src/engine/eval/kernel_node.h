/* Kernels of the user's in graphs, as the engine runs them. */
#ifndef ENGINE_KERNEL_NODE_H
#define ENGINE_KERNEL_NODE_H

#include "engine/backend/backend.h"

/* Makes the kernel of a PROGRAM_KERNEL ready for the device, and launches it; bindings as those of
 * backend.launch. The engine's lock is held. */
ig_status kernel_node_compile(const program *p, const backend *dev);
ig_status kernel_node_launch(const program *p, const backend *dev, const binding *bindings);

#endif
