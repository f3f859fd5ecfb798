// The JavaScript face of the GPU half: plain N-API, so that one binary serves every Node.js. It only
// converts values; what a call means is in device.h and libraries.h. Functions are described where
// TypeScript sees them: backend-cuda/cuda-addon.ts.

#include <node_api.h>

#include <cstring>
#include <memory>
#include <vector>

#include "device.h"

namespace {

/** A JavaScript exception is pending: unwind to the boundary. */
struct Pending {};

void require(napi_env env, napi_status status) {
  if (status == napi_ok) return;
  bool isPending = false;
  napi_is_exception_pending(env, &isPending);
  if (!isPending) napi_throw_type_error(env, nullptr, "ppcheck_cuda: wrong argument");
  throw Pending{};
}

napi_value text(napi_env env, const std::string &value) {
  napi_value result;
  require(env, napi_create_string_utf8(env, value.data(), value.size(), &result));
  return result;
}

napi_value number(napi_env env, double value) {
  napi_value result;
  require(env, napi_create_double(env, value, &result));
  return result;
}

void set(napi_env env, napi_value object, const char *key, napi_value value) {
  require(env, napi_set_named_property(env, object, key, value));
}

napi_value object(napi_env env) {
  napi_value result;
  require(env, napi_create_object(env, &result));
  return result;
}

double toNumber(napi_env env, napi_value value) {
  double result = 0;
  require(env, napi_get_value_double(env, value, &result));
  return result;
}

std::string toText(napi_env env, napi_value value) {
  std::size_t length = 0;
  require(env, napi_get_value_string_utf8(env, value, nullptr, 0, &length));
  std::string result(length, '\0');
  require(env, napi_get_value_string_utf8(env, value, result.data(), length + 1, &length));
  return result;
}

double numberAt(napi_env env, napi_value object, const char *key) {
  napi_value value;
  require(env, napi_get_named_property(env, object, key, &value));
  return toNumber(env, value);
}

template <std::size_t count>
struct Arguments {
  napi_value value[count];
  Arguments(napi_env env, napi_callback_info info) {
    std::size_t given = count;
    require(env, napi_get_cb_info(env, info, &given, value, nullptr, nullptr));
    if (given < count) require(env, napi_invalid_arg);
  }
};

napi_value failureObject(napi_env env, const Failure &failure) {
  napi_value result = object(env);
  set(env, result, "call", text(env, failure.call));
  set(env, result, "result", text(env, failure.result));
  set(env, result, "rank", number(env, failure.rank));
  set(env, result, "communicator", number(env, failure.communicator));
  set(env, result, "step", number(env, failure.step));
  return result;
}

/** Calls `body` and turns what it throws into JavaScript exceptions. */
template <typename Body>
napi_value guarded(napi_env env, Body body) {
  try {
    return body();
  } catch (const Pending &) {
    return nullptr;
  } catch (const Failure &failure) {
    try {
      napi_value error;
      require(env, napi_create_error(env, nullptr, text(env, failure.call + ": " + failure.result),
                                     &error));
      set(env, error, "failure", failureObject(env, failure));
      napi_throw(env, error);
    } catch (const Pending &) {
    }
    return nullptr;
  }
}

// ----------------------------------------------------------------------------------- libraries

using LibrariesHandle = std::shared_ptr<Libraries>;

LibrariesHandle &librariesOf(napi_env env, napi_value value) {
  void *data = nullptr;
  require(env, napi_get_value_external(env, value, &data));
  return *static_cast<LibrariesHandle *>(data);
}

napi_value gpuObject(napi_env env, const DriverFunctions &cuda, int ordinal) {
  CUdevice device = 0;
  cuda.cuDeviceGet(&device, ordinal);
  char name[128] = "";
  cuda.cuDeviceGetName(name, sizeof(name), device);
  std::size_t bytes = 0;
  cuda.cuDeviceTotalMem_v2(&bytes, device);
  const auto attribute = [&](int which) {
    int value = 0;
    cuda.cuDeviceGetAttribute(&value, which, device);
    return number(env, value);
  };
  napi_value gpu = object(env);
  set(env, gpu, "name", text(env, name));
  set(env, gpu, "memoryBytes", number(env, static_cast<double>(bytes)));
  set(env, gpu, "major", attribute(cu::attributeMajor));
  set(env, gpu, "minor", attribute(cu::attributeMinor));
  set(env, gpu, "multiprocessors", attribute(cu::attributeMultiprocessors));
  set(env, gpu, "threadsPerMultiprocessor", attribute(cu::attributeThreadsPerMultiprocessor));
  return gpu;
}

/** load(cudaPath, ncclPath, withNccl) */
napi_value load(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    Arguments<3> arguments(env, info);
    bool withNccl = false;
    require(env, napi_get_value_bool(env, arguments.value[2], &withNccl));
    auto libraries = std::make_shared<Libraries>();
    Obstacle obstacle = libraries->loadDriver(toText(env, arguments.value[0]));
    if (!obstacle && withNccl) obstacle = libraries->loadNccl(toText(env, arguments.value[1]));
    napi_value result = object(env);
    napi_value available;
    require(env, napi_get_boolean(env, !obstacle, &available));
    set(env, result, "available", available);
    set(env, result, "driverVersion", number(env, libraries->driverVersion));
    set(env, result, "ncclVersion", number(env, libraries->ncclVersion));
    set(env, result, "emulatedResident", number(env, libraries->emulatedResident));
    if (obstacle) {
      set(env, result, "code", text(env, obstacle.code));
      set(env, result, "reason", text(env, obstacle.reason));
      return result;
    }
    int count = 0;
    libraries->driver.cuDeviceGetCount(&count);
    napi_value gpus;
    require(env, napi_create_array(env, &gpus));
    for (int i = 0; i < count; i++) {
      require(env, napi_set_element(env, gpus, static_cast<std::uint32_t>(i),
                                    gpuObject(env, libraries->driver, i)));
    }
    set(env, result, "gpus", gpus);
    napi_value handle;
    const auto finalize = [](napi_env, void *data, void *) {
      delete static_cast<LibrariesHandle *>(data);
    };
    require(env, napi_create_external(env, new LibrariesHandle(libraries), finalize, nullptr,
                                      &handle));
    set(env, result, "libraries", handle);
    return result;
  });
}

