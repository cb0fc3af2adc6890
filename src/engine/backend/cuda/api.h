/* Types, constants and functions of the CUDA driver and its libraries, generated from the rows of api.def, lt.def,
 * dnn.def, solver.def and fft.def, and the functions that load them. */
#ifndef CUDA_API_H
#define CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int CUresult, CUdevice, CUdevice_attribute, CUfunction_attribute, CUlimit,
    CUpointer_attribute, CUmemorytype, CUarray_format, nvrtcResult;
typedef int CUstreamCaptureMode, CUstreamCaptureStatus;
typedef int CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
    CUtensorMapFloatOOBfill;
typedef uint32_t cuuint32_t;
typedef uint64_t CUdeviceptr, cuuint64_t;
typedef unsigned long long CUtexObject, CUsurfObject;
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphEdgeData_st CUgraphEdgeData;
typedef struct CUarray_st *CUarray;
typedef struct _nvrtcProgram *nvrtcProgram;
typedef void (*CUhostFn)(void *context);

/* Structs of CUDA for a launch with attributes. */
typedef struct CUlaunchAttribute_st CUlaunchAttribute;
typedef struct CUlaunchConfig {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute *attrs;
    unsigned numAttrs;
} CUlaunchConfig;

/* A copy of rows. */
typedef struct CUDA_MEMCPY2D {
    size_t srcXInBytes, srcY;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    size_t srcPitch, dstXInBytes, dstY;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    size_t dstPitch, WidthInBytes, Height;
} CUDA_MEMCPY2D;

/* Arrays, textures and surfaces. */
typedef struct CUDA_ARRAY3D_DESCRIPTOR {
    size_t Width, Height, Depth;
    CUarray_format Format;
    unsigned NumChannels, Flags;
} CUDA_ARRAY3D_DESCRIPTOR;

typedef struct CUDA_MEMCPY3D {
    size_t srcXInBytes, srcY, srcZ, srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
} CUDA_MEMCPY3D;

typedef struct CUDA_RESOURCE_DESC {
    int resType;
    union {
        struct {
            CUarray hArray;
        } array;
        struct {
            CUdeviceptr devPtr;
            CUarray_format format;
            unsigned numChannels;
            size_t sizeInBytes;
        } linear;
        struct {
            CUdeviceptr devPtr;
            CUarray_format format;
            unsigned numChannels;
            size_t width, height, pitchInBytes;
        } pitch2D;
        int reserved[32];
    } res;
    unsigned flags;
} CUDA_RESOURCE_DESC;

typedef struct CUDA_TEXTURE_DESC {
    int addressMode[3], filterMode;
    unsigned flags, maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp, borderColor[4];
    int reserved[12];
} CUDA_TEXTURE_DESC;
typedef struct CUDA_RESOURCE_VIEW_DESC CUDA_RESOURCE_VIEW_DESC;

/* A launch as a node of a graph. */
typedef struct CUDA_KERNEL_NODE_PARAMS_v2_st {
    CUfunction func;
    unsigned gridDimX, gridDimY, gridDimZ;
    unsigned blockDimX, blockDimY, blockDimZ;
    unsigned sharedMemBytes;
    void **kernelParams, **extra;
    void *kern;
    CUcontext ctx;
} CUDA_KERNEL_NODE_PARAMS;

/* Passed to kernels by value; its address is a multiple of 64. */
typedef struct CUtensorMap {
    _Alignas(64) uint64_t words[16];
} CUtensorMap;

enum {
#define CU_STATUS(name, value) name = value,
#include "engine/backend/cuda/api.def"
};

enum {
#define CU_CONSTANT(name, value) name = value,
#include "engine/backend/cuda/api.def"
};

typedef struct cuda_api {
#define CU_FUNCTION(name, symbol, parameters) CUresult(*name) parameters;
#define CU_OPTIONAL(name, symbol, parameters) CUresult(*name) parameters;
#include "engine/backend/cuda/api.def"
} cuda_api;

/* Further functions of the driver that whole programs need. */
typedef struct cuda_program_api {
#define CU_PROGRAM(name, symbol, parameters) CUresult(*name) parameters;
#include "engine/backend/cuda/api.def"
} cuda_program_api;

typedef struct nvrtc_api {
#define NVRTC_FUNCTION(name, parameters) nvrtcResult(*name) parameters;
#define NVRTC_PROGRAM(name, parameters) nvrtcResult(*name) parameters;
#include "engine/backend/cuda/api.def"
} nvrtc_api;

