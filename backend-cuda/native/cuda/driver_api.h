// The part of the CUDA driver API that ppcheck calls, declared by itself: no CUDA toolkit is needed
// to build, and none to run. Types and values follow cuda.h of CUDA 13.0; every symbol is listed
// with the oldest CUDA version whose driver exports it under this name (suffixes are part of it).

#pragma once

#include <cstddef>

extern "C" {

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;

}  // extern "C"

/** Values of cuda.h. Names are those of the header without their prefix. */
namespace cu {
constexpr CUresult success = 0;
constexpr CUresult invalidValue = 1;
constexpr CUresult outOfMemory = 2;
constexpr CUresult notInitialized = 3;
constexpr CUresult noDevice = 100;
constexpr CUresult invalidDevice = 101;
constexpr CUresult invalidContext = 201;
constexpr CUresult invalidPtx = 218;
constexpr CUresult invalidHandle = 400;
constexpr CUresult illegalState = 401;
constexpr CUresult notFound = 500;
constexpr CUresult notReady = 600;
constexpr CUresult illegalAddress = 700;

constexpr unsigned streamNonBlocking = 1;
constexpr unsigned eventDisableTiming = 2;
constexpr unsigned hostAllocPortable = 1;
constexpr unsigned hostAllocDeviceMap = 2;
constexpr int captureThreadLocal = 1;

constexpr int attributeMaxThreadsPerBlock = 1;
constexpr int attributeMultiprocessors = 16;
constexpr int attributeThreadsPerMultiprocessor = 39;
constexpr int attributeMajor = 75;
constexpr int attributeMinor = 76;
constexpr int attributeBlocksPerMultiprocessor = 106;
}  // namespace cu

// X(symbol, oldest CUDA version as major * 1000 + minor * 10, parameters)
#define PPCHECK_DRIVER_SYMBOLS(X)                                                                \
  X(cuInit, 2000, (unsigned flags))                                                              \
  X(cuDriverGetVersion, 2020, (int *version))                                                    \
  X(cuGetErrorName, 6000, (CUresult result, const char **name))                                  \
  X(cuGetErrorString, 6000, (CUresult result, const char **text))                                \
  X(cuDeviceGetCount, 2000, (int *count))                                                        \
  X(cuDeviceGet, 2000, (CUdevice *device, int ordinal))                                          \
  X(cuDeviceGetName, 2000, (char *name, int length, CUdevice device))                            \
  X(cuDeviceGetAttribute, 2000, (int *value, int attribute, CUdevice device))                    \
  X(cuDeviceTotalMem_v2, 3020, (size_t *bytes, CUdevice device))                                 \
  X(cuDevicePrimaryCtxRetain, 7000, (CUcontext *context, CUdevice device))                       \
  X(cuDevicePrimaryCtxRelease_v2, 11000, (CUdevice device))                                      \
  X(cuCtxSetCurrent, 4000, (CUcontext context))                                                  \
  X(cuStreamCreateWithPriority, 5050, (CUstream *stream, unsigned flags, int priority))          \
  X(cuStreamDestroy_v2, 4000, (CUstream stream))                                                 \
  X(cuStreamQuery, 2000, (CUstream stream))                                                      \
  X(cuStreamWaitEvent, 3020, (CUstream stream, CUevent event, unsigned flags))                   \
  X(cuEventCreate, 2000, (CUevent *event, unsigned flags))                                       \
  X(cuEventDestroy_v2, 4000, (CUevent event))                                                    \
  X(cuEventRecord, 2000, (CUevent event, CUstream stream))                                       \
  X(cuEventQuery, 2000, (CUevent event))                                                         \
  X(cuMemAlloc_v2, 3020, (CUdeviceptr *address, size_t bytes))                                   \
  X(cuMemFree_v2, 3020, (CUdeviceptr address))                                                   \
  X(cuMemHostAlloc, 2020, (void **host, size_t bytes, unsigned flags))                           \
  X(cuMemFreeHost, 2000, (void *host))                                                           \
  X(cuMemHostGetDevicePointer_v2, 3020, (CUdeviceptr *address, void *host, unsigned flags))      \
  X(cuMemcpyHtoDAsync_v2, 3020,                                                                  \
    (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                           \
  X(cuMemcpyDtoHAsync_v2, 3020, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))     \
  X(cuMemsetD8Async, 3020, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)) \
  X(cuModuleLoadData, 2000, (CUmodule *module, const void *image))                               \
  X(cuModuleGetFunction, 2000, (CUfunction *function, CUmodule module, const char *name))        \
  X(cuModuleUnload, 2000, (CUmodule module))                                                     \
  X(cuLaunchKernel, 4000,                                                                        \
    (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,       \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void **parameters, \
     void **extra))                                                                              \
  X(cuStreamBeginCapture_v2, 10010, (CUstream stream, int mode))                                 \
  X(cuStreamEndCapture, 10000, (CUstream stream, CUgraph *graph))                                \
  X(cuGraphInstantiateWithFlags, 11040,                                                          \
    (CUgraphExec *executable, CUgraph graph, unsigned long long flags))                          \
  X(cuGraphLaunch, 10000, (CUgraphExec executable, CUstream stream))                             \
  X(cuGraphExecDestroy, 10000, (CUgraphExec executable))                                         \
  X(cuGraphDestroy, 10000, (CUgraph graph))