/** uniqueId(libraries) */
napi_value uniqueId(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    Arguments<1> arguments(env, info);
    LibrariesHandle &libraries = librariesOf(env, arguments.value[0]);
    ncclUniqueId id{};
    const ncclResult_t result = libraries->nccl.ncclGetUniqueId(&id);
    if (result != nccl::success) throw Failure{"ncclGetUniqueId", std::to_string(result)};
    napi_value buffer;
    require(env, napi_create_buffer_copy(env, sizeof(id.internal), id.internal, nullptr, &buffer));
    return buffer;
  });
}

/** emulatedCounts(libraries): live objects of the emulation, empty on a real driver. */
napi_value emulatedCounts(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    Arguments<1> arguments(env, info);
    LibrariesHandle &libraries = librariesOf(env, arguments.value[0]);
    napi_value list;
    require(env, napi_create_array(env, &list));
    if (libraries->emulatedCounts == nullptr) return list;
    long long counts[7] = {};
    libraries->emulatedCounts(counts);
    for (std::uint32_t i = 0; i < 7; i++) {
      require(env, napi_set_element(env, list, i, number(env, static_cast<double>(counts[i]))));
    }
    return list;
  });
}

// -------------------------------------------------------------------------------------- device

struct DeviceHandle {
  std::unique_ptr<Device> device;
  napi_threadsafe_function notify = nullptr;
  /** The ArrayBuffers over pinned memory: detached before that memory goes. */
  std::vector<napi_ref> memories;
};

Device &deviceOf(napi_env env, napi_value value) {
  void *data = nullptr;
  require(env, napi_get_value_external(env, value, &data));
  auto *handle = static_cast<DeviceHandle *>(data);
  if (handle->device == nullptr) {
    napi_throw_error(env, nullptr, "ppcheck_cuda: the device is closed");
    throw Pending{};
  }
  return *handle->device;
}

void endWithEnvironment(void *data) { static_cast<DeviceHandle *>(data)->device.reset(); }

void detachMemories(napi_env env, DeviceHandle &handle) {
  for (const napi_ref reference : handle.memories) {
    napi_value memory = nullptr;
    napi_get_reference_value(env, reference, &memory);
    if (memory != nullptr) napi_detach_arraybuffer(env, memory);
    napi_delete_reference(env, reference);
  }
  handle.memories.clear();
}

napi_value noticeObject(napi_env env, const Notice &notice) {
  static const char *const kinds[] = {"done", "communicator-ready", "failed", "aborted", "closed"};
  napi_value result = object(env);
  set(env, result, "kind", text(env, kinds[notice.kind]));
  set(env, result, "token", number(env, notice.token));
  if (notice.kind == Notice::failed) set(env, result, "failure", failureObject(env, notice.failure));
  return result;
}

