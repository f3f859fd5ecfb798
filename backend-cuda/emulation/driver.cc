// The emulated libcuda.so.1: the driver API of native/cuda/driver_api.h over the engine. Kernels are
// known by the entry names of the PTX that the addon loads (native/cuda/kernels.h).

#include <cstdlib>
#include <cstring>

#include "../native/cuda/driver_api.h"
#include "../native/cuda/token_words.h"
#include "driver_hooks.h"
#include "engine.h"

using emulation::Engine;
using emulation::Work;

struct CUctx_st {
  int device;
};

struct CUmod_st {
  std::string image;
};

struct CUfunc_st {
  std::string name;
  bool isLoaded;
};

struct CUstream_st {
  emulation::Stream *stream;
};

struct CUevent_st {
  std::shared_ptr<emulation::Event> event = std::make_shared<emulation::Event>();
};

struct CUgraph_st {
  std::vector<Work> nodes;
};

struct CUgraphExec_st {
  std::vector<Work> nodes;
};

namespace {

bool isInitialised = false;
thread_local CUcontext current = nullptr;

/** Contexts and functions live as long as the process: a handle is never dangling. */
CUctx_st contexts[64];
std::map<std::pair<CUmodule, std::string>, std::unique_ptr<CUfunc_st>> functions;

const char *const kernelNames[] = {"ppcheck_spin_for", "ppcheck_spin_until", "ppcheck_fill",
                                   "ppcheck_verify"};

Engine &engine() { return Engine::get(); }

Work action(std::function<void()> act) {
  Work work;
  work.act = std::move(act);
  return work;
}

template <typename T>
T argument(void **parameters, int index) {
  T value;
  std::memcpy(&value, parameters[index], sizeof(value));
  return value;
}

/** The work that a kernel of ours does; null address errors are found before it is enqueued. */
CUresult kernelWork(const std::string &name, unsigned blocks, void **parameters, Work &work) {
  work.kind = Work::Kind::kernel;
  if (name == "ppcheck_spin_for") {
    work.duration = static_cast<emulation::Nanoseconds>(argument<std::uint64_t>(parameters, 0));
    return cu::success;
  }
  if (name == "ppcheck_spin_until") {
    char *started = engine().storage(argument<std::uint64_t>(parameters, 0), 4);
    char *flag = engine().storage(argument<std::uint64_t>(parameters, 1), 4);
    if (started == nullptr || flag == nullptr) return cu::illegalAddress;
    work.flag = reinterpret_cast<const volatile std::uint32_t *>(flag);
    work.onStart = [started, blocks] {
      reinterpret_cast<std::atomic<std::uint32_t> *>(started)->fetch_add(blocks);
    };
    return cu::success;
  }
  const auto words = argument<std::uint32_t>(parameters, 1);
  const auto key = argument<std::uint32_t>(parameters, 2);
  char *data = engine().storage(argument<std::uint64_t>(parameters, 0), std::size_t{4} * words);
  if (data == nullptr) return cu::illegalAddress;
  auto *word = reinterpret_cast<std::uint32_t *>(data);
  if (name == "ppcheck_fill") {
    work.act = [word, words, key] {
      for (std::uint32_t i = 0; i < words; i++) word[i] = tokenWord(key, i);
    };
    return cu::success;
  }
  char *wrong = engine().storage(argument<std::uint64_t>(parameters, 3), 4);
  if (wrong == nullptr) return cu::illegalAddress;
  work.act = [word, words, key, wrong] {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < words; i++) count += word[i] != tokenWord(key, i);
    reinterpret_cast<std::atomic<std::uint32_t> *>(wrong)->fetch_add(count);
  };
  return cu::success;
}

}  // namespace

// ------------------------------------------------------------- hooks for the emulated NCCL

namespace emulation {

bool enqueueCollective(CUstream stream, std::unique_ptr<Collective> collective) {
  if (stream == nullptr || stream->stream->isCapturing) return false;
  Work work;
  work.kind = Work::Kind::collective;
  work.collective = std::move(collective);
  engine().enqueue(stream->stream, std::move(work));
  return true;
}

int currentDevice() { return current == nullptr ? -1 : current->device; }

}  // namespace emulation

