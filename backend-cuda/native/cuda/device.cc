// The issuing thread of a device. See device.h.

#include "device.h"

#include <chrono>
#include <cstring>

#include "kernels.h"

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

/** How long an empty look at the device lets the thread sleep: short at first, then longer. */
constexpr int sleepUsMin = 20;
constexpr int sleepUsMax = 200;
constexpr int looksBeforeSleep = 20;
/** Asynchronous errors are asked for once in so many looks: they are rare, looks are not. */
constexpr int looksPerErrorPoll = 64;
/** After an abort the streams run empty at once; a kernel that does not end is left behind. */
constexpr auto drainTimeout = std::chrono::seconds(2);

const char *ncclName(ncclResult_t result) {
  static const char *const names[] = {"ncclSuccess",         "ncclUnhandledCudaError",
                                      "ncclSystemError",     "ncclInternalError",
                                      "ncclInvalidArgument", "ncclInvalidUsage",
                                      "ncclRemoteError",     "ncclInProgress"};
  return result >= 0 && result < 8 ? names[result] : "an unknown result";
}

}  // namespace

void Device::check(CUresult result, const char *call) const {
  if (result == cu::success) return;
  const char *name = nullptr;
  cuda_.cuGetErrorName(result, &name);
  const std::string text = name == nullptr ? "error " + std::to_string(result) : name;
  throw Failure{call, text, rank_, communicator_, step_};
}

void Device::checkNccl(ncclResult_t result, const char *call) const {
  // A non-blocking call that goes on by itself is fine: its error, if any, comes asynchronously.
  if (result == nccl::success || result == nccl::inProgress) return;
  throw Failure{call, ncclName(result), rank_, communicator_, step_};
}

#define CUDA(call, ...) check(cuda_.call(__VA_ARGS__), #call)
#define NCCL(call, ...) checkNccl(nccl_.call(__VA_ARGS__), #call)

Device::Device(std::shared_ptr<Libraries> libraries, DeviceOptions options, Notify notify)
    : libraries_(std::move(libraries)),
      cuda_(libraries_->driver),
      nccl_(libraries_->nccl),
      options_(std::move(options)),
      rank_(options_.rank),
      notify_(std::move(notify)) {
  try {
    CUDA(cuDeviceGet, &device_, options_.ordinal);
    CUDA(cuDevicePrimaryCtxRetain, &context_, device_);
    CUDA(cuCtxSetCurrent, context_);
    CUDA(cuModuleLoadData, &module_, kernelsPtx);
    CUDA(cuModuleGetFunction, &spinFor_, module_, "ppcheck_spin_for");
    CUDA(cuModuleGetFunction, &spinUntil_, module_, "ppcheck_spin_until");
    CUDA(cuModuleGetFunction, &fill_, module_, "ppcheck_fill");
    CUDA(cuModuleGetFunction, &verify_, module_, "ppcheck_verify");
    for (int i = 0; i < options_.streams; i++) {
      CUstream stream = nullptr;
      CUDA(cuStreamCreateWithPriority, &stream, cu::streamNonBlocking, 0);
      streams_.push_back(stream);
    }
    for (int i = 0; i < options_.events; i++) {
      CUevent event = nullptr;
      CUDA(cuEventCreate, &event, cu::eventDisableTiming);
      events_.push_back(event);
    }
    for (const auto &durations : options_.graphs) makeGraph(durations);
  } catch (const Failure &) {
    tearDown();
    throw;
  }
  watches_.resize(streams_.size());
  busy_.resize(streams_.size());
  thread_ = std::thread([this] { run(); });
}

Device::~Device() {
  close();
  if (thread_.joinable()) thread_.join();
}

