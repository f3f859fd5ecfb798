// The engine's thread: which work of which stream starts and ends when. See engine.h.

#include "engine.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace emulation {

namespace {

constexpr Nanoseconds never = INT64_MAX;
/** While something spins, look again so often even if no doorbell rings. */
constexpr Nanoseconds spinPollNs = 1'000'000;

long futex(std::atomic<std::uint32_t> *word, int operation, std::uint32_t value,
           const timespec *timeout) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t *>(word), operation, value, timeout,
                 nullptr, 0);
}

long number(const char *name, long otherwise) {
  const char *text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  char *end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 ? value : otherwise;
}

bool equals(const char *name, const char *value) {
  const char *text = std::getenv(name);
  return text != nullptr && std::strcmp(text, value) == 0;
}

}  // namespace

Settings settingsFromEnvironment() {
  Settings settings;
  settings.devices = static_cast<int>(number("PPCHECK_EMULATED_GPUS", settings.devices));
  settings.resident = static_cast<int>(number("PPCHECK_EMULATED_RESIDENT", settings.resident));
  settings.seed = static_cast<std::uint64_t>(number("PPCHECK_EMULATED_SEED", 0));
  settings.driverVersion =
      static_cast<int>(number("PPCHECK_EMULATED_DRIVER", settings.driverVersion));
  settings.reportDeath = equals("PPCHECK_EMULATED_REPORT_DEATH", "1");
  // The variables of the real libraries mean what they mean there.
  settings.hardwareQueues = static_cast<int>(number("CUDA_DEVICE_MAX_CONNECTIONS", 0));
  settings.lazyLoading = equals("CUDA_MODULE_LOADING", "LAZY");
  if (equals("NCCL_LAUNCH_ORDER_IMPLICIT", "1")) {
    // Before CUDA 12.3 the driver cannot order starts, so NCCL serialises.
    settings.launchOrder = settings.driverVersion < 12030 ? Settings::LaunchOrder::serial
                                                          : Settings::LaunchOrder::hostProgram;
  }
  return settings;
}

Nanoseconds nowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

void wake(std::atomic<std::uint32_t> *doorbell) {
  if (doorbell == nullptr) return;
  doorbell->fetch_add(1);
  futex(doorbell, FUTEX_WAKE, 1, nullptr);
}

Engine &Engine::get() {
  // Never destroyed: its thread may still run when the process ends.
  static Engine *engine = new Engine;
  return *engine;
}

void Engine::openDoorbell() {
  if (doorbell_ != nullptr) return;
  const std::size_t bytes = 4096;
  doorbellDescriptor_ = memfd_create("ppcheck-doorbell", MFD_CLOEXEC);
  if (doorbellDescriptor_ < 0 || ftruncate(doorbellDescriptor_, bytes) != 0) std::abort();
  void *page =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, doorbellDescriptor_, 0);
  if (page == MAP_FAILED) std::abort();
  doorbell_ = static_cast<std::atomic<std::uint32_t> *>(page);
}

int Engine::doorbellDescriptor() {
  openDoorbell();
  return doorbellDescriptor_;
}

void Engine::ring() {
  openDoorbell();
  wake(doorbell_);
}

// ------------------------------------------------------------------------ contexts and streams

void Engine::retain(int ordinal) {
  std::lock_guard lock(mutex);
  openDoorbell();
  if (retained_[ordinal]++ == 0) counts.contexts++;
  if (!thread_.joinable()) {
    isStopping_ = false;
    thread_ = std::thread([this] { loop(); });
  }
}

bool Engine::release(int ordinal) {
  std::thread ended;
  {
    std::lock_guard lock(mutex);
    if (retained_[ordinal] == 0) return false;
    if (--retained_[ordinal] > 0) return true;
    counts.contexts--;
    // A context takes its streams with it, whatever they hold.
    counts.streams -= std::count_if(devices_[ordinal].streams.begin(),
                                    devices_[ordinal].streams.end(),
                                    [](const auto &stream) { return !stream->isDestroyed; });
    devices_.erase(ordinal);
    const bool isLast = std::all_of(retained_.begin(), retained_.end(),
                                    [](const auto &entry) { return entry.second == 0; });
    if (!isLast) return true;
    isStopping_ = true;
    ended = std::move(thread_);
    ring();
  }
  ended.join();
  return true;
}