extern "C" {

#define PPCHECK_EXPORT __attribute__((visibility("default")))

/** Present in the emulation only: whoever loads these libraries can tell, and says so. */
PPCHECK_EXPORT int ppcheckEmulatedResident() { return engine().settings.resident; }

PPCHECK_EXPORT void ppcheckEmulatedCounts(std::int64_t *counts) {
  std::lock_guard lock(engine().mutex);
  std::memcpy(counts, &engine().counts, sizeof(engine().counts));
}

PPCHECK_EXPORT CUresult cuInit(unsigned flags) {
  if (flags != 0) return cu::invalidValue;
  if (engine().settings.devices == 0) return cu::noDevice;
  isInitialised = true;
  return cu::success;
}

PPCHECK_EXPORT CUresult cuDriverGetVersion(int *version) {
  *version = engine().settings.driverVersion;
  return cu::success;
}

PPCHECK_EXPORT CUresult cuGetErrorName(CUresult result, const char **name) {
  switch (result) {
    case cu::success: *name = "CUDA_SUCCESS"; break;
    case cu::invalidValue: *name = "CUDA_ERROR_INVALID_VALUE"; break;
    case cu::outOfMemory: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case cu::notInitialized: *name = "CUDA_ERROR_NOT_INITIALIZED"; break;
    case cu::noDevice: *name = "CUDA_ERROR_NO_DEVICE"; break;
    case cu::invalidDevice: *name = "CUDA_ERROR_INVALID_DEVICE"; break;
    case cu::invalidContext: *name = "CUDA_ERROR_INVALID_CONTEXT"; break;
    case cu::invalidPtx: *name = "CUDA_ERROR_INVALID_PTX"; break;
    case cu::invalidHandle: *name = "CUDA_ERROR_INVALID_HANDLE"; break;
    case cu::illegalState: *name = "CUDA_ERROR_ILLEGAL_STATE"; break;
    case cu::notFound: *name = "CUDA_ERROR_NOT_FOUND"; break;
    case cu::notReady: *name = "CUDA_ERROR_NOT_READY"; break;
    case cu::illegalAddress: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    default: *name = nullptr; return cu::invalidValue;
  }
  return cu::success;
}

PPCHECK_EXPORT CUresult cuGetErrorString(CUresult result, const char **text) {
  *text = result == cu::success ? "no error" : "an error of the emulated device";
  return cu::success;
}

PPCHECK_EXPORT CUresult cuDeviceGetCount(int *count) {
  if (!isInitialised) return cu::notInitialized;
  *count = engine().settings.devices;
  return cu::success;
}

PPCHECK_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  if (!isInitialised) return cu::notInitialized;
  if (ordinal < 0 || ordinal >= engine().settings.devices || ordinal >= 64) {
    return cu::invalidDevice;
  }
  *device = ordinal;
  return cu::success;
}

PPCHECK_EXPORT CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  std::snprintf(name, static_cast<std::size_t>(length), "emulated GPU %d", device);
  return cu::success;
}

PPCHECK_EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  switch (attribute) {
    case cu::attributeMaxThreadsPerBlock: *value = 1024; break;
    case cu::attributeMultiprocessors: *value = 132; break;
    case cu::attributeThreadsPerMultiprocessor: *value = 2048; break;
    case cu::attributeBlocksPerMultiprocessor: *value = 32; break;
    case cu::attributeMajor: *value = 9; break;
    case cu::attributeMinor: *value = 0; break;
    default: return cu::invalidValue;
  }
  return cu::success;
}

PPCHECK_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
  *bytes = std::size_t{1} << 30;
  return cu::success;
}

// ------------------------------------------------------------------------------------ contexts

PPCHECK_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  if (!isInitialised) return cu::notInitialized;
  if (device < 0 || device >= engine().settings.devices) return cu::invalidDevice;
  engine().retain(device);
  contexts[device].device = device;
  *context = &contexts[device];
  return cu::success;
}

PPCHECK_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return engine().release(device) ? cu::success : cu::invalidContext;
}

PPCHECK_EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return cu::success;
}

// ------------------------------------------------------------------------- streams and events

PPCHECK_EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int) {
  if (current == nullptr) return cu::invalidContext;
  // The default stream's implicit waits are not emulated, so no stream may ask for them.
  if (flags != cu::streamNonBlocking) return cu::invalidValue;
  std::lock_guard lock(engine().mutex);
  *stream = new CUstream_st{engine().createStream(current->device)};
  return cu::success;
}

