// See mesh.h. Facts about Gloo that shaped this: waiting is the only way to learn of a completion
// and its expiry closes every connection, so the threads wait without a deadline and deadlines are
// kept by who asked; a posted buffer must outlive its context's connections.

#include "mesh.h"

#include <sched.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

namespace ppcheck {

namespace {

constexpr auto endless = std::chrono::hours(24 * 365);

/** All frames of a link are matched in order on one slot. */
constexpr std::uint64_t frameSlot = 1;

/**
 * Gloo's threads must not preempt each other: its loop spins while the holder of a pair's lock is
 * preempted by the wake-up that it caused. Worth a factor of seven on few cores; needs no right.
 */
void useBatchScheduling() {
  sched_param parameter{};
  sched_setscheduler(0, SCHED_BATCH, &parameter);
}

/** A file store that gives up at the run's own deadline, or when the mesh is closed. */
class DeadlineStore : public gloo::rendezvous::FileStore {
 public:
  DeadlineStore(const std::string &path, int timeoutMs, const std::atomic<bool> &closing)
      : FileStore(path), timeoutMs_(timeoutMs), closing_(closing) {}

  std::vector<char> get(const std::string &key) override {
    wait({key});
    return FileStore::get(key);
  }
  void wait(const std::vector<std::string> &keys) override { waitFor(keys); }
  void wait(const std::vector<std::string> &keys, const std::chrono::milliseconds &) override {
    waitFor(keys);
  }

 private:
  void waitFor(const std::vector<std::string> &keys) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(timeoutMs_);
    while (!check(keys)) {
      if (closing_) throw std::runtime_error("closed while it connected");
      if (std::chrono::steady_clock::now() > deadline) {
        throw std::runtime_error("no " + keys.front() + " within " + std::to_string(timeoutMs_) +
                                 " ms: a rank has not started");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  const int timeoutMs_;
  const std::atomic<bool> &closing_;
};

// Newer Gloo takes shared pointers where older takes references: whichever overload there is.
template <typename Base>
auto connectMesh(gloo::rendezvous::Context &context, std::shared_ptr<Base> store,
                 const std::string &prefix, std::shared_ptr<gloo::transport::Device> &device, int)
    -> decltype(gloo::rendezvous::PrefixStore(prefix, *store), void()) {
  gloo::rendezvous::PrefixStore named(prefix, *store);
  context.connectFullMesh(named, device);
}
template <typename Base>
auto connectMesh(gloo::rendezvous::Context &context, std::shared_ptr<Base> store,
                 const std::string &prefix, std::shared_ptr<gloo::transport::Device> &device, long)
    -> decltype(gloo::rendezvous::PrefixStore(prefix, store), void()) {
  auto named = std::make_shared<gloo::rendezvous::PrefixStore>(prefix, store);
  context.connectFullMesh(named, device);
}

int terminatingRank = -1;

}  // namespace

void installTerminateHandler(int rank) {
  terminatingRank = rank;
  std::set_terminate([] {
    std::string what = "unknown exception";
    if (const auto current = std::current_exception()) {
      try {
        std::rethrow_exception(current);
      } catch (const std::exception &error) {
        what = error.what();
      } catch (...) {
      }
    }
    const std::string line =
        "ppcheck: rank " + std::to_string(terminatingRank) + " terminates: " + what + "\n";
    const auto written = ::write(2, line.data(), line.size());
    static_cast<void>(written);
    std::abort();
  });
}

Mesh::Mesh(MeshOptions options, std::function<void(Notice)> tell)
    : options_(std::move(options)), tell_(std::move(tell)) {}

Mesh::~Mesh() { close(); }

void Mesh::open() {
  useBatchScheduling();
  opener_ = std::thread([this] {
    useBatchScheduling();
    try {
      connect();
    } catch (const std::exception &error) {
      if (!closing_) tell_({Notice::failed, -1, error.what(), -1, -1});
    }
  });
}

void Mesh::connect() {
  gloo::transport::tcp::attr attributes;
  if (!options_.interface.empty()) attributes.iface = options_.interface;
  else attributes.hostname = options_.host;
  device_ = gloo::transport::tcp::CreateDevice(attributes);
  const auto store =
      std::make_shared<DeadlineStore>(options_.store, options_.timeoutMs, closing_);
  communicators_.resize(options_.communicators);
  for (int index = 0; index < options_.communicators; index++) {
    auto context = std::make_shared<gloo::rendezvous::Context>(options_.rank, options_.size);
    context->setTimeout(std::chrono::milliseconds(options_.timeoutMs));
    connectMesh(*context, store, "communicator-" + std::to_string(index), device_, 0);
    communicators_[index].context = context;
  }
  for (const auto &each : options_.links) {
    auto link = std::make_unique<Link>();
    link->options = each;
    for (int index = 0; index < options_.depth; index++) {
      link->ring.push_back(makeFrame(each.communicator));
      link->ring.back()->buffer->recv(each.source, frameSlot, 0, options_.capacity);
      link->ready.push_back(index);
    }
    links_.push_back(std::move(link));
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closing_) return;
    for (auto &link : links_) threads_.emplace_back([this, &link] { receiveLoop(*link); });
    for (int index = 0; index < options_.communicators; index++) {
      threads_.emplace_back([this, index] { sendLoop(index); });
    }
    isOpen_ = true;
  }
  tell_({Notice::opened, -1, "", -1, -1});
}

std::unique_ptr<Mesh::Frame> Mesh::makeFrame(int communicator) {
  auto frame = std::make_unique<Frame>();
  frame->memory.resize(options_.capacity);
  frame->buffer = communicators_[communicator].context->createUnboundBuffer(frame->memory.data(),
                                                                            options_.capacity);
  return frame;
}

void Mesh::receiveLoop(Link &link) {
  useBatchScheduling();
  const auto [communicator, source] = link.options;
  for (;;) {
    int index;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || !link.ready.empty(); });
      if (closing_) return;
      index = link.ready.front();
    }
    Frame &frame = *link.ring[index];
    try {
      if (!frame.buffer->waitRecv(nullptr, endless)) return;
    } catch (const std::exception &error) {
      if (!closing_) tell_({Notice::failed, -1, error.what(), communicator, source});
      return;
    }
    // The first word of a frame is its length in bytes.
    std::uint32_t bytes;
    std::memcpy(&bytes, frame.memory.data(), sizeof bytes);
    if (bytes > options_.capacity) bytes = options_.capacity;
    int number = 0;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      link.ready.pop_front();
      link.taken.push_back(index);
      while (links_[number].get() != &link) number++;
    }
    tell_({Notice::arrived, static_cast<double>(number),
           std::string(frame.memory.data(), bytes), communicator, source});
  }
}