Stream *Engine::createStream(int ordinal) {
  Device &device = devices_[ordinal];
  auto stream = std::make_unique<Stream>();
  stream->device = ordinal;
  if (settings.hardwareQueues > 0) {
    stream->hardwareQueue = device.streamsCreated % settings.hardwareQueues;
  }
  device.streamsCreated++;
  counts.streams++;
  device.streams.push_back(std::move(stream));
  return device.streams.back().get();
}

void Engine::destroyStream(Stream *stream) {
  counts.streams--;
  stream->isDestroyed = true;
  ring();
}

void Engine::enqueue(Stream *stream, Work work) {
  work.sequence = ++devices_[stream->device].launched;
  stream->works.push_back(std::make_unique<Work>(std::move(work)));
  ring();
}

void Engine::cancel(const void *queue) {
  for (auto &[ordinal, device] : devices_) {
    for (auto &stream : device.streams) {
      for (auto &work : stream->works) {
        if (work->collective && work->collective->queue == queue) {
          work->cancelled = true;
          // The communicator is about to go: nothing may look at it again.
          work->collective->queue = nullptr;
        }
      }
    }
  }
  ring();
}

bool Engine::hasWorkOf(const void *queue) {
  for (auto &[ordinal, device] : devices_) {
    for (auto &stream : device.streams) {
      for (auto &work : stream->works) {
        if (work->collective && work->collective->queue == queue) return true;
      }
    }
  }
  return false;
}

bool Engine::isDrained(int ordinal) {
  for (auto &stream : devices_[ordinal].streams) {
    if (!stream->works.empty()) return false;
  }
  return true;
}

// ---------------------------------------------------------------------------------- scheduling

void Engine::loop() {
  std::unique_lock lock(mutex);
  while (!isStopping_) {
    const std::uint32_t rung = doorbell_->load();
    Nanoseconds nextEnd = never;
    spins_ = false;
    const Nanoseconds now = nowNs();
    if (advance(now, nextEnd)) {
      moved.notify_all();
      continue;
    }
    Nanoseconds wait = nextEnd == never ? never : std::max<Nanoseconds>(nextEnd - now, 0);
    if (spins_) wait = std::min(wait, spinPollNs);
    lock.unlock();
    if (wait == never) {
      futex(doorbell_, FUTEX_WAIT, rung, nullptr);
    } else {
      const timespec timeout{wait / 1'000'000'000, wait % 1'000'000'000};
      futex(doorbell_, FUTEX_WAIT, rung, &timeout);
    }
    lock.lock();
  }
}

bool Engine::advance(Nanoseconds now, Nanoseconds &nextEnd) {
  bool any = false;
  for (auto &[ordinal, device] : devices_) {
    while (advanceDevice(device, now, nextEnd)) any = true;
    auto &streams = device.streams;
    const auto isGone = [](const auto &each) { return each->isDestroyed && each->works.empty(); };
    streams.erase(std::remove_if(streams.begin(), streams.end(), isGone), streams.end());
  }
  return any;
}

/** One pass over the heads of all streams: ends what has ended, then starts what may. */
bool Engine::advanceDevice(Device &device, Nanoseconds now, Nanoseconds &nextEnd) {
  bool any = false;
  for (auto &stream : device.streams) {
    while (!stream->works.empty()) {
      Work &work = *stream->works.front();
      if (!work.started && !work.cancelled && !work.occupies()) {
        if (!mayStart(device, *stream, work)) break;
        start(device, work, now);
      }
      if (work.started ? !isFinished(work, now, nextEnd) : !work.cancelled) break;
      finish(device, work);
      stream->works.pop_front();
      any = true;
    }
  }
  return startCollectives(device, now) || any;
}

/** Gives free places to collectives that stand at the head of their stream. */
bool Engine::startCollectives(Device &device, Nanoseconds now) {
  std::vector<Work *> candidates;
  for (auto &stream : device.streams) {
    if (stream->works.empty()) continue;
    Work &work = *stream->works.front();
    if (work.started || work.cancelled || !work.occupies()) continue;
    if (mayStart(device, *stream, work)) candidates.push_back(&work);
  }
  if (candidates.empty()) return false;
  std::sort(candidates.begin(), candidates.end(),
            [](const Work *a, const Work *b) { return a->sequence < b->sequence; });
  const std::size_t chosen = settings.seed == 0 ? 0 : random_() % candidates.size();
  start(device, *candidates[chosen], now);
  return true;
}

bool Engine::queueIsFree(const Device &device, const Stream &stream, const Work &work) const {
  if (stream.hardwareQueue < 0) return true;
  for (const auto &other : device.streams) {
    if (other->hardwareQueue != stream.hardwareQueue) continue;
    for (const auto &earlier : other->works) {
      if (earlier->started || earlier->cancelled) continue;
      if (earlier->sequence < work.sequence) return false;
      break;
    }
  }
  return true;
}

