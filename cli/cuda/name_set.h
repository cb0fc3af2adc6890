/* Sets of names that the rewriter has seen. */
#ifndef CLI_CUDA_NAME_SET_H
#define CLI_CUDA_NAME_SET_H

#include "cuda/rewrite.h"
#include "cuda/scan.h"

bool name_set_has(const name_set *n, const scan_token *t);
void name_set_add(name_set *n, const scan_token *t);
void name_set_free(name_set *n);

#endif
