// The part of NCCL that ppcheck calls, declared by itself, with the oldest version that exports each
// symbol. Layouts and values follow nccl.h; `ncclConfig_t` is the one of 2.18, which every later
// release reads by its size and version fields.

#pragma once

#include <climits>
#include <cstddef>

#include "driver_api.h"

extern "C" {

typedef int ncclResult_t;
typedef struct ncclComm *ncclComm_t;

/** The id of a communicator: made on one rank, sent to the others by any other means. */
typedef struct {
  char internal[128];
} ncclUniqueId;

typedef struct {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char *netName;
  int splitShare;
} ncclConfig_t;

}  // extern "C"

namespace nccl {
constexpr ncclResult_t success = 0;
constexpr ncclResult_t unhandledCudaError = 1;
constexpr ncclResult_t systemError = 2;
constexpr ncclResult_t invalidArgument = 4;
constexpr ncclResult_t invalidUsage = 5;
constexpr ncclResult_t remoteError = 6;
constexpr ncclResult_t inProgress = 7;

constexpr int typeUint8 = 1;
constexpr int undefined = INT_MIN;
constexpr unsigned configMagic = 0xcafebeef;
constexpr unsigned configVersion = 21800;

/** What NCCL_CONFIG_INITIALIZER sets, with a communicator whose calls never block the host. */
inline ncclConfig_t nonBlockingConfig() {
  ncclConfig_t config{};
  config.size = sizeof(config);
  config.magic = configMagic;
  config.version = configVersion;
  config.blocking = 0;
  config.cgaClusterSize = undefined;
  config.minCTAs = undefined;
  config.maxCTAs = undefined;
  config.netName = nullptr;
  config.splitShare = undefined;
  return config;
}
}  // namespace nccl

// X(symbol, oldest version as NCCL encodes it, parameters); all return ncclResult_t.
#define PPCHECK_NCCL_SYMBOLS(X)                                                                  \
  X(ncclGetVersion, 2000, (int *version))                                                        \
  X(ncclGetUniqueId, 2000, (ncclUniqueId * id))                                                  \
  X(ncclCommInitRankConfig, 21400,                                                               \
    (ncclComm_t * communicator, int ranks, ncclUniqueId id, int rank, ncclConfig_t *config))     \
  X(ncclCommGetAsyncError, 2400, (ncclComm_t communicator, ncclResult_t * error))                \
  X(ncclCommFinalize, 21400, (ncclComm_t communicator))                                          \
  X(ncclCommDestroy, 2000, (ncclComm_t communicator))                                            \
  X(ncclCommAbort, 2400, (ncclComm_t communicator))                                              \
  X(ncclBroadcast, 2200,                                                                         \
    (const void *from, void *to, size_t count, int type, int root, ncclComm_t communicator,      \
     CUstream stream))                                                                           \
  X(ncclSend, 2700,                                                                              \
    (const void *from, size_t count, int type, int peer, ncclComm_t communicator,                \
     CUstream stream))                                                                           \
  X(ncclRecv, 2700,                                                                              \
    (void *to, size_t count, int type, int peer, ncclComm_t communicator, CUstream stream))      \
  X(ncclGroupStart, 2000, ())                                                                    \
  X(ncclGroupEnd, 2000, ())

// Symbols that may be missing: their callers have another way.
#define PPCHECK_NCCL_OPTIONAL(X)                                                                 \
  X(ncclCommSplit, 21800,                                                                        \
    (ncclComm_t parent, int color, int key, ncclComm_t *communicator, ncclConfig_t *config))
