// An emulated GPU of one process: streams in order, events, kernels that take time, and collectives
// that spin in one of few places. The rules are those of the simulator (sim/rank-model.ts), played
// against the clock by one thread. The emulated driver (driver.cc) and the emulated NCCL (nccl.cc)
// are two C interfaces to it.
//
// What is not emulated: bandwidth, rings and trees, blocks and registers, the default stream.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace __attribute__((visibility("default"))) emulation {

using Nanoseconds = std::int64_t;

/** How one emulated device behaves; read once from the environment (settings.cc). */
struct Settings {
  int devices = 8;
  /** Collectives that can spin at the same time (page 2.3, residentCollectives). */
  int resident = 2;
  enum class LaunchOrder { free, hostProgram, serial } launchOrder = LaunchOrder::free;
  /** Streams share so many hardware queues; 0: one each. */
  int hardwareQueues = 0;
  bool lazyLoading = false;
  /** Version that cuDriverGetVersion reports, as CUDA encodes it. */
  int driverVersion = 13000;
  /** Peers that die are reported by ncclCommGetAsyncError; real NCCL may as well just hang. */
  bool reportDeath = false;
  /** Seed of the choice among collectives that could take a free place; 0: the oldest. */
  std::uint64_t seed = 0;
};

Settings settingsFromEnvironment();

/** A kernel of a communicator. Both calls come from the engine's thread, under its lock. */
class Collective {
 public:
  virtual ~Collective() = default;
  /** It has taken a place: tell the peers. */
  virtual void begin() = 0;
  /** Have all peers begun, and is the payload here? */
  virtual bool finished() = 0;
  /** The communicator: its collectives run one at a time, in the order of their enqueueing. */
  const void *queue = nullptr;
};

struct Event {
  std::uint64_t recorded = 0;
  std::uint64_t completed = 0;
};

/** One entry of a stream. */
struct Work {
  enum class Kind { action, record, wait, kernel, graph, collective };
  Kind kind = Kind::action;
  /** Order in which the host launched it, over all streams of the device. */
  std::uint64_t sequence = 0;
  bool started = false;
  bool cancelled = false;
  /** action, kernels at their end: what they do to memory. */
  std::function<void()> act;
  /** kernel, graph: how long it runs. */
  Nanoseconds duration = 0;
  Nanoseconds endsAt = 0;
  /** Kernel that spins until the host sets a flag; it occupies a place as a collective does. */
  const volatile std::uint32_t *flag = nullptr;
  /** Called when it starts: the kernel's own sign of life. */
  std::function<void()> onStart;
  std::shared_ptr<Event> event;
  std::uint64_t generation = 0;
  std::vector<Work> nodes;
  std::unique_ptr<Collective> collective;

  bool occupies() const { return kind == Kind::collective || flag != nullptr; }
};

struct Stream {
  int device = 0;
  int hardwareQueue = -1;
  bool isDestroyed = false;
  bool isCapturing = false;
  std::vector<Work> captured;
  std::deque<std::unique_ptr<Work>> works;
};

struct Device {
  std::vector<std::unique_ptr<Stream>> streams;
  int streamsCreated = 0;
  int resident = 0;
  int graphsRunning = 0;
  std::uint64_t launched = 0;
};

/** Objects that are alive, for leak tests. */
struct Counts {
  std::int64_t contexts, streams, events, allocations, modules, graphs, communicators;
};

class Engine {
 public:
  static Engine &get();

  const Settings settings = settingsFromEnvironment();
  std::mutex mutex;
  /** Signalled whenever some work has ended. */
  std::condition_variable moved;
  Counts counts{};

  void retain(int device);
  bool release(int device);
  Stream *createStream(int device);
  void destroyStream(Stream *stream);
  /** Appends work to a stream and wakes the engine's thread. Call with the lock held. */
  void enqueue(Stream *stream, Work work);
  /** The kernels of an aborted communicator return at once; waiting ones vanish. */
  void cancel(const void *queue);
  bool hasWorkOf(const void *queue);
  bool isDrained(int device);
  Device &device(int ordinal) { return devices_[ordinal]; }

  /** Memory. Device addresses are reserved and unreadable, as on a real machine. */
  std::uintptr_t allocate(std::size_t bytes);
  bool free(std::uintptr_t address);
  void registerHost(void *host, std::size_t bytes);
  bool unregisterHost(void *host);
  /** The storage behind an address of device or pinned memory; null if out of bounds. */
  char *storage(std::uintptr_t address, std::size_t bytes);

  /** A word in shared memory that peers may change and wake to make this engine look again. */
  int doorbellDescriptor();
  void ring();

 private:
  struct Allocation {
    std::size_t bytes;
    std::size_t reserved;
    char *storage;
  };

  void loop();
  bool advance(Nanoseconds now, Nanoseconds &nextEnd);
  bool advanceDevice(Device &device, Nanoseconds now, Nanoseconds &nextEnd);
  bool startCollectives(Device &device, Nanoseconds now);
  bool mayStart(const Device &device, const Stream &stream, const Work &work) const;
  bool queueIsFree(const Device &device, const Stream &stream, const Work &work) const;
  void start(Device &device, Work &work, Nanoseconds now);
  bool isFinished(Work &work, Nanoseconds now, Nanoseconds &nextEnd);
  void finish(Device &device, Work &work);
  void openDoorbell();

  std::map<int, Device> devices_;
  std::map<int, int> retained_;
  std::map<std::uintptr_t, Allocation> memory_;
  std::map<std::uintptr_t, std::size_t> pinned_;
  std::mt19937_64 random_{settings.seed};
  std::thread thread_;
  bool isStopping_ = false;
  bool spins_ = false;
  int doorbellDescriptor_ = -1;
  std::atomic<std::uint32_t> *doorbell_ = nullptr;
};

Nanoseconds nowNs();

/** Wakes the engine of another process through its doorbell. */
void wake(std::atomic<std::uint32_t> *doorbell);

}  // namespace emulation
