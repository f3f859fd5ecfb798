// Two ranks in one process come and go again and again: devices, a communicator of two, a broadcast,
// and an end by close or, every other time, by abort while one rank spins. Built with sanitizers by
// sanitizers.test.ts, so that every leak, race and overflow of addon and emulation ends it.
//
//   cycles <libcuda.so.1> <libnccl.so.2> <rounds>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "../../../backend-cuda/native/cuda/device.h"

namespace {

/** Waits for notices until one of a kind comes; false after five seconds. */
bool waitFor(Device &device, Notice::Kind kind) {
  for (int look = 0; look < 50000; look++) {
    for (const Notice &notice : device.takeNotices()) {
      if (notice.kind == kind) return true;
      if (notice.kind == Notice::failed) {
        std::fprintf(stderr, "%s: %s\n", notice.failure.call.c_str(),
                     notice.failure.result.c_str());
        return false;
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  std::fprintf(stderr, "nothing came\n");
  return false;
}

Command command(Command::Kind kind, std::initializer_list<double> fields) {
  Command result{};
  result.field[0] = kind;
  int index = 1;
  for (const double field : fields) result.field[index++] = field;
  return result;
}

bool round(const std::shared_ptr<Libraries> &libraries, bool aborts) {
  ncclUniqueId id{};
  if (libraries->nccl.ncclGetUniqueId(&id) != nccl::success) return false;
  std::unique_ptr<Device> ranks[2];
  for (int rank = 0; rank < 2; rank++) {
    DeviceOptions options;
    options.ordinal = rank;
    options.rank = rank;
    options.streams = 2;
    options.events = 8;
    options.graphs = {{1000, 1000}};
    ranks[rank] = std::make_unique<Device>(libraries, options, [] {});
    ranks[rank]->createBuffer(256);
    ranks[rank]->initCommunicator(id, 2, rank);
  }
  for (auto &rank : ranks) {
    if (!waitFor(*rank, Notice::communicatorReady)) return false;
  }
  for (int rank = 0; rank < 2; rank++) {
    // With an abort coming, rank 1 never joins the broadcast and rank 0 spins in it.
    if (aborts && rank == 1) continue;
    const Command commands[] = {
        command(rank == 0 ? Command::fill : Command::spinFor, {0, rank == 0 ? 0.0 : 1000, 64, 7}),
        command(Command::launchGraph, {1, 0}),
        command(Command::broadcast, {0, 0, 0, 256, 0}),
        command(Command::verify, {0, 0, 64, 7}),
        command(Command::record, {0, 0}),
        command(Command::watch, {0, 0, 1}),
    };
    ranks[rank]->submit(commands, sizeof(commands) / sizeof(commands[0]));
  }
  for (auto &rank : ranks) {
    if (aborts) {
      rank->abort();
      if (!waitFor(*rank, Notice::aborted)) return false;
    } else {
      if (!waitFor(*rank, Notice::done)) return false;
      unsigned wrong = 1;
      std::memcpy(&wrong, static_cast<char *>(rank->hostMemory(0)) + 256, sizeof(wrong));
      if (wrong != 0) return false;
    }
  }
  for (auto &rank : ranks) rank->close();
  for (auto &rank : ranks) {
    if (!waitFor(*rank, Notice::closed)) return false;
  }
  return true;
}

}  // namespace

int main(int count, char **words) {
  if (count != 4) return 2;
  auto libraries = std::make_shared<Libraries>();
  Obstacle obstacle = libraries->loadDriver(words[1]);
  if (!obstacle) obstacle = libraries->loadNccl(words[2]);
  if (obstacle) return std::fprintf(stderr, "%s\n", obstacle.reason.c_str()), 1;
  const int rounds = std::atoi(words[3]);
  for (int i = 0; i < rounds; i++) {
    if (!round(libraries, i % 2 == 1)) return std::fprintf(stderr, "round %d\n", i), 1;
  }
  long long alive[7] = {};
  libraries->emulatedCounts(alive);
  for (const long long each : alive) {
    if (each != 0) return std::fprintf(stderr, "objects are left\n"), 1;
  }
  std::printf("%d rounds\n", rounds);
  return 0;
}
