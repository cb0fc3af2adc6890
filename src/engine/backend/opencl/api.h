/* OpenCL's types, constants and functions, generated from the rows of api.def, and the function that loads them. */
#ifndef OPENCL_API_H
#define OPENCL_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CL_TYPE(name, type) typedef type name;
#define CL_HANDLE(name, tag) typedef struct tag *name;
#include "engine/backend/opencl/api.def"

enum {
#define CL_STATUS(name, value) name = value,
#include "engine/backend/opencl/api.def"
    CL_PLATFORM_NOT_FOUND_KHR = -1001 /* from an extension: the loader found no driver */
};

enum {
#define CL_CONSTANT(name, value) name = value,
#include "engine/backend/opencl/api.def"
    /* From extensions */
    CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV = 0x4000,
    CL_DEVICE_WARP_SIZE_NV = 0x4003,
    CL_DEVICE_WAVEFRONT_WIDTH_AMD = 0x4043
};

typedef struct opencl_api {
#define CL_FUNCTION(result, name, parameters) result(*name) parameters;
#include "engine/backend/opencl/api.def"
} opencl_api;

/* Fills api with the functions of the machine's OpenCL library. IG_OPENCL is its path, or "off". Returns NULL, or the
 * reason why there is none; then *remedy says what would help. The library stays loaded. */
const char *opencl_api_load(opencl_api *api, const char **remedy);

/* Some loaders cut lists in environment variables in place when they search for drivers. A child process would see only
 * the first entry of a list, and have other devices. So the lists are saved before the search and restored if they
 * changed. */
enum { OPENCL_LISTS = 3 };
typedef struct opencl_lists {
    char *value[OPENCL_LISTS]; /* NULL: not set */
} opencl_lists;
void opencl_lists_keep(opencl_lists *lists);
void opencl_lists_restore(opencl_lists *lists);

/* "CL_OUT_OF_RESOURCES"; never NULL. */
const char *opencl_status_name(cl_int status);

#endif