bool Engine::mayStart(const Device &device, const Stream &stream, const Work &work) const {
  if (!queueIsFree(device, stream, work)) return false;
  if (work.kind == Work::Kind::wait) return work.event->completed >= work.generation;
  if (work.kind == Work::Kind::graph) return device.resident == 0;
  if (!work.occupies()) return true;
  if (device.resident >= settings.resident || device.graphsRunning > 0) return false;
  if (work.kind != Work::Kind::collective) return true;
  for (const auto &other : device.streams) {
    for (const auto &earlier : other->works) {
      if (earlier->sequence >= work.sequence) break;
      if (!earlier->collective || earlier->cancelled) continue;
      if (earlier->collective->queue == work.collective->queue) return false;
      if (settings.launchOrder == Settings::LaunchOrder::serial) return false;
      if (settings.launchOrder == Settings::LaunchOrder::hostProgram && !earlier->started) {
        return false;
      }
    }
  }
  return true;
}

void Engine::start(Device &device, Work &work, Nanoseconds now) {
  work.started = true;
  work.endsAt = now + work.duration;
  if (work.occupies()) device.resident++;
  if (work.kind == Work::Kind::graph) device.graphsRunning++;
  if (work.collective) work.collective->begin();
  if (work.onStart) work.onStart();
  for (Work &node : work.nodes) {
    if (node.onStart) node.onStart();
  }
}

bool Engine::isFinished(Work &work, Nanoseconds now, Nanoseconds &nextEnd) {
  if (work.cancelled) return true;
  bool isDone = true;
  if (work.collective) {
    isDone = work.collective->finished();
  } else if (work.flag != nullptr) {
    isDone = *work.flag != 0;
  } else if (now < work.endsAt) {
    nextEnd = std::min(nextEnd, work.endsAt);
    return false;
  }
  if (!isDone) spins_ = true;
  return isDone;
}

void Engine::finish(Device &device, Work &work) {
  if (work.started && work.occupies()) device.resident--;
  if (work.kind == Work::Kind::graph) device.graphsRunning--;
  if (work.kind == Work::Kind::record) {
    work.event->completed = std::max(work.event->completed, work.generation);
  }
  for (Work &node : work.nodes) {
    if (node.act) node.act();
  }
  if (work.act && !work.cancelled) work.act();
}

// -------------------------------------------------------------------------------------- memory

std::uintptr_t Engine::allocate(std::size_t bytes) {
  const std::size_t page = 4096;
  const std::size_t reserved = (bytes + page - 1) / page * page;
  void *address = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return 0;
  char *storage = static_cast<char *>(std::malloc(bytes));
  if (storage == nullptr) {
    munmap(address, reserved);
    return 0;
  }
  // Fresh memory is never zero by promise: whoever relies on it shall see it.
  std::memset(storage, 0xa5, bytes);
  counts.allocations++;
  memory_[reinterpret_cast<std::uintptr_t>(address)] = {bytes, reserved, storage};
  return reinterpret_cast<std::uintptr_t>(address);
}

bool Engine::free(std::uintptr_t address) {
  const auto found = memory_.find(address);
  if (found == memory_.end()) return false;
  munmap(reinterpret_cast<void *>(address), found->second.reserved);
  std::free(found->second.storage);
  memory_.erase(found);
  counts.allocations--;
  return true;
}

void Engine::registerHost(void *host, std::size_t bytes) {
  pinned_[reinterpret_cast<std::uintptr_t>(host)] = bytes;
  counts.allocations++;
}

bool Engine::unregisterHost(void *host) {
  if (pinned_.erase(reinterpret_cast<std::uintptr_t>(host)) == 0) return false;
  counts.allocations--;
  return true;
}

char *Engine::storage(std::uintptr_t address, std::size_t bytes) {
  const auto after = memory_.upper_bound(address);
  if (after != memory_.begin()) {
    const auto &[begin, allocation] = *std::prev(after);
    const std::size_t offset = address - begin;
    if (offset + bytes <= allocation.bytes) return allocation.storage + offset;
  }
  const auto pinnedAfter = pinned_.upper_bound(address);
  if (pinnedAfter == pinned_.begin()) return nullptr;
  const auto &[begin, size] = *std::prev(pinnedAfter);
  if (address - begin + bytes > size) return nullptr;
  return reinterpret_cast<char *>(address);
}

}  // namespace emulation