PPCHECK_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
  if (stream == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  engine().destroyStream(stream->stream);
  delete stream;
  return cu::success;
}

PPCHECK_EXPORT CUresult cuStreamQuery(CUstream stream) {
  if (stream == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  return stream->stream->works.empty() ? cu::success : cu::notReady;
}

PPCHECK_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  if (stream == nullptr || event == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  // An event that was never recorded holds nobody up.
  if (event->event->recorded == 0) return cu::success;
  Work work;
  work.kind = Work::Kind::wait;
  work.event = event->event;
  work.generation = event->event->recorded;
  engine().enqueue(stream->stream, std::move(work));
  return cu::success;
}

PPCHECK_EXPORT CUresult cuEventCreate(CUevent *event, unsigned) {
  if (current == nullptr) return cu::invalidContext;
  std::lock_guard lock(engine().mutex);
  engine().counts.events++;
  *event = new CUevent_st;
  return cu::success;
}

PPCHECK_EXPORT CUresult cuEventDestroy_v2(CUevent event) {
  if (event == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  engine().counts.events--;
  delete event;
  return cu::success;
}

PPCHECK_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (stream == nullptr || event == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  Work work;
  work.kind = Work::Kind::record;
  work.event = event->event;
  work.generation = ++event->event->recorded;
  engine().enqueue(stream->stream, std::move(work));
  return cu::success;
}

PPCHECK_EXPORT CUresult cuEventQuery(CUevent event) {
  if (event == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  return event->event->completed >= event->event->recorded ? cu::success : cu::notReady;
}

// -------------------------------------------------------------------------------------- memory

PPCHECK_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes) {
  if (current == nullptr) return cu::invalidContext;
  if (bytes == 0) return cu::invalidValue;
  std::lock_guard lock(engine().mutex);
  *address = engine().allocate(bytes);
  return *address == 0 ? cu::outOfMemory : cu::success;
}

/** Waits for all work of the device, as the real call does: free nothing beside a spinning kernel. */
PPCHECK_EXPORT CUresult cuMemFree_v2(CUdeviceptr address) {
  if (current == nullptr) return cu::invalidContext;
  std::unique_lock lock(engine().mutex);
  engine().moved.wait(lock, [] { return engine().isDrained(current->device); });
  return engine().free(address) ? cu::success : cu::invalidValue;
}

PPCHECK_EXPORT CUresult cuMemHostAlloc(void **host, size_t bytes, unsigned) {
  if (bytes == 0) return cu::invalidValue;
  *host = std::calloc(1, bytes);
  if (*host == nullptr) return cu::outOfMemory;
  std::lock_guard lock(engine().mutex);
  engine().registerHost(*host, bytes);
  return cu::success;
}

PPCHECK_EXPORT CUresult cuMemFreeHost(void *host) {
  std::lock_guard lock(engine().mutex);
  if (!engine().unregisterHost(host)) return cu::invalidValue;
  std::free(host);
  return cu::success;
}

PPCHECK_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned) {
  *address = reinterpret_cast<CUdeviceptr>(host);
  return cu::success;
}

PPCHECK_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                                             CUstream stream) {
  if (stream == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  char *target = engine().storage(to, bytes);
  if (target == nullptr) return cu::illegalAddress;
  engine().enqueue(stream->stream,
                   action([target, from, bytes] { std::memcpy(target, from, bytes); }));
  return cu::success;
}

PPCHECK_EXPORT CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                                             CUstream stream) {
  if (stream == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  const char *source = engine().storage(from, bytes);
  if (source == nullptr) return cu::illegalAddress;
  engine().enqueue(stream->stream,
                   action([to, source, bytes] { std::memcpy(to, source, bytes); }));
  return cu::success;
}

PPCHECK_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                                        CUstream stream) {
  if (stream == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  char *target = engine().storage(to, bytes);
  if (target == nullptr) return cu::illegalAddress;
  engine().enqueue(stream->stream,
                   action([target, value, bytes] { std::memset(target, value, bytes); }));
  return cu::success;
}

// --------------------------------------------------------------------------- modules and kernels

PPCHECK_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  if (current == nullptr) return cu::invalidContext;
  const char *text = static_cast<const char *>(image);
  if (std::strstr(text, ".version") == nullptr) return cu::invalidPtx;
  std::lock_guard lock(engine().mutex);
  engine().counts.modules++;
  *module = new CUmod_st{text};
  return cu::success;
}

