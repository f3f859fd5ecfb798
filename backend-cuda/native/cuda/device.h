// One rank's GPU: all calls of the driver and of NCCL come from one issuing thread, because NCCL's
// communicators of one device must not be used from several, and because a call that blocks (lazy
// loading beside a spinning kernel) must not stop the JavaScript loop. The loop hands over commands
// and gets tokens back when the watched work is complete.

#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "libraries.h"

/** One thing to enqueue. Fields are numbers, so that a step of them crosses in one array. */
struct Command {
  /** Also the order of `deviceCommands` in device-commands.ts. */
  enum Kind {
    spinFor,       // stream, ns, blocks, threads
    spinUntil,     // stream, flag buffer, blocks, threads
    launchGraph,   // stream, graph
    record,        // stream, event
    wait,          // stream, event
    broadcast,     // stream, communicator, buffer, bytes, root
    send,          // stream, communicator, buffer, bytes, peer
    receive,       // stream, communicator, buffer, bytes, peer
    upload,        // stream, buffer, bytes
    download,      // stream, buffer, bytes
    fill,          // stream, buffer, words, key
    verify,        // stream, buffer, words, key
    watch,         // stream, event, token
    groupStart,    //
    groupEnd,      //
    kindCount
  };
  static constexpr int width = 8;
  double field[width];

  Kind kind() const { return static_cast<Kind>(static_cast<int>(field[0])); }
  int step() const { return static_cast<int>(field[width - 1]); }
  long long at(int index) const { return static_cast<long long>(field[index]); }
};

/** A call that went wrong: what check() carries. */
struct Failure {
  std::string call;
  std::string result;
  int rank = -1;
  int communicator = -1;
  int step = -1;
};

/** What the issuing thread tells the JavaScript loop. */
struct Notice {
  enum Kind { done, communicatorReady, failed, aborted, closed };
  Kind kind = done;
  double token = 0;
  Failure failure;
};

struct DeviceOptions {
  int ordinal = 0;
  int rank = 0;
  int streams = 1;
  int events = 64;
  /** Durations of the kernels of each graph that may be launched, in ns. */
  std::vector<std::vector<double>> graphs;
};

class Device {
 public:
  using Notify = std::function<void()>;

  /** Opens the device's primary context and makes streams, events and graphs. Throws Failure. */
  Device(std::shared_ptr<Libraries> libraries, DeviceOptions options, Notify notify);
  ~Device();

  /** Device memory with pinned host memory of the same size: shape uint8[bytes]. Throws. */
  int createBuffer(std::size_t bytes);
  void *hostMemory(int buffer) { return bufferOf(buffer, 0).host; }

  /** Begins to make a communicator; communicatorReady follows. Returns its number. */
  int initCommunicator(const ncclUniqueId &id, int ranks, int rank);
  /** The same by ncclCommSplit with one colour; needs it (hasSplit). */
  int splitCommunicator(int parent, int key);
  bool hasSplit() const { return libraries_->nccl.ncclCommSplit != nullptr; }

  void submit(const Command *commands, std::size_t count);
  /** All kernels of all communicators return; nothing more is issued. */
  void abort();
  /** Ordered teardown on the issuing thread, then the thread ends. A notice says so. */
  void close();
  std::vector<Notice> takeNotices();
  /** Is each stream's work unfinished? As last seen by the issuing thread. */
  std::vector<bool> busyStreams() const;

 private:
  struct Buffer {
    CUdeviceptr address = 0;
    void *host = nullptr;
    CUdeviceptr hostAddress = 0;
    std::size_t bytes = 0;
  };
  struct Communicator {
    ncclComm_t handle = nullptr;
    ncclUniqueId id{};
    int ranks = 0;
    int rank = 0;
    int parent = -1;
    bool isAsked = false;
    bool isReady = false;
  };
  struct Watch {
    int event;
    double token;
  };

  /** A copy: the list may grow on the other thread. Throws for a wrong number or size. */
  Buffer bufferOf(long long number, long long bytes);
  void run();
  void issue(const Command &command);
  bool collective(const Command &command);
  bool pollCommunicators();
  bool pollWatches();
  void startCommunicator(Communicator &communicator, int number);
  void makeGraph(const std::vector<double> &durations);
  void launch(CUfunction function, int stream, unsigned blocks, unsigned threads,
              void **parameters);
  void abortCommunicators();
  void tearDown();
  void tell(Notice notice);

  /** The one place where results are looked at; throws Failure unless it is a success. */
  void check(CUresult result, const char *call) const;
  void checkNccl(ncclResult_t result, const char *call) const;

  template <typename T>
  T &of(std::vector<T> &list, long long index, const char *what) const {
    if (index < 0 || index >= static_cast<long long>(list.size())) {
      throw Failure{what, "there is no number " + std::to_string(index), rank_, -1, step_};
    }
    return list[static_cast<std::size_t>(index)];
  }

  std::shared_ptr<Libraries> libraries_;
  const DriverFunctions &cuda_;
  const NcclFunctions &nccl_;
  DeviceOptions options_;
  int rank_;
  int step_ = -1;
  int communicator_ = -1;
  Notify notify_;

  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUfunction spinFor_ = nullptr, spinUntil_ = nullptr, fill_ = nullptr, verify_ = nullptr;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
  std::vector<CUgraph> captured_;
  std::vector<CUgraphExec> graphs_;
  std::vector<Buffer> buffers_;
  std::vector<std::deque<Watch>> watches_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Command> incoming_;
  std::deque<Communicator> communicators_;
  std::vector<Notice> notices_;
  std::vector<bool> busy_;
  bool isAborting_ = false;
  bool isClosing_ = false;
  bool hasFailed_ = false;
  bool isAborted_ = false;
  std::thread thread_;
};