/** Runs on the JavaScript thread: callback(tokens, notices). */
void deliver(napi_env env, napi_value callback, void *context, void *) {
  auto *handle = static_cast<DeviceHandle *>(context);
  if (env == nullptr || handle->device == nullptr) return;
  guarded(env, [&]() -> napi_value {
    const std::vector<Notice> taken = handle->device->takeNotices();
    bool isClosed = false;
    napi_value arguments[2];
    require(env, napi_create_array(env, &arguments[0]));
    require(env, napi_create_array(env, &arguments[1]));
    std::uint32_t tokens = 0;
    std::uint32_t others = 0;
    for (const Notice &notice : taken) {
      if (notice.kind == Notice::done) {
        require(env, napi_set_element(env, arguments[0], tokens++, number(env, notice.token)));
      } else {
        require(env,
                napi_set_element(env, arguments[1], others++, noticeObject(env, notice)));
      }
      isClosed = isClosed || notice.kind == Notice::closed;
    }
    if (isClosed) {
      handle->device.reset();
      napi_remove_env_cleanup_hook(env, endWithEnvironment, handle);
      napi_release_threadsafe_function(handle->notify, napi_tsfn_release);
    }
    if (tokens + others == 0) return nullptr;
    napi_value self;
    require(env, napi_get_undefined(env, &self));
    require(env, napi_call_function(env, self, callback, 2, arguments, nullptr));
    return nullptr;
  });
}

DeviceOptions optionsFrom(napi_env env, napi_value value) {
  DeviceOptions options;
  options.ordinal = static_cast<int>(numberAt(env, value, "ordinal"));
  options.rank = static_cast<int>(numberAt(env, value, "rank"));
  options.streams = static_cast<int>(numberAt(env, value, "streams"));
  options.events = static_cast<int>(numberAt(env, value, "events"));
  napi_value graphs;
  std::uint32_t count = 0;
  require(env, napi_get_named_property(env, value, "graphsNs", &graphs));
  require(env, napi_get_array_length(env, graphs, &count));
  for (std::uint32_t i = 0; i < count; i++) {
    napi_value nodes;
    std::uint32_t length = 0;
    require(env, napi_get_element(env, graphs, i, &nodes));
    require(env, napi_get_array_length(env, nodes, &length));
    options.graphs.emplace_back();
    for (std::uint32_t j = 0; j < length; j++) {
      napi_value node;
      require(env, napi_get_element(env, nodes, j, &node));
      options.graphs.back().push_back(toNumber(env, node));
    }
  }
  return options;
}

/** open(libraries, options, callback) */
napi_value open(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    Arguments<3> arguments(env, info);
    LibrariesHandle libraries = librariesOf(env, arguments.value[0]);
    const DeviceOptions options = optionsFrom(env, arguments.value[1]);
    auto handle = std::make_unique<DeviceHandle>();
    require(env, napi_create_threadsafe_function(env, arguments.value[2], nullptr,
                                                 text(env, "ppcheck device"), 0, 1, nullptr,
                                                 nullptr, handle.get(), deliver, &handle->notify));
    const napi_threadsafe_function notify = handle->notify;
    const auto ring = [notify] {
      napi_call_threadsafe_function(notify, nullptr, napi_tsfn_nonblocking);
    };
    try {
      handle->device = std::make_unique<Device>(libraries, options, ring);
    } catch (const Failure &) {
      napi_release_threadsafe_function(notify, napi_tsfn_abort);
      // The function still points here until it is finalized; this happens once, on an error.
      handle.release();
      throw;
    }
    require(env, napi_add_env_cleanup_hook(env, endWithEnvironment, handle.get()));
    napi_value external;
    const auto finalize = [](napi_env, void *data, void *) {
      auto *gone = static_cast<DeviceHandle *>(data);
      // Not closed and not reachable: its thread and its function still use the handle.
      if (gone->device == nullptr) delete gone;
    };
    require(env, napi_create_external(env, handle.get(), finalize, nullptr, &external));
    handle.release();
    return external;
  });
}

/** createBuffer(device, bytes): { index, memory } */
napi_value createBuffer(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    Arguments<2> arguments(env, info);
    Device &device = deviceOf(env, arguments.value[0]);
    const auto bytes = static_cast<std::size_t>(toNumber(env, arguments.value[1]));
    const int index = device.createBuffer(bytes);
    napi_value memory;
    require(env, napi_create_external_arraybuffer(env, device.hostMemory(index),
                                                  bytes + sizeof(unsigned), nullptr, nullptr,
                                                  &memory));
    void *data = nullptr;
    require(env, napi_get_value_external(env, arguments.value[0], &data));
    napi_ref reference;
    require(env, napi_create_reference(env, memory, 1, &reference));
    static_cast<DeviceHandle *>(data)->memories.push_back(reference);
    napi_value result = object(env);
    set(env, result, "index", number(env, index));
    set(env, result, "memory", memory);
    return result;
  });
}

