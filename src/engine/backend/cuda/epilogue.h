/* The epilogue of a product, as text for a handwritten kernel. */
#ifndef CUDA_EPILOGUE_H
#define CUDA_EPILOGUE_H

#include "engine/backend/backend.h"
#include "engine/backend/product.h"
#include "engine/emit/emit.h"

typedef struct cuda_epilogue {
    char *text; /* CUDA C with `float epilogue(float, sizes)`; NULL: there is no epilogue */
    emitted e;  /* one step; its sizes are the struct that the function gets */
} cuda_epilogue;

ig_status cuda_epilogue_make(const program *p, const product *c, const product_epilogue *e,
                             const bool *by_value, cuda_epilogue *out);
/* Stores the values of the epilogue's numbers in its sizes. */
void cuda_epilogue_read(const cuda_epilogue *e, const binding *bindings);
void cuda_epilogue_free(cuda_epilogue *e);

#endif