void Mesh::release(int number) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (closing_) return;
  Link &link = *links_.at(number);
  if (link.taken.empty()) throw std::runtime_error("no frame of this link has been taken");
  const int index = link.taken.front();
  link.taken.pop_front();
  link.ring[index]->buffer->recv(link.options.source, frameSlot, 0, options_.capacity);
  link.ready.push_back(index);
  changed_.notify_all();
}

void Mesh::send(int communicator, const std::vector<int> &peers, const char *data,
                std::size_t bytes, double token) {
  if (bytes > options_.capacity) throw std::runtime_error("a frame exceeds the agreed capacity");
  std::lock_guard<std::mutex> lock(mutex_);
  if (closing_ || !isOpen_) throw std::runtime_error("the mesh is not open");
  Communicator &own = communicators_.at(communicator);
  std::unique_ptr<Frame> frame;
  if (own.spare.empty()) frame = makeFrame(communicator);
  else {
    frame = std::move(own.spare.back());
    own.spare.pop_back();
  }
  std::memcpy(frame->memory.data(), data, bytes);
  for (const int peer : peers) frame->buffer->send(peer, frameSlot, 0, bytes);
  own.outgoing.push_back({std::move(frame), static_cast<int>(peers.size()), token});
  changed_.notify_all();
}

void Mesh::sendLoop(int communicator) {
  useBatchScheduling();
  Communicator &own = communicators_[communicator];
  for (;;) {
    Outgoing *outgoing;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [&] { return closing_ || !own.outgoing.empty(); });
      if (closing_) return;
      outgoing = &own.outgoing.front();
    }
    try {
      for (int peer = 0; peer < outgoing->peers; peer++) {
        if (!outgoing->frame->buffer->waitSend(nullptr, endless)) return;
      }
    } catch (const std::exception &error) {
      if (!closing_) tell_({Notice::failed, outgoing->token, error.what(), communicator, -1});
      return;
    }
    const double token = outgoing->token;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      own.spare.push_back(std::move(outgoing->frame));
      own.outgoing.pop_front();
    }
    tell_({Notice::sent, token, "", communicator, -1});
  }
}

void Mesh::close() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closing_.exchange(true)) return;
    changed_.notify_all();
  }
  if (opener_.joinable()) opener_.join();
  for (auto &link : links_) {
    for (auto &frame : link->ring) frame->buffer->abortWaitRecv();
  }
  for (auto &own : communicators_) {
    for (auto &outgoing : own.outgoing) outgoing.frame->buffer->abortWaitSend();
  }
  for (auto &thread : threads_) thread.join();
  for (auto &own : communicators_) {
    if (own.context != nullptr) own.context->closeConnections();
  }
  // Buffers that are still posted must go before the contexts that made them.
  links_.clear();
  for (auto &own : communicators_) {
    own.outgoing.clear();
    own.spare.clear();
  }
  communicators_.clear();
  device_.reset();
}

}  // namespace ppcheck
