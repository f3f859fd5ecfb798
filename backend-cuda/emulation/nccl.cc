// The emulated libnccl.so.2: communicators over shared memory, one member a process. A collective
// begins when the engine gives it a place, and ends on all members together once all have begun
// (rendezvous). As with the real library, sizes, roots and order are not checked: members that
// disagree spin for ever. Like the real one inside a node, a dead peer is not noticed by itself.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "../native/cuda/nccl_api.h"
#include "driver_hooks.h"
#include "engine.h"

using emulation::Engine;

namespace {

constexpr int membersMax = 64;
constexpr int channelsMax = 64;
constexpr int splitsMax = 16;
/** A payload; the slots of a channel are sparse in memory until they are written. */
constexpr std::size_t slotBytes = std::size_t{4} << 20;
/** Two suffice: who begins the next operation has finished the one before. */
constexpr std::size_t slots = 2;

struct Signature {
  std::uint64_t bytes;
  std::int32_t source;
  bool operator==(const Signature &other) const {
    return bytes == other.bytes && source == other.source;
  }
};

/** Channel 0: collectives of all members. The others: one for each ordered pair in use. */
struct Channel {
  /** 0: free; otherwise 1 + source * membersMax + target. */
  std::atomic<std::uint32_t> pair;
  /** Operations that each member has begun. */
  std::atomic<std::uint64_t> begun[membersMax];
  Signature signature[slots][membersMax];
};

struct Segment {
  std::atomic<std::uint32_t> joined;
  struct Member {
    std::atomic<int> process;
    std::atomic<int> doorbellDescriptor;
  } members[membersMax];
  struct Split {
    std::atomic<std::uint32_t> asked;
    int color[membersMax];
    int key[membersMax];
  } splits[splitsMax];
  Channel channels[channelsMax];
};

constexpr std::size_t headBytes = (sizeof(Segment) + 4095) / 4096 * 4096;
constexpr std::size_t segmentBytes = headBytes + channelsMax * slots * slotBytes;

thread_local int groupDepth = 0;

}  // namespace

struct ncclComm {
  std::string name;
  int rank = 0;
  int ranks = 0;
  int descriptor = -1;
  Segment *segment = nullptr;
  std::atomic<std::uint32_t> *doorbells[membersMax] = {};
  bool isReady = false;
  int splitsAsked = 0;
  ncclResult_t error = nccl::success;
  std::uint64_t enqueued[channelsMax] = {};
  /** A split that is under way: its name is known once all members have asked. */
  ncclComm *parent = nullptr;
  int split = -1;
  int color = 0;

  char *slot(int channel, std::uint64_t position) const {
    return reinterpret_cast<char *>(segment) + headBytes +
           (static_cast<std::size_t>(channel) * slots + position % slots) * slotBytes;
  }
};

namespace {

/** One operation; a group of them on one communicator and stream is one kernel. */
struct Part {
  int channel;
  std::uint64_t position;
  Signature signature;
  int first, last;  // members whose beginning counts
  const char *from;
  char *to;
  bool isOver = false;
};

bool reserveSlot(const ncclComm &comm, const Part &part, std::size_t bytes) {
  const off_t offset = comm.slot(part.channel, part.position) -
                       reinterpret_cast<char *>(comm.segment);
  return posix_fallocate(comm.descriptor, offset, static_cast<off_t>(bytes)) == 0;
}

class Kernel : public emulation::Collective {
 public:
  Kernel(ncclComm *comm, std::vector<Part> parts) : comm_(comm), parts_(std::move(parts)) {
    queue = comm;
  }

  void begin() override {
    for (Part &part : parts_) {
      Channel &channel = comm_->segment->channels[part.channel];
      const std::size_t bytes = part.signature.bytes;
      if (part.signature.source == comm_->rank && bytes > 0) {
        if (!reserveSlot(*comm_, part, bytes)) {
          comm_->error = nccl::systemError;
          continue;
        }
        std::memcpy(comm_->slot(part.channel, part.position), part.from, bytes);
      }
      channel.signature[part.position % slots][comm_->rank] = part.signature;
      channel.begun[comm_->rank].store(part.position + 1);
      // The last to begin wakes the others; nobody waits for anything else.
      if (allBegun(part)) {
        forEachMember(part, [&](int member) { emulation::wake(comm_->doorbells[member]); });
      }
    }
  }