PPCHECK_EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                                            const char *name) {
  if (module == nullptr) return cu::invalidHandle;
  const bool isKnown = std::any_of(std::begin(kernelNames), std::end(kernelNames),
                                   [name](const char *each) { return !std::strcmp(each, name); });
  const std::string entry = std::string(".entry ") + name + "(";
  if (!isKnown || module->image.find(entry) == std::string::npos) return cu::notFound;
  std::lock_guard lock(engine().mutex);
  auto &known = functions[{module, name}];
  if (!known) known.reset(new CUfunc_st{name, !engine().settings.lazyLoading});
  *function = known.get();
  return cu::success;
}

PPCHECK_EXPORT CUresult cuModuleUnload(CUmodule module) {
  if (module == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  for (auto entry = functions.begin(); entry != functions.end();) {
    entry = entry->first.first == module ? functions.erase(entry) : std::next(entry);
  }
  engine().counts.modules--;
  delete module;
  return cu::success;
}

PPCHECK_EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                                       unsigned gridZ, unsigned, unsigned, unsigned, unsigned,
                                       CUstream stream, void **parameters, void **) {
  if (function == nullptr || stream == nullptr) return cu::invalidHandle;
  std::unique_lock lock(engine().mutex);
  if (!function->isLoaded) {
    // Lazy loading: the first use waits until nothing spins on the device (page 2.3).
    const int device = stream->stream->device;
    engine().moved.wait(lock, [device] { return engine().device(device).resident == 0; });
    function->isLoaded = true;
  }
  Work work;
  const CUresult result = kernelWork(function->name, gridX * gridY * gridZ, parameters, work);
  if (result != cu::success) return result;
  if (stream->stream->isCapturing) {
    stream->stream->captured.push_back(std::move(work));
  } else {
    engine().enqueue(stream->stream, std::move(work));
  }
  return cu::success;
}

// -------------------------------------------------------------------------------------- graphs

PPCHECK_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, int) {
  if (stream == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  if (stream->stream->isCapturing) return cu::illegalState;
  stream->stream->isCapturing = true;
  return cu::success;
}

PPCHECK_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  if (stream == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  if (!stream->stream->isCapturing) return cu::illegalState;
  stream->stream->isCapturing = false;
  *graph = new CUgraph_st{std::move(stream->stream->captured)};
  stream->stream->captured.clear();
  engine().counts.graphs++;
  return cu::success;
}

namespace {

/** A node's work as often as the graph is launched. */
std::vector<Work> copied(const std::vector<Work> &nodes) {
  std::vector<Work> copies;
  for (const Work &node : nodes) {
    Work copy;
    copy.kind = node.kind;
    copy.duration = node.duration;
    copy.act = node.act;
    copy.onStart = node.onStart;
    copies.push_back(std::move(copy));
  }
  return copies;
}

}  // namespace

PPCHECK_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph,
                                                    unsigned long long) {
  if (graph == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  *executable = new CUgraphExec_st{copied(graph->nodes)};
  engine().counts.graphs++;
  return cu::success;
}

PPCHECK_EXPORT CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  if (executable == nullptr || stream == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  Work work;
  work.kind = Work::Kind::graph;
  work.nodes = copied(executable->nodes);
  for (const Work &node : work.nodes) work.duration += node.duration;
  engine().enqueue(stream->stream, std::move(work));
  return cu::success;
}

PPCHECK_EXPORT CUresult cuGraphExecDestroy(CUgraphExec executable) {
  if (executable == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  engine().counts.graphs--;
  delete executable;
  return cu::success;
}

PPCHECK_EXPORT CUresult cuGraphDestroy(CUgraph graph) {
  if (graph == nullptr) return cu::invalidHandle;
  std::lock_guard lock(engine().mutex);
  engine().counts.graphs--;
  delete graph;
  return cu::success;
}

}  // extern "C"