void Device::makeGraph(const std::vector<double> &durations) {
  CUDA(cuStreamBeginCapture_v2, streams_[0], cu::captureThreadLocal);
  for (const double duration : durations) {
    auto ns = static_cast<unsigned long long>(duration);
    void *parameters[] = {&ns};
    launch(spinFor_, 0, 1, 32, parameters);
  }
  CUgraph graph = nullptr;
  CUDA(cuStreamEndCapture, streams_[0], &graph);
  captured_.push_back(graph);
  CUgraphExec executable = nullptr;
  CUDA(cuGraphInstantiateWithFlags, &executable, graph, 0);
  graphs_.push_back(executable);
}

int Device::createBuffer(std::size_t bytes) {
  Buffer buffer;
  buffer.bytes = bytes;
  CUDA(cuCtxSetCurrent, context_);
  CUDA(cuMemAlloc_v2, &buffer.address, bytes);
  try {
    // The mirror ends with the counter that ppcheck_verify adds to.
    CUDA(cuMemHostAlloc, &buffer.host, bytes + sizeof(unsigned),
         cu::hostAllocPortable | cu::hostAllocDeviceMap);
    CUDA(cuMemHostGetDevicePointer_v2, &buffer.hostAddress, buffer.host, 0);
  } catch (const Failure &) {
    cuda_.cuMemFree_v2(buffer.address);
    if (buffer.host != nullptr) cuda_.cuMemFreeHost(buffer.host);
    throw;
  }
  std::memset(buffer.host, 0, bytes + sizeof(unsigned));
  std::lock_guard lock(mutex_);
  buffers_.push_back(buffer);
  return static_cast<int>(buffers_.size()) - 1;
}

int Device::initCommunicator(const ncclUniqueId &id, int ranks, int rank) {
  Communicator communicator;
  communicator.id = id;
  communicator.ranks = ranks;
  communicator.rank = rank;
  std::lock_guard lock(mutex_);
  communicators_.push_back(communicator);
  changed_.notify_one();
  return static_cast<int>(communicators_.size()) - 1;
}

int Device::splitCommunicator(int parent, int key) {
  Communicator communicator;
  communicator.parent = parent;
  communicator.rank = key;
  std::lock_guard lock(mutex_);
  communicators_.push_back(communicator);
  changed_.notify_one();
  return static_cast<int>(communicators_.size()) - 1;
}

void Device::submit(const Command *commands, std::size_t count) {
  std::lock_guard lock(mutex_);
  incoming_.insert(incoming_.end(), commands, commands + count);
  changed_.notify_one();
}

void Device::abort() {
  std::lock_guard lock(mutex_);
  isAborting_ = true;
  changed_.notify_one();
}

void Device::close() {
  std::lock_guard lock(mutex_);
  isClosing_ = true;
  changed_.notify_one();
}

std::vector<Notice> Device::takeNotices() {
  std::lock_guard lock(mutex_);
  std::vector<Notice> taken;
  taken.swap(notices_);
  return taken;
}

std::vector<bool> Device::busyStreams() const {
  std::lock_guard lock(mutex_);
  return busy_;
}

void Device::tell(Notice notice) {
  bool isFirst = false;
  {
    std::lock_guard lock(mutex_);
    isFirst = notices_.empty();
    notices_.push_back(std::move(notice));
  }
  // One wake-up for all notices until they are taken.
  if (isFirst) notify_();
}

// ------------------------------------------------------------------------------ issuing thread