  bool finished() override {
    bool all = true;
    for (Part &part : parts_) {
      if (!part.isOver) part.isOver = ends(part);
      all = all && part.isOver;
    }
    return all;
  }

 private:
  template <typename Use>
  static void forEachMember(const Part &part, Use use) {
    if (part.channel == 0) {
      for (int member = part.first; member <= part.last; member++) use(member);
    } else {
      use(part.first);
      use(part.last);
    }
  }

  bool allBegun(const Part &part) const {
    bool all = true;
    const Channel &channel = comm_->segment->channels[part.channel];
    forEachMember(part, [&](int member) {
      all = all && channel.begun[member].load() > part.position;
    });
    return all;
  }

  bool ends(const Part &part) const {
    if (!allBegun(part)) return false;
    const Channel &channel = comm_->segment->channels[part.channel];
    bool agree = true;
    forEachMember(part, [&](int member) {
      agree = agree && channel.signature[part.position % slots][member] == part.signature;
    });
    if (!agree) return false;
    if (part.signature.source != comm_->rank && part.signature.bytes > 0) {
      std::memcpy(part.to, comm_->slot(part.channel, part.position), part.signature.bytes);
    }
    return true;
  }

  ncclComm *comm_;
  std::vector<Part> parts_;
};

struct Pending {
  ncclComm *comm;
  CUstream stream;
  std::vector<Part> parts;
};

thread_local std::vector<Pending> pendings;

/** The shared channel of an ordered pair; -1 if there are too many. */
int pairChannel(Segment &segment, int source, int target) {
  const std::uint32_t wanted = static_cast<std::uint32_t>(1 + source * membersMax + target);
  for (int index = 1; index < channelsMax; index++) {
    std::uint32_t found = 0;
    auto &pair = segment.channels[index].pair;
    if (pair.compare_exchange_strong(found, wanted) || found == wanted) return index;
  }
  return -1;
}

bool isMember(const ncclComm *comm, int rank) { return rank >= 0 && rank < comm->ranks; }

ncclResult_t flush(Pending &pending) {
  std::lock_guard lock(Engine::get().mutex);
  auto kernel = std::make_unique<Kernel>(pending.comm, std::move(pending.parts));
  return emulation::enqueueCollective(pending.stream, std::move(kernel)) ? nccl::success
                                                                         : nccl::invalidUsage;
}

/** Checks an operation's arguments and enqueues it, or keeps it until the group ends. */
ncclResult_t enqueue(ncclComm *comm, CUstream stream, const void *from, void *to,
                     std::size_t bytes, int source, int target) {
  if (comm == nullptr) return nccl::invalidArgument;
  if (comm->error != nccl::success) return comm->error;
  if (!comm->isReady || bytes > slotBytes) return nccl::invalidUsage;
  const bool isSource = source == comm->rank;
  const void *mine = isSource ? from : to;
  {
    std::lock_guard lock(Engine::get().mutex);
    char *storage = Engine::get().storage(reinterpret_cast<std::uintptr_t>(mine), bytes);
    if (storage == nullptr && bytes > 0) return nccl::invalidArgument;
    const bool isPair = target >= 0;
    const int channel = isPair ? pairChannel(*comm->segment, source, target) : 0;
    if (channel < 0) return nccl::invalidUsage;
    Part part{};
    part.channel = channel;
    part.position = comm->enqueued[channel]++;
    part.signature = {bytes, source};
    part.first = isPair ? source : 0;
    part.last = isPair ? target : comm->ranks - 1;
    part.from = isSource ? storage : nullptr;
    part.to = isSource ? nullptr : storage;
    const bool joins = !pendings.empty() && pendings.back().comm == comm &&
                       pendings.back().stream == stream && groupDepth > 0;
    if (!joins) pendings.push_back({comm, stream, {}});
    pendings.back().parts.push_back(part);
  }
  if (groupDepth > 0) return nccl::success;
  const ncclResult_t result = flush(pendings.back());
  pendings.clear();
  return result;
}

std::string nameOf(const ncclUniqueId &id) {
  return std::string(id.internal, strnlen(id.internal, sizeof(id.internal)));
}

/** Maps the segment of a communicator, making it if this member is the first. */
bool open(ncclComm &comm) {
  comm.descriptor = shm_open(comm.name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (comm.descriptor < 0) return false;
  if (ftruncate(comm.descriptor, static_cast<off_t>(segmentBytes)) != 0) return false;
  void *memory = mmap(nullptr, segmentBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      comm.descriptor, 0);
  if (memory == MAP_FAILED) return false;
  // A fresh segment is all zeros, and all zeros is a valid empty one.
  comm.segment = static_cast<Segment *>(memory);
  return true;
}

void join(ncclComm &comm) {
  auto &member = comm.segment->members[comm.rank];
  member.process.store(getpid());
  member.doorbellDescriptor.store(Engine::get().doorbellDescriptor());
  const std::uint32_t before = comm.segment->joined.fetch_add(1);
  // From here on everybody has it mapped: whatever happens later leaves nothing behind.
  if (before + 1 == static_cast<std::uint32_t>(comm.ranks)) shm_unlink(comm.name.c_str());
}

std::atomic<std::uint32_t> *mapDoorbell(int process, int descriptor) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%d/fd/%d", process, descriptor);
  const int opened = ::open(path, O_RDWR | O_CLOEXEC);
  // In another process namespace there is none to ring: the peer looks by itself now and then.
  if (opened < 0) return nullptr;
  void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, opened, 0);
  close(opened);
  return page == MAP_FAILED ? nullptr : static_cast<std::atomic<std::uint32_t> *>(page);
}

