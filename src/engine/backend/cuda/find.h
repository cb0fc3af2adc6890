/* Finds the libraries of CUDA: by the system's loader, in the folders of toolkits, and in the packages of Python. */
#ifndef CUDA_FIND_H
#define CUDA_FIND_H

#include "ingot.h"

typedef enum find_which {
    FIND_NVRTC,
    FIND_CUBLASLT,
    FIND_CUBLAS,
    FIND_CUSOLVER,
    FIND_CUFFT,
    FIND_CUDNN,
    FIND_LIBRARIES
} find_which;

/* The library, for dlsym, or NULL. It is searched for once and never closed. */
void *find_library(find_which which);
/* Its name, where it is and what to do if it is missing. Searches for it if that was not done yet. NULL if `which` is out
 * of range. */
const ig_library *find_about(int which);

#endif