void Device::run() {
  std::vector<Command> commands;
  int looks = 0;
  int sleepUs = sleepUsMin;
  cuda_.cuCtxSetCurrent(context_);
  for (;;) {
    bool mustAbort = false;
    bool mustClose = false;
    {
      std::unique_lock lock(mutex_);
      commands.clear();
      commands.swap(incoming_);
      mustAbort = isAborting_ && !isAborted_;
      mustClose = isClosing_;
    }
    if (mustClose) break;
    if (mustAbort) {
      abortCommunicators();
      tell({Notice::aborted, 0, {}});
    }
    bool hasMoved = !commands.empty();
    if (!hasFailed_ && !isAborted_) {
      try {
        for (const Command &command : commands) issue(command);
        communicator_ = -1;
        hasMoved = pollWatches() || hasMoved;
        if (looks % looksPerErrorPoll == 0 || sleepUs == sleepUsMax) {
          hasMoved = pollCommunicators() || hasMoved;
        }
      } catch (const Failure &failure) {
        hasFailed_ = true;
        tell({Notice::failed, 0, failure});
      }
    }
    looks++;
    if (hasMoved) {
      looks = 0;
      sleepUs = sleepUsMin;
      continue;
    }
    if (looks < looksBeforeSleep) {
      std::this_thread::yield();
      continue;
    }
    std::unique_lock lock(mutex_);
    bool isIdle = hasFailed_ || isAborted_;
    if (!isIdle) {
      isIdle = true;
      for (const auto &watches : watches_) isIdle = isIdle && watches.empty();
      for (const auto &each : communicators_) isIdle = isIdle && each.isReady;
    }
    const auto isWanted = [this] {
      return !incoming_.empty() || isClosing_ || (isAborting_ && !isAborted_);
    };
    if (isIdle && !isWanted()) {
      // A communicator may be asked for meanwhile: every notify ends the wait.
      changed_.wait(lock);
    } else if (!isWanted()) {
      changed_.wait_for(lock, microseconds(sleepUs));
      sleepUs = sleepUs * 2 > sleepUsMax ? sleepUsMax : sleepUs * 2;
    }
  }
  tearDown();
  tell({Notice::closed, 0, {}});
}

Device::Buffer Device::bufferOf(long long number, long long bytes) {
  std::lock_guard lock(mutex_);
  const Buffer found = of(buffers_, number, "buffer");
  if (bytes >= 0 && static_cast<std::size_t>(bytes) <= found.bytes) return found;
  throw Failure{"buffer", std::to_string(bytes) + " bytes do not fit", rank_, communicator_, step_};
}

void Device::launch(CUfunction function, int stream, unsigned blocks, unsigned threads,
                    void **parameters) {
  CUDA(cuLaunchKernel, function, blocks, 1, 1, threads, 1, 1, 0,
       of(streams_, stream, "stream"), parameters, nullptr);
}

void Device::issue(const Command &command) {
  step_ = command.step();
  communicator_ = -1;
  if (collective(command)) return;
  const auto stream = static_cast<int>(command.at(1));
  const auto handle = [&] { return of(streams_, stream, "stream"); };
  const auto buffer = [&](long long bytes) { return bufferOf(command.at(2), bytes); };
  switch (command.kind()) {
    case Command::spinFor: {
      auto ns = static_cast<unsigned long long>(command.at(2));
      void *parameters[] = {&ns};
      launch(spinFor_, stream, static_cast<unsigned>(command.at(3)),
             static_cast<unsigned>(command.at(4)), parameters);
      return;
    }
    case Command::spinUntil: {
      // Its mirror holds two words: blocks that have started, and the flag.
      CUdeviceptr started = buffer(8).hostAddress;
      CUdeviceptr flag = started + 4;
      void *parameters[] = {&started, &flag};
      launch(spinUntil_, stream, static_cast<unsigned>(command.at(3)),
             static_cast<unsigned>(command.at(4)), parameters);
      return;
    }
    case Command::launchGraph:
      CUDA(cuGraphLaunch, of(graphs_, command.at(2), "graph"), handle());
      return;
    case Command::record:
      CUDA(cuEventRecord, of(events_, command.at(2), "event"), handle());
      return;
    case Command::wait:
      CUDA(cuStreamWaitEvent, handle(), of(events_, command.at(2), "event"), 0);
      return;
    case Command::upload: {
      const auto bytes = command.at(3);
      const Buffer memory = buffer(bytes);
      CUDA(cuMemcpyHtoDAsync_v2, memory.address, memory.host, static_cast<std::size_t>(bytes),
           handle());
      return;
    }
    case Command::download: {
      const auto bytes = command.at(3);
      const Buffer memory = buffer(bytes);
      CUDA(cuMemcpyDtoHAsync_v2, memory.host, memory.address, static_cast<std::size_t>(bytes),
           handle());
      return;
    }
    case Command::fill:
    case Command::verify: {
      const Buffer memory = buffer(command.at(3) * 4);
      CUdeviceptr address = memory.address;
      auto words = static_cast<unsigned>(command.at(3));
      auto key = static_cast<unsigned>(command.at(4));
      CUdeviceptr wrong = memory.hostAddress + memory.bytes;
      void *parameters[] = {&address, &words, &key, &wrong};
      launch(command.kind() == Command::fill ? fill_ : verify_, stream, 8, 128, parameters);
      return;
    }
    case Command::watch:
      of(events_, command.at(2), "event");
      of(watches_, stream, "stream")
          .push_back({static_cast<int>(command.at(2)), command.field[3]});
      return;
    default:
      throw Failure{"command", "unknown kind " + std::to_string(command.at(0)), rank_, -1, step_};
  }
}