ncclResult_t finishInit(ncclComm &comm) {
  if (comm.segment->joined.load() < static_cast<std::uint32_t>(comm.ranks)) {
    return nccl::inProgress;
  }
  for (int member = 0; member < comm.ranks; member++) {
    auto &entry = comm.segment->members[member];
    comm.doorbells[member] = mapDoorbell(entry.process, entry.doorbellDescriptor);
  }
  comm.isReady = true;
  return nccl::success;
}

/** A split knows its members once all members of the parent have asked. */
ncclResult_t finishSplit(ncclComm &comm) {
  const auto &split = comm.parent->segment->splits[comm.split];
  const int parentRanks = comm.parent->ranks;
  if (split.asked.load() < static_cast<std::uint32_t>(parentRanks)) return nccl::inProgress;
  const int self = comm.parent->rank;
  for (int other = 0; other < parentRanks; other++) {
    if (split.color[other] != comm.color) continue;
    comm.ranks++;
    const bool isBefore = split.key[other] < split.key[self] ||
                          (split.key[other] == split.key[self] && other < self);
    if (isBefore) comm.rank++;
  }
  comm.name = comm.parent->name + "-" + std::to_string(comm.split) + "-" +
              std::to_string(comm.color);
  comm.parent = nullptr;
  if (!open(comm)) return comm.error = nccl::systemError;
  join(comm);
  return finishInit(comm);
}

ncclResult_t progress(ncclComm &comm) {
  if (comm.error != nccl::success) return comm.error;
  if (comm.parent != nullptr) return finishSplit(comm);
  if (!comm.isReady) return finishInit(comm);
  if (Engine::get().settings.reportDeath) {
    for (int member = 0; member < comm.ranks; member++) {
      if (kill(comm.segment->members[member].process, 0) != 0 && errno == ESRCH) {
        return comm.error = nccl::remoteError;
      }
    }
  }
  return nccl::success;
}

ncclResult_t waitUnlessAllowed(ncclComm &comm, const ncclConfig_t *config) {
  ncclResult_t result = progress(comm);
  if (config != nullptr && config->blocking == 0) return result;
  while (result == nccl::inProgress) {
    usleep(200);
    result = progress(comm);
  }
  return result;
}

bool isConfig(const ncclConfig_t *config) {
  return config == nullptr || (config->magic == nccl::configMagic &&
                               config->size >= sizeof(ncclConfig_t) && config->version >= 21800);
}

void release(ncclComm *comm) {
  {
    std::lock_guard lock(Engine::get().mutex);
    Engine::get().cancel(comm);
    Engine::get().counts.communicators--;
  }
  for (auto *doorbell : comm->doorbells) {
    if (doorbell != nullptr) munmap(doorbell, 4096);
  }
  // Not all have joined: the name is still there and nobody else will take it away.
  if (comm->segment != nullptr && !comm->isReady) shm_unlink(comm->name.c_str());
  if (comm->segment != nullptr) munmap(comm->segment, segmentBytes);
  if (comm->descriptor >= 0) close(comm->descriptor);
  delete comm;
}

}  // namespace

