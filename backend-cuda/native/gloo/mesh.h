// One rank's end of a Gloo run: a full mesh of TCP connections for each communicator, frames of
// fixed capacity, and threads that wait, so that JavaScript never does. Nothing here knows what a
// frame means.
//
// Receives of the full capacity stand ready before anything is sent, `depth` of them for each
// sender. Two things follow. A frame can never be longer than the buffer it lands in, which would
// end the process from inside Gloo's own thread. And a sender runs at most `depth` frames ahead of
// what a receiver has taken: that is the `eager` of the model.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gloo/rendezvous/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/unbound_buffer.h>

namespace ppcheck {

/** Frames that `source` sends to this rank on one communicator. */
struct LinkOptions {
  int communicator;
  int source;
};

struct MeshOptions {
  int rank = 0;
  int size = 0;
  int communicators = 0;
  /** Ready receives a link, and bytes a frame. */
  int depth = 0;
  std::size_t capacity = 0;
  int timeoutMs = 0;
  /** A folder that only the ranks of this run know. */
  std::string store;
  /** A network interface (`lo`), or a host name or address to bind to. */
  std::string interface;
  std::string host;
  std::vector<LinkOptions> links;
};

/** What the threads tell. */
struct Notice {
  enum Kind { opened = 0, arrived = 1, sent = 2, failed = 3 } kind;
  /** Link of an arrival, token of a send; otherwise −1. */
  double number;
  /** A frame, or the words of a failure. */
  std::string data;
  int communicator;
  int peer;
};

class Mesh {
 public:
  /** `tell` is called from other threads, in order for each link and each communicator. */
  Mesh(MeshOptions options, std::function<void(Notice)> tell);
  ~Mesh();

  /** Connects in a thread of its own and tells `opened` or `failed`. */
  void open();
  /** Sends a copy of the frame to each peer; tells `sent` when all have it. */
  void send(int communicator, const std::vector<int> &peers, const char *frame, std::size_t bytes,
            double token);
  /** A frame of this link has been taken: its buffer stands ready for another. */
  void release(int link);
  /** Ends all waits, joins all threads, closes all connections. Tells nothing any more. */
  void close();

 private:
  struct Frame {
    std::vector<char> memory;
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer;
  };
  struct Outgoing {
    std::unique_ptr<Frame> frame;
    int peers;
    double token;
  };
  struct Link {
    LinkOptions options;
    std::vector<std::unique_ptr<Frame>> ring;
    /** Buffers that stand ready, oldest first; the thread waits for the first. */
    std::deque<int> ready;
    std::deque<int> taken;
  };
  struct Communicator {
    std::shared_ptr<gloo::rendezvous::Context> context;
    std::deque<Outgoing> outgoing;
    std::vector<std::unique_ptr<Frame>> spare;
  };

  void connect();
  void receiveLoop(Link &link);
  void sendLoop(int communicator);
  std::unique_ptr<Frame> makeFrame(int communicator);

  const MeshOptions options_;
  const std::function<void(Notice)> tell_;
  std::shared_ptr<gloo::transport::Device> device_;
  std::deque<Communicator> communicators_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::thread> threads_;
  std::thread opener_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> closing_{false};
  bool isOpen_ = false;
};

/** From now on an exception on a thread of Gloo leaves a line on stderr before the process ends. */
void installTerminateHandler(int rank);

}  // namespace ppcheck