/** NCCL's calls; false if the command is none of them. */
bool Device::collective(const Command &command) {
  if (command.kind() == Command::groupStart) return NCCL(ncclGroupStart), true;
  if (command.kind() == Command::groupEnd) return NCCL(ncclGroupEnd), true;
  const auto kind = command.kind();
  if (kind != Command::broadcast && kind != Command::send && kind != Command::receive) {
    return false;
  }
  communicator_ = static_cast<int>(command.at(2));
  ncclComm_t communicator = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (communicator_ < 0 || communicator_ >= static_cast<int>(communicators_.size())) {
      throw Failure{"communicator", "there is no such number", rank_, communicator_, step_};
    }
    communicator = communicators_[static_cast<std::size_t>(communicator_)].handle;
  }
  CUstream stream = of(streams_, command.at(1), "stream");
  const Buffer buffer = bufferOf(command.at(3), command.at(4));
  const auto bytes = static_cast<std::size_t>(command.at(4));
  const auto peer = static_cast<int>(command.at(5));
  void *memory = reinterpret_cast<void *>(buffer.address);
  if (kind == Command::broadcast) {
    NCCL(ncclBroadcast, memory, memory, bytes, nccl::typeUint8, peer, communicator, stream);
  } else if (kind == Command::send) {
    NCCL(ncclSend, memory, bytes, nccl::typeUint8, peer, communicator, stream);
  } else {
    NCCL(ncclRecv, memory, bytes, nccl::typeUint8, peer, communicator, stream);
  }
  return true;
}

bool Device::pollWatches() {
  bool hasMoved = false;
  for (std::size_t stream = 0; stream < watches_.size(); stream++) {
    auto &watches = watches_[stream];
    // A stream completes in order: only its oldest watch can be next.
    while (!watches.empty()) {
      const CUresult result =
          cuda_.cuEventQuery(events_[static_cast<std::size_t>(watches.front().event)]);
      if (result == cu::notReady) break;
      check(result, "cuEventQuery");
      tell({Notice::done, watches.front().token, {}});
      watches.pop_front();
      hasMoved = true;
    }
    std::lock_guard lock(mutex_);
    busy_[stream] = !watches.empty();
  }
  return hasMoved;
}

void Device::startCommunicator(Communicator &communicator, int number) {
  ncclConfig_t config = nccl::nonBlockingConfig();
  communicator_ = number;
  communicator.isAsked = true;
  if (communicator.parent < 0) {
    NCCL(ncclCommInitRankConfig, &communicator.handle, communicator.ranks, communicator.id,
         communicator.rank, &config);
  } else {
    NCCL(ncclCommSplit, communicators_[static_cast<std::size_t>(communicator.parent)].handle, 0,
         communicator.rank, &communicator.handle, &config);
  }
}

