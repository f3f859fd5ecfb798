// Loading of the driver and of NCCL. See libraries.h.

#include "libraries.h"

#include <dlfcn.h>

namespace {

Obstacle cannotOpen(const char *what, const std::string &path) {
  const char *reason = dlerror();
  return {"PPC420", std::string(what) + ": " + (reason == nullptr ? path : reason)};
}

std::string cudaVersion(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string ncclVersionText(int version) {
  const int major = version < 20900 ? version / 1000 : version / 10000;
  const int minor = version < 20900 ? version % 1000 / 100 : version % 10000 / 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(version % 100);
}

template <typename Function>
bool resolve(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

Obstacle Libraries::loadDriver(const std::string &given) {
  const std::string path = given.empty() ? "libcuda.so.1" : given;
  // Global: NCCL finds the driver that is already there instead of looking for its own.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return cannotOpen("no CUDA driver", path);
  if (!resolve(library, "cuDriverGetVersion", driver.cuDriverGetVersion) ||
      driver.cuDriverGetVersion(&driverVersion) != cu::success) {
    return {"PPC421", path + " is not a CUDA driver: it has no cuDriverGetVersion"};
  }
#define PPCHECK_RESOLVE(name, since, parameters)                                                \
  if (driverVersion < since || !resolve(library, #name, driver.name)) {                         \
    return {"PPC422", "the CUDA driver " + path + " of version " + cudaVersion(driverVersion) + \
                          " has no " #name ", which is there since " + cudaVersion(since)};     \
  }
  PPCHECK_DRIVER_SYMBOLS(PPCHECK_RESOLVE)
#undef PPCHECK_RESOLVE
  int (*resident)() = nullptr;
  if (resolve(library, "ppcheckEmulatedResident", resident)) emulatedResident = resident();
  resolve(library, "ppcheckEmulatedCounts", emulatedCounts);
  const CUresult result = driver.cuInit(0);
  if (result == cu::success) return {};
  const char *name = nullptr;
  driver.cuGetErrorName(result, &name);
  return {"PPC423", std::string("no usable GPU: cuInit says ") + (name == nullptr ? "?" : name)};
}

Obstacle Libraries::loadNccl(const std::string &given) {
  const std::string path = given.empty() ? "libnccl.so.2" : given;
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return cannotOpen("no NCCL", path);
  if (!resolve(library, "ncclGetVersion", nccl.ncclGetVersion) ||
      nccl.ncclGetVersion(&ncclVersion) != nccl::success) {
    return {"PPC421", path + " is not NCCL: it has no ncclGetVersion"};
  }
#define PPCHECK_RESOLVE(name, since, parameters)                                               \
  if (ncclVersion < since || !resolve(library, #name, nccl.name)) {                            \
    return {"PPC422", "NCCL " + ncclVersionText(ncclVersion) + " (" + path + ") has no " #name \
                          ", which is there since " + ncclVersionText(since)};                 \
  }
  PPCHECK_NCCL_SYMBOLS(PPCHECK_RESOLVE)
#undef PPCHECK_RESOLVE
  if (ncclVersion < 21800 || !resolve(library, "ncclCommSplit", nccl.ncclCommSplit)) {
    nccl.ncclCommSplit = nullptr;
  }
  return {};
}