extern "C" {

#define PPCHECK_EXPORT __attribute__((visibility("default")))

PPCHECK_EXPORT ncclResult_t ncclGetVersion(int *version) {
  const char *text = std::getenv("PPCHECK_EMULATED_NCCL");
  *version = text == nullptr ? 22803 : std::atoi(text);
  return nccl::success;
}

PPCHECK_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes)) return nccl::systemError;
  std::string name = "/ppcheck-";
  for (const unsigned char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    name += digits;
  }
  std::memset(id->internal, 0, sizeof(id->internal));
  std::memcpy(id->internal, name.data(), name.size());
  return nccl::success;
}

PPCHECK_EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t *communicator, int ranks,
                                                   ncclUniqueId id, int rank,
                                                   ncclConfig_t *config) {
  if (ranks < 1 || ranks > membersMax || rank < 0 || rank >= ranks || !isConfig(config)) {
    return nccl::invalidArgument;
  }
  if (nameOf(id).rfind("/ppcheck-", 0) != 0) return nccl::invalidArgument;
  if (emulation::currentDevice() < 0) return nccl::unhandledCudaError;
  auto comm = std::make_unique<ncclComm>();
  comm->name = nameOf(id);
  comm->rank = rank;
  comm->ranks = ranks;
  if (!open(*comm)) return nccl::systemError;
  {
    std::lock_guard lock(Engine::get().mutex);
    Engine::get().counts.communicators++;
  }
  join(*comm);
  *communicator = comm.release();
  return waitUnlessAllowed(**communicator, config);
}

PPCHECK_EXPORT ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key,
                                          ncclComm_t *communicator, ncclConfig_t *config) {
  if (parent == nullptr || !parent->isReady || !isConfig(config)) return nccl::invalidArgument;
  if (color < 0 || parent->splitsAsked >= splitsMax) return nccl::invalidUsage;
  auto *comm = new ncclComm;
  comm->parent = parent;
  comm->split = parent->splitsAsked++;
  comm->color = color;
  auto &split = parent->segment->splits[comm->split];
  split.color[parent->rank] = color;
  split.key[parent->rank] = key;
  split.asked.fetch_add(1);
  {
    std::lock_guard lock(Engine::get().mutex);
    Engine::get().counts.communicators++;
  }
  *communicator = comm;
  return waitUnlessAllowed(*comm, config);
}

PPCHECK_EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t *error) {
  if (communicator == nullptr) return nccl::invalidArgument;
  *error = progress(*communicator);
  return nccl::success;
}

PPCHECK_EXPORT ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  if (communicator == nullptr) return nccl::invalidArgument;
  std::lock_guard lock(Engine::get().mutex);
  return Engine::get().hasWorkOf(communicator) ? nccl::inProgress : nccl::success;
}

PPCHECK_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  if (communicator == nullptr) return nccl::invalidArgument;
  release(communicator);
  return nccl::success;
}

PPCHECK_EXPORT ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  return ncclCommDestroy(communicator);
}

PPCHECK_EXPORT ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, int type,
                                          int root, ncclComm_t communicator, CUstream stream) {
  if (type != nccl::typeUint8 || communicator == nullptr || !isMember(communicator, root)) {
    return nccl::invalidArgument;
  }
  return enqueue(communicator, stream, from, to, count, root, -1);
}

PPCHECK_EXPORT ncclResult_t ncclSend(const void *from, size_t count, int type, int peer,
                                     ncclComm_t communicator, CUstream stream) {
  if (type != nccl::typeUint8 || communicator == nullptr || !isMember(communicator, peer)) {
    return nccl::invalidArgument;
  }
  return enqueue(communicator, stream, from, nullptr, count, communicator->rank, peer);
}

PPCHECK_EXPORT ncclResult_t ncclRecv(void *to, size_t count, int type, int peer,
                                     ncclComm_t communicator, CUstream stream) {
  if (type != nccl::typeUint8 || communicator == nullptr || !isMember(communicator, peer)) {
    return nccl::invalidArgument;
  }
  return enqueue(communicator, stream, nullptr, to, count, peer, communicator->rank);
}

PPCHECK_EXPORT ncclResult_t ncclGroupStart() {
  groupDepth++;
  return nccl::success;
}

PPCHECK_EXPORT ncclResult_t ncclGroupEnd() {
  if (groupDepth == 0) return nccl::invalidUsage;
  if (--groupDepth > 0) return nccl::success;
  ncclResult_t result = nccl::success;
  for (Pending &pending : pendings) {
    const ncclResult_t one = flush(pending);
    if (result == nccl::success) result = one;
  }
  pendings.clear();
  return result;
}

}  // extern "C"