/** Begins what was asked for, finds out what has become ready, and asks for errors. */
bool Device::pollCommunicators() {
  std::size_t count = 0;
  {
    std::lock_guard lock(mutex_);
    count = communicators_.size();
  }
  bool hasMoved = false;
  for (std::size_t number = 0; number < count; number++) {
    // References into a deque stay valid while others are appended.
    Communicator &communicator = communicators_[number];
    communicator_ = static_cast<int>(number);
    if (!communicator.isAsked) startCommunicator(communicator, static_cast<int>(number));
    ncclResult_t error = nccl::success;
    NCCL(ncclCommGetAsyncError, communicator.handle, &error);
    checkNccl(error, "ncclCommGetAsyncError");
    if (error == nccl::inProgress || communicator.isReady) continue;
    {
      std::lock_guard lock(mutex_);
      communicator.isReady = true;
    }
    hasMoved = true;
    tell({Notice::communicatorReady, static_cast<double>(number), {}});
  }
  communicator_ = -1;
  return hasMoved;
}

void Device::abortCommunicators() {
  std::lock_guard lock(mutex_);
  isAborted_ = true;
  for (auto &communicator : communicators_) {
    if (communicator.handle != nullptr) nccl_.ncclCommAbort(communicator.handle);
    communicator.handle = nullptr;
  }
}

/** Communicators, flags, streams, events, graphs, module, memory, context: in this order. */
void Device::tearDown() {
  bool isClean = !hasFailed_ && !isAborted_;
  for (const auto &watches : watches_) isClean = isClean && watches.empty();
  if (isClean) {
    for (auto &communicator : communicators_) {
      if (communicator.handle == nullptr) continue;
      nccl_.ncclCommFinalize(communicator.handle);
      // Both are asked for, since only an idle communicator may be destroyed.
      ncclResult_t state = nccl::inProgress;
      const auto until = Clock::now() + drainTimeout;
      while (state == nccl::inProgress && Clock::now() < until) {
        if (nccl_.ncclCommGetAsyncError(communicator.handle, &state) != nccl::success) break;
        if (state == nccl::inProgress) std::this_thread::sleep_for(microseconds(sleepUsMax));
      }
      if (state == nccl::success) nccl_.ncclCommDestroy(communicator.handle);
      else nccl_.ncclCommAbort(communicator.handle);
      communicator.handle = nullptr;
    }
  } else {
    abortCommunicators();
  }
  // A kernel that spins on a flag ends when its mirror says so.
  for (const Buffer &buffer : buffers_) {
    if (buffer.host != nullptr && buffer.bytes == 8) {
      static_cast<volatile unsigned *>(buffer.host)[1] = 1;
    }
  }
  bool isDrained = true;
  const auto until = Clock::now() + drainTimeout;
  for (const CUstream stream : streams_) {
    while (cuda_.cuStreamQuery(stream) == cu::notReady && Clock::now() < until) {
      std::this_thread::sleep_for(microseconds(sleepUsMax));
    }
    isDrained = isDrained && cuda_.cuStreamQuery(stream) != cu::notReady;
  }
  // Freeing waits for the device: beside a kernel that never ends the process keeps its memory.
  if (!isDrained) return;
  for (const CUstream stream : streams_) cuda_.cuStreamDestroy_v2(stream);
  for (const CUevent event : events_) cuda_.cuEventDestroy_v2(event);
  for (const CUgraphExec graph : graphs_) cuda_.cuGraphExecDestroy(graph);
  for (const CUgraph graph : captured_) cuda_.cuGraphDestroy(graph);
  for (const Buffer &buffer : buffers_) {
    cuda_.cuMemFree_v2(buffer.address);
    cuda_.cuMemFreeHost(buffer.host);
  }
  if (module_ != nullptr) cuda_.cuModuleUnload(module_);
  if (context_ != nullptr) cuda_.cuDevicePrimaryCtxRelease_v2(device_);
}
