// The JavaScript face of the mesh: plain N-API, so that one binary serves every Node.js. It only
// converts values; functions are described where TypeScript sees them: backend-cuda/gloo.ts.

#include <node_api.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <memory>

#include "mesh.h"

namespace {

using ppcheck::Mesh;
using ppcheck::MeshOptions;
using ppcheck::Notice;

/** A JavaScript exception is pending: unwind to the boundary. */
struct Pending {};

void require(napi_env env, napi_status status) {
  if (status == napi_ok) return;
  bool isPending = false;
  napi_is_exception_pending(env, &isPending);
  if (!isPending) napi_throw_type_error(env, nullptr, "ppcheck_gloo: wrong argument");
  throw Pending{};
}

napi_value get(napi_env env, napi_value object, const char *key) {
  napi_value value;
  require(env, napi_get_named_property(env, object, key, &value));
  return value;
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

std::vector<int> toIntegers(napi_env env, napi_value list) {
  std::uint32_t length = 0;
  require(env, napi_get_array_length(env, list, &length));
  std::vector<int> result;
  for (std::uint32_t index = 0; index < length; index++) {
    napi_value value;
    require(env, napi_get_element(env, list, index, &value));
    result.push_back(static_cast<int>(toNumber(env, value)));
  }
  return result;
}

/** The mesh and the way back into JavaScript. Notices are collected and delivered together. */
struct Handle {
  std::unique_ptr<Mesh> mesh;
  napi_threadsafe_function deliver = nullptr;
  std::mutex mutex;
  std::vector<Notice> notices;
};

void deliverNotices(napi_env env, napi_value callback, void *context, void *) {
  auto *handle = static_cast<Handle *>(context);
  std::vector<Notice> notices;
  {
    std::lock_guard<std::mutex> lock(handle->mutex);
    notices.swap(handle->notices);
  }
  if (env == nullptr) return;
  for (const auto &notice : notices) {
    napi_value self, arguments[5];
    napi_get_undefined(env, &self);
    napi_create_int32(env, notice.kind, &arguments[0]);
    napi_create_double(env, notice.number, &arguments[1]);
    if (notice.kind == Notice::failed) {
      napi_create_string_utf8(env, notice.data.data(), notice.data.size(), &arguments[2]);
    } else {
      napi_create_buffer_copy(env, notice.data.size(), notice.data.data(), nullptr, &arguments[2]);
    }
    napi_create_int32(env, notice.communicator, &arguments[3]);
    napi_create_int32(env, notice.peer, &arguments[4]);
    if (napi_call_function(env, self, callback, 5, arguments, nullptr) != napi_ok) return;
  }
}

Handle *handleOf(napi_env env, napi_value value) {
  void *pointer = nullptr;
  require(env, napi_get_value_external(env, value, &pointer));
  return static_cast<Handle *>(pointer);
}

template <napi_value (*function)(napi_env, const napi_value *), std::size_t count>
napi_value guarded(napi_env env, napi_callback_info info) {
  try {
    napi_value arguments[count];
    std::size_t given = count;
    require(env, napi_get_cb_info(env, info, &given, arguments, nullptr, nullptr));
    if (given < count) require(env, napi_invalid_arg);
    return function(env, arguments);
  } catch (const Pending &) {
  } catch (const std::exception &error) {
    napi_throw_error(env, nullptr, error.what());
  }
  return nullptr;
}

napi_value open(napi_env env, const napi_value *arguments) {
  const napi_value given = arguments[0];
  MeshOptions options;
  options.rank = static_cast<int>(toNumber(env, get(env, given, "rank")));
  options.size = static_cast<int>(toNumber(env, get(env, given, "size")));
  options.communicators = static_cast<int>(toNumber(env, get(env, given, "communicators")));
  options.depth = static_cast<int>(toNumber(env, get(env, given, "depth")));
  options.capacity = static_cast<std::size_t>(toNumber(env, get(env, given, "capacity")));
  options.timeoutMs = static_cast<int>(toNumber(env, get(env, given, "timeoutMs")));
  options.store = toText(env, get(env, given, "store"));
  options.interface = toText(env, get(env, given, "interface"));
  options.host = toText(env, get(env, given, "host"));
  const std::vector<int> links = toIntegers(env, get(env, given, "links"));
  for (std::size_t index = 0; index + 1 < links.size(); index += 2) {
    options.links.push_back({links[index], links[index + 1]});
  }
  ppcheck::installTerminateHandler(options.rank);
  auto handle = std::make_unique<Handle>();
  napi_value name;
  require(env, napi_create_string_utf8(env, "ppcheck_gloo", NAPI_AUTO_LENGTH, &name));
  require(env, napi_create_threadsafe_function(env, arguments[1], nullptr, name, 0, 1, nullptr,
                                               nullptr, handle.get(), deliverNotices,
                                               &handle->deliver));
  Handle *raw = handle.get();
  raw->mesh = std::make_unique<Mesh>(std::move(options), [raw](Notice notice) {
    bool isFirst;
    {
      std::lock_guard<std::mutex> lock(raw->mutex);
      isFirst = raw->notices.empty();
      raw->notices.push_back(std::move(notice));
    }
    if (isFirst) napi_call_threadsafe_function(raw->deliver, nullptr, napi_tsfn_nonblocking);
  });
  raw->mesh->open();
  napi_value external;
  // Lives as long as the process: late notices of its threads must find it.
  require(env, napi_create_external(env, handle.release(), nullptr, nullptr, &external));
  return external;
}

napi_value send(napi_env env, const napi_value *arguments) {
  Handle *handle = handleOf(env, arguments[0]);
  const int communicator = static_cast<int>(toNumber(env, arguments[1]));
  const std::vector<int> peers = toIntegers(env, arguments[2]);
  void *data = nullptr;
  std::size_t bytes = 0;
  require(env, napi_get_buffer_info(env, arguments[3], &data, &bytes));
  handle->mesh->send(communicator, peers, static_cast<const char *>(data), bytes,
                     toNumber(env, arguments[4]));
  return nullptr;
}

napi_value release(napi_env env, const napi_value *arguments) {
  handleOf(env, arguments[0])->mesh->release(static_cast<int>(toNumber(env, arguments[1])));
  return nullptr;
}

napi_value close(napi_env env, const napi_value *arguments) {
  Handle *handle = handleOf(env, arguments[0]);
  if (handle->deliver == nullptr) return nullptr;
  handle->mesh->close();
  napi_release_threadsafe_function(handle->deliver, napi_tsfn_abort);
  handle->deliver = nullptr;
  return nullptr;
}

/** The kernel ends this process with its parent's, even while it is stopped. */
napi_value dieWithParent(napi_env env, const napi_value *arguments) {
  const int parent = static_cast<int>(toNumber(env, arguments[0]));
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have gone before the request.
  if (getppid() != parent) _exit(1);
  return nullptr;
}

napi_value initialize(napi_env env, napi_value exports) {
  const napi_property_descriptor properties[] = {
      {"open", nullptr, guarded<open, 2>, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"send", nullptr, guarded<send, 5>, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"release", nullptr, guarded<release, 2>, nullptr, nullptr, nullptr, napi_enumerable,
       nullptr},
      {"close", nullptr, guarded<close, 1>, nullptr, nullptr, nullptr, napi_enumerable, nullptr},
      {"dieWithParent", nullptr, guarded<dieWithParent, 1>, nullptr, nullptr, nullptr,
       napi_enumerable, nullptr},
  };
  napi_define_properties(env, exports, sizeof properties / sizeof properties[0], properties);
  return exports;
}

}  // namespace

NAPI_MODULE(ppcheck_gloo, initialize)