/* ---- cuBLASLt ---- */

typedef int cublasStatus_t, cublasComputeType_t, cudaDataType_t, cudaDataType,
    cublasLtMatmulDescAttributes_t, cublasLtMatrixLayoutAttribute_t,
    cublasLtMatmulPreferenceAttributes_t;
typedef struct cublasLtContext *cublasLtHandle_t;
typedef struct lt_desc *cublasLtMatmulDesc_t;
typedef struct lt_layout *cublasLtMatrixLayout_t;
typedef struct lt_preference *cublasLtMatmulPreference_t;
typedef CUstream cudaStream_t;

typedef struct cublasLtMatmulAlgo_t {
    uint64_t data[8];
} cublasLtMatmulAlgo_t;

typedef struct cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulAlgo_t algo;
    size_t workspaceSize;
    cublasStatus_t state;
    float wavesCount;
    int reserved[4];
} cublasLtMatmulHeuristicResult_t;

enum {
#define LT_CONSTANT(name, value) name = value,
#include "engine/backend/cuda/lt.def"
};

typedef struct lt_api {
#define LT_FUNCTION(name, parameters) cublasStatus_t(*name) parameters;
#include "engine/backend/cuda/lt.def"
} lt_api;

/* ---- cuDNN ---- */

typedef int cudnnStatus_t, cudnnDataType_t, cudnnConvolutionMode_t, cudnnBackendHeurMode_t,
    cudnnBackendNumericalNote_t, cudnnBackendBehaviorNote_t, cudnnPointwiseMode_t,
    cudnnNanPropagation_t, cudnnBackendDescriptorType_t, cudnnBackendAttributeName_t,
    cudnnBackendAttributeType_t;
typedef struct cudnnContext *cudnnHandle_t;
typedef void *cudnnBackendDescriptor_t;

enum {
#define DNN_CONSTANT(name, value) name = value,
#include "engine/backend/cuda/dnn.def"
};

typedef struct dnn_api {
#define DNN_FUNCTION(name, parameters) cudnnStatus_t(*name) parameters;
#include "engine/backend/cuda/dnn.def"
} dnn_api;

/* ---- cuSOLVER and cuBLAS ---- */

typedef int cusolverStatus_t;
typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct cublasContext *cublasHandle_t;
typedef struct gesvdjInfo *gesvdjInfo_t;

/* The functions for one type of elements, of both libraries. */
typedef struct solver_type {
#define SOLVER_TYPED(field, real, complex, parameters) cusolverStatus_t(*field) parameters;
#define BLAS_TYPED(field, name, parameters) cublasStatus_t(*field) parameters;
#include "engine/backend/cuda/solver.def"
} solver_type;

typedef struct solver_functions {
#define SOLVER_FUNCTION(name, parameters) cusolverStatus_t(*name) parameters;
#define BLAS_FUNCTION(name, parameters) cublasStatus_t(*name) parameters;
#include "engine/backend/cuda/solver.def"
} solver_functions;

typedef struct solver_api {
    solver_functions f;
    solver_type type[4]; /* f32, f64, and complex ones of these */
} solver_api;

/* ---- cuFFT ---- */

typedef int cufftResult, cufftHandle, cufftType;

enum {
#define FFT_CONSTANT(name, value) name = value,
#include "engine/backend/cuda/fft.def"
};

typedef struct fft_api {
#define FFT_FUNCTION(name, parameters) cufftResult(*name) parameters;
#include "engine/backend/cuda/fft.def"
} fft_api;

/* ---- loading ---- */

/* Fills api with the functions of the driver. IG_CUDA is its path, or "off". Returns NULL, or the reason why there is
 * no driver; then *remedy says what would help. */
const char *cuda_api_load(cuda_api *api, const char **remedy);

/* The same for the functions that whole programs need. Call it after cuda_api_load. */
const char *cuda_program_api_load(cuda_program_api *api, const char **remedy);

/* The same for NVRTC, the compiler; find.h says where it is searched for. *path receives its path. */
const char *nvrtc_api_load(nvrtc_api *api, const char **remedy, const char **path);

/* The same for cuBLASLt, cuDNN 9 and cuFFT, and for cuSOLVER with cuBLAS. False if one is not found or too old. */
bool lt_api_load(lt_api *api);
bool dnn_api_load(dnn_api *api);
bool fft_api_load(fft_api *api);
bool solver_api_load(solver_api *api);

#endif
