// The two libraries, reached by dlopen: function pointers for every symbol of the tables, or the
// reason why they cannot be used here.

#pragma once

#include <string>

#include "driver_api.h"
#include "nccl_api.h"

struct DriverFunctions {
#define PPCHECK_POINTER(name, since, parameters) CUresult(*name) parameters = nullptr;
  PPCHECK_DRIVER_SYMBOLS(PPCHECK_POINTER)
#undef PPCHECK_POINTER
};

struct NcclFunctions {
#define PPCHECK_POINTER(name, since, parameters) ncclResult_t(*name) parameters = nullptr;
  PPCHECK_NCCL_SYMBOLS(PPCHECK_POINTER)
  PPCHECK_NCCL_OPTIONAL(PPCHECK_POINTER)
#undef PPCHECK_POINTER
};

/** Why a library cannot be used; `code` is one of ppcheck's (spec/error.ts). */
struct Obstacle {
  const char *code = nullptr;
  std::string reason;
  explicit operator bool() const { return code != nullptr; }
};

class Libraries {
 public:
  /** Loads the driver (libcuda.so.1 unless a path is given) and initialises it. */
  Obstacle loadDriver(const std::string &path);
  /** Loads NCCL (libnccl.so.2 unless a path is given). */
  Obstacle loadNccl(const std::string &path);

  DriverFunctions driver;
  NcclFunctions nccl;
  /** As the libraries encode them; 0 while not loaded. */
  int driverVersion = 0;
  int ncclVersion = 0;
  /** Places of the emulated device, or -1 where the driver is a real one. */
  int emulatedResident = -1;
  void (*emulatedCounts)(long long *counts) = nullptr;
};
