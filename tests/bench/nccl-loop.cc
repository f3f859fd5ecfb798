// The C++ twin of nccl.mjs: four broadcasts a step over the same emulated libraries, the same
// payloads, header check and verification, and no machine and no JavaScript in between.
//
//   nccl-loop <libcuda.so.1> <libnccl.so.2> <ranks> <steps> <depth>     prints steps a second

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "../../backend-cuda/native/cuda/libraries.h"
#include "../../backend-cuda/native/cuda/token_words.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int payloads = 4;
constexpr std::size_t payloadBytes[payloads] = {24, 48, 8, 40};

void must(int result, const char *what) {
  if (result == 0 || result == nccl::inProgress) return;
  std::fprintf(stderr, "%s: %d\n", what, result);
  std::_Exit(1);
}

struct Slot {
  CUdeviceptr device[payloads];
  void *host[payloads];
  CUevent header, last;
};

class Rank {
 public:
  Rank(Libraries &libraries, ncclUniqueId id, int ranks, int rank, int depth)
      : cuda_(libraries.driver), nccl_(libraries.nccl), rank_(rank), ranks_(ranks), slots_(depth) {
    CUcontext context;
    must(cuda_.cuDevicePrimaryCtxRetain(&context, rank), "context");
    must(cuda_.cuCtxSetCurrent(context), "current");
    must(cuda_.cuStreamCreateWithPriority(&stream_, cu::streamNonBlocking, 0), "stream");
    for (Slot &slot : slots_) {
      for (int i = 0; i < payloads; i++) {
        must(cuda_.cuMemAlloc_v2(&slot.device[i], payloadBytes[i]), "memory");
        must(cuda_.cuMemHostAlloc(&slot.host[i], payloadBytes[i], 1), "host memory");
      }
      must(cuda_.cuEventCreate(&slot.header, cu::eventDisableTiming), "event");
      must(cuda_.cuEventCreate(&slot.last, cu::eventDisableTiming), "event");
    }
    ncclConfig_t config = nccl::nonBlockingConfig();
    must(nccl_.ncclCommInitRankConfig(&communicator_, ranks, id, rank, &config), "init");
    ncclResult_t state = nccl::inProgress;
    while (state == nccl::inProgress) {
      must(nccl_.ncclCommGetAsyncError(communicator_, &state), "async error");
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  double run(int steps) {
    const bool isRoot = rank_ == ranks_ - 1;
    const int depth = static_cast<int>(slots_.size());
    const int warm = steps / 10;
    Clock::time_point begin;
    for (int step = 0; step < steps + depth; step++) {
      if (step == warm) begin = Clock::now();
      Slot &slot = slots_[static_cast<std::size_t>(step % depth)];
      if (step >= depth) {
        waitFor(slot.last);
        if (!isRoot) verify(slot, step - depth);
      }
      if (step >= steps) continue;
      for (int i = 0; i < payloads; i++) {
        if (isRoot) write(slot, i, step);
        transfer(slot, i, isRoot);
        if (i == 0 && !isRoot) {
          must(cuda_.cuEventRecord(slot.header, stream_), "record");
          waitFor(slot.header);
          check(slot, 0, step);
        }
      }
      must(cuda_.cuEventRecord(slot.last, stream_), "record");
    }
    return (steps - warm) / std::chrono::duration<double>(Clock::now() - begin).count();
  }

 private:
  static std::uint32_t keyOf(int step, int payload) {
    return tokenWord(tokenWord(1, static_cast<std::uint32_t>(step)),
                     static_cast<std::uint32_t>(payload));
  }

  void write(Slot &slot, int i, int step) {
    auto *words = static_cast<std::uint32_t *>(slot.host[i]);
    for (std::uint32_t at = 0; at < payloadBytes[i] / 4; at++) {
      words[at] = tokenWord(keyOf(step, i), at);
    }
    must(cuda_.cuMemcpyHtoDAsync_v2(slot.device[i], slot.host[i], payloadBytes[i], stream_), "up");
  }

  void transfer(Slot &slot, int i, bool isRoot) {
    void *memory = reinterpret_cast<void *>(slot.device[i]);
    must(nccl_.ncclBroadcast(memory, memory, payloadBytes[i], nccl::typeUint8, ranks_ - 1,
                             communicator_, stream_),
         "broadcast");
    if (isRoot) return;
    must(cuda_.cuMemcpyDtoHAsync_v2(slot.host[i], slot.device[i], payloadBytes[i], stream_),
         "down");
  }

  void check(const Slot &slot, int i, int step) {
    const auto *words = static_cast<const std::uint32_t *>(slot.host[i]);
    for (std::uint32_t at = 0; at < payloadBytes[i] / 4; at++) {
      if (words[at] != tokenWord(keyOf(step, i), at)) must(-1, "wrong payload");
    }
  }

  void verify(const Slot &slot, int step) {
    for (int i = 1; i < payloads; i++) check(slot, i, step);
  }

  /** As the addon's issuing thread waits: it looks a few times, and then sleeps ever longer. */
  void waitFor(CUevent event) {
    int looks = 0;
    int sleepUs = 20;
    for (;;) {
      const CUresult result = cuda_.cuEventQuery(event);
      if (result == cu::success) return;
      if (result != cu::notReady) must(result, "query");
      if (looks++ < 20) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(sleepUs));
        sleepUs = sleepUs * 2 > 200 ? 200 : sleepUs * 2;
      }
    }
  }

  const DriverFunctions &cuda_;
  const NcclFunctions &nccl_;
  int rank_, ranks_;
  CUstream stream_ = nullptr;
  ncclComm_t communicator_ = nullptr;
  std::vector<Slot> slots_;
};

}  // namespace

int main(int count, char **words) {
  if (count != 6) return 2;
  Libraries libraries;
  Obstacle obstacle = libraries.loadDriver(words[1]);
  if (!obstacle) obstacle = libraries.loadNccl(words[2]);
  if (obstacle) return std::fprintf(stderr, "%s\n", obstacle.reason.c_str()), 1;
  const int ranks = std::atoi(words[3]);
  const int steps = std::atoi(words[4]);
  const int depth = std::atoi(words[5]);
  ncclUniqueId id{};
  must(libraries.nccl.ncclGetUniqueId(&id), "id");
  for (int rank = 0; rank < ranks; rank++) {
    if (fork() != 0) continue;
    Rank one(libraries, id, ranks, rank, depth);
    const double rate = one.run(steps);
    if (rank == 0) {
      std::printf("%.1f\n", rate);
      std::fflush(stdout);
    }
    std::_Exit(0);
  }
  int failures = 0;
  for (int status = 0; wait(&status) > 0;) failures += status != 0;
  return failures == 0 ? 0 : 1;
}