/** initCommunicator(device, id, ranks, rank): number */
napi_value initCommunicator(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    Arguments<4> arguments(env, info);
    Device &device = deviceOf(env, arguments.value[0]);
    void *bytes = nullptr;
    std::size_t length = 0;
    require(env, napi_get_buffer_info(env, arguments.value[1], &bytes, &length));
    ncclUniqueId id{};
    if (length != sizeof(id.internal)) require(env, napi_invalid_arg);
    std::memcpy(id.internal, bytes, length);
    return number(env, device.initCommunicator(
                           id, static_cast<int>(toNumber(env, arguments.value[2])),
                           static_cast<int>(toNumber(env, arguments.value[3]))));
  });
}

/** splitCommunicator(device, parent, key): number, or -1 where this NCCL cannot split */
napi_value splitCommunicator(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    Arguments<3> arguments(env, info);
    Device &device = deviceOf(env, arguments.value[0]);
    if (!device.hasSplit()) return number(env, -1);
    return number(env, device.splitCommunicator(
                           static_cast<int>(toNumber(env, arguments.value[1])),
                           static_cast<int>(toNumber(env, arguments.value[2]))));
  });
}

/** submit(device, commands, count) */
napi_value submit(napi_env env, napi_callback_info info) {
  return guarded(env, [&]() -> napi_value {
    Arguments<3> arguments(env, info);
    Device &device = deviceOf(env, arguments.value[0]);
    napi_typedarray_type type;
    std::size_t length = 0;
    void *data = nullptr;
    require(env, napi_get_typedarray_info(env, arguments.value[1], &type, &length, &data, nullptr,
                                          nullptr));
    const double count = toNumber(env, arguments.value[2]);
    if (type != napi_float64_array || count < 0 ||
        count * Command::width > static_cast<double>(length)) {
      require(env, napi_invalid_arg);
    }
    device.submit(static_cast<const Command *>(data), static_cast<std::size_t>(count));
    return nullptr;
  });
}

napi_value abortDevice(napi_env env, napi_callback_info info) {
  return guarded(env, [&]() -> napi_value {
    Arguments<1> arguments(env, info);
    deviceOf(env, arguments.value[0]).abort();
    return nullptr;
  });
}

napi_value closeDevice(napi_env env, napi_callback_info info) {
  return guarded(env, [&]() -> napi_value {
    Arguments<1> arguments(env, info);
    Device &device = deviceOf(env, arguments.value[0]);
    void *data = nullptr;
    require(env, napi_get_value_external(env, arguments.value[0], &data));
    detachMemories(env, *static_cast<DeviceHandle *>(data));
    device.close();
    return nullptr;
  });
}

/** busyStreams(device): boolean[] */
napi_value busyStreams(napi_env env, napi_callback_info info) {
  return guarded(env, [&] {
    Arguments<1> arguments(env, info);
    const std::vector<bool> busy = deviceOf(env, arguments.value[0]).busyStreams();
    napi_value list;
    require(env, napi_create_array(env, &list));
    for (std::uint32_t i = 0; i < busy.size(); i++) {
      napi_value each;
      require(env, napi_get_boolean(env, busy[i], &each));
      require(env, napi_set_element(env, list, i, each));
    }
    return list;
  });
}

napi_value initModule(napi_env env, napi_value exports) {
  return guarded(env, [&] {
    const std::pair<const char *, napi_callback> functions[] = {
        {"load", load},
        {"uniqueId", uniqueId},
        {"emulatedCounts", emulatedCounts},
        {"open", open},
        {"createBuffer", createBuffer},
        {"initCommunicator", initCommunicator},
        {"splitCommunicator", splitCommunicator},
        {"submit", submit},
        {"abort", abortDevice},
        {"close", closeDevice},
        {"busyStreams", busyStreams}};
    for (const auto &[name, function] : functions) {
      napi_value value;
      require(env, napi_create_function(env, name, NAPI_AUTO_LENGTH, function, nullptr, &value));
      set(env, exports, name, value);
    }
    return exports;
  });
}

}  // namespace

NAPI_MODULE(ppcheck_cuda, initModule)
