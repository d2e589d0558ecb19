// SPDX-License-Identifier: MIT
// Room: tests. What the emulated cards have in their queues: work, streams, events, captures and graphs.
// Sees: the toolkit's runtime API.  Does not see: kernels, cuBLASLt, NCCL.
// In: nothing.  Out: Work, Stream, Event, Capture, Graph, RunnableGraph, GraphRun, Item.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace cuda_emulator {

struct Communicator;  // of NCCL

/// What a card has begun and has not ended: an all-reduce of 2 ranks of which 1 has come.
class Unfinished {
 public:
  virtual bool finished() = 0;
  /// Whether it cannot end before somebody queues something on that card.
  [[nodiscard]] virtual bool waits_for(int /*device*/) const { return false; }
  virtual ~Unfinished() = default;
};

/// Memory that work names: 400 bytes at begin.
struct Range {
  const void* begin = nullptr;
  std::size_t bytes = 0;
};

/// One thing that a card does, such as a kernel. start() does it, or begins it if it waits for other ranks.
struct Work {
  std::string name;
  std::function<std::shared_ptr<Unfinished>()> start;
  std::vector<Communicator*> communicators{};  // those of a collective
  std::vector<Range> ranges{};                 // memory that must not be given back before it is done
  std::vector<Range> host_reads{};             // pinned memory that it may read
  Range host_written{};                        // pinned memory that holds poison until it is done
  double ms = 1;                               // it takes where times are known
  bool on_current_device = true;               // its stream must be of the card that the calling thread has set
};

/// A node of a graph begins after the nodes `after`: {0, 1} joins the first two.
struct Node {
  Work work;
  std::vector<std::size_t> after;
};

struct Stream;

/// A capture that goes on. Its first stream is the origin, and every other one came in by an event.
struct Capture {
  Stream* origin = nullptr;
  cudaStreamCaptureMode mode{};
  std::thread::id thread;
  std::vector<Node> nodes;
  bool invalid = false;
  std::set<Stream*> streams;
  std::map<Communicator*, std::size_t> last_node_of;
};

/// What a capture made; a runnable graph is a copy of it.
struct Graph {
  std::vector<Node> nodes;
};
struct GraphRun;
struct RunnableGraph {
  std::vector<Node> nodes;
  std::weak_ptr<GraphRun> last_run;  // launches of one runnable graph do not overlap
};

/// One launch of a graph: 3 of 5 nodes done are left 2.
struct GraphRun {
  enum class Phase : unsigned char { waits, begun, done };
  std::shared_ptr<RunnableGraph> graph;
  std::shared_ptr<GraphRun> before;
  std::vector<Phase> phases;
  std::vector<std::shared_ptr<Unfinished>> unfinished;
  std::vector<char> tokens;  // of the thread sanitizer, one a node
  std::size_t left = 0;
};

/// Recorded 3 times and done 2 times: the third record is still in a queue.
struct Event {
  int device = 0;
  bool timed = false;
  long recorded = 0;
  long done = 0;
  std::chrono::steady_clock::time_point time;
  std::shared_ptr<Capture> capture;  // in which it was recorded last
  bool of_ended_capture = false;     // that has ended: nobody can ask about it or wait for it before it is recorded again
  std::vector<std::size_t> tips;
};

/// One entry of a stream's queue.
struct Item {
  enum class Kind : unsigned char { work, record, wait, graph };
  Kind kind = Kind::work;
  Work work{};
  std::shared_ptr<Event> event{};
  long ticket = 0;  // the number of the record that is made or waited for
  std::shared_ptr<GraphRun> run{};
  std::shared_ptr<Unfinished> unfinished{};
  bool begun = false;
};

/// A queue of one card. `tips` are the nodes of its capture that the next node comes after.
struct Stream {
  int device = 0;
  int number = 0;
  std::deque<std::unique_ptr<Item>> items;
  void* identity = nullptr;  // of the thread sanitizer
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> tips;
};

}  // namespace cuda_emulator
