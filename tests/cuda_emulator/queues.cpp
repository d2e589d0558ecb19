// SPDX-License-Identifier: MIT
// The scheduler. Streams and nodes of graphs are taken in random order, each only when what it comes after is done.
#include "queues.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "sanitizers.hpp"

namespace cuda_emulator {
namespace {

bool may_begin(const Work& work, int number) {
  return work.communicators.empty() || !state().options.one_collective || device(number).collectives_running == 0;
}
/// Nothing of a card that has had a fault is done any more.
std::shared_ptr<Unfinished> begin(const Work& work, int number) {
  if (device(number).error != cudaSuccess) return nullptr;
  for (const Range& range : work.ranges)
    if (state().memory.around(range.begin, range.bytes) == nullptr) {
      char text[160];
      state().memory.describe(range.begin, text, sizeof text);
      fault(number, work.name + " touches " + text, cudaErrorIllegalAddress);
      return nullptr;
    } else {
      OpenMemory::also(range.begin);
    }
  state().busy_ms += work.ms;
  std::shared_ptr<Unfinished> unfinished = work.start();
  if (unfinished != nullptr) ++device(number).collectives_running;
  look_at_canaries(number, work.name);
  return unfinished;
}

/// What an event tells.
std::chrono::steady_clock::time_point now() {
  using Clock = std::chrono::steady_clock;
  if (!state().options.known_times) return Clock::now();
  return Clock::time_point{std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(state().busy_ms))};
}

/// What the thread sanitizer is told: for as long as one lives, what is done is done by this fiber.
class As {
 public:
  explicit As(void* identity) : before_(tsan::current()) { tsan::become(identity); }
  ~As() { tsan::become(before_); }
  As(const As&) = delete;
  As& operator=(const As&) = delete;

 private:
  void* before_;
};

/// One node of a graph that runs ends or begins.
class GraphStep {
 public:
  GraphStep(Stream& stream, GraphRun& run) : stream_(stream), run_(run) {}
  bool take() {
    std::vector<std::size_t> can_begin;
    for (std::size_t node = 0; node < run_.phases.size(); ++node) {
      if (run_.phases[node] == GraphRun::Phase::begun && run_.unfinished[node]->finished()) {
        end(node);
        return true;
      }
      if (may_begin(node)) can_begin.push_back(node);
    }
    if (can_begin.empty()) return false;
    begin_node(can_begin[state().random() % can_begin.size()]);
    return true;
  }

 private:
  [[nodiscard]] const Node& node_of(std::size_t node) const { return run_.graph->nodes[node]; }
  [[nodiscard]] bool may_begin(std::size_t node) const {
    if (run_.phases[node] != GraphRun::Phase::waits || !cuda_emulator::may_begin(node_of(node).work, stream_.device)) return false;
    const auto& after = node_of(node).after;
    return std::all_of(after.begin(), after.end(), [&](std::size_t before) { return run_.phases[before] == GraphRun::Phase::done; });
  }
  [[nodiscard]] void* identity(std::size_t node) const {
    const auto& identities = device(stream_.device).identities;
    return identities[node % identities.size()];
  }
  void done(std::size_t node) {
    tsan::release(&run_.tokens[node]);
    run_.phases[node] = GraphRun::Phase::done;
    --run_.left;
  }
  void end(std::size_t node) {
    --device(stream_.device).collectives_running;
    const As as(identity(node));
    tsan::acquire(run_.unfinished[node].get());
    done(node);
    const tsan::Silence silence;
    run_.unfinished[node] = nullptr;
  }
  void begin_node(std::size_t node) {
    tsan::release(&run_);
    const As as(identity(node));
    if (node_of(node).after.empty()) tsan::acquire(&run_);
    for (const std::size_t before : node_of(node).after) tsan::acquire(&run_.tokens[before]);
    run_.unfinished[node] = begin(node_of(node).work, stream_.device);
    if (run_.unfinished[node] == nullptr)
      done(node);
    else
      run_.phases[node] = GraphRun::Phase::begun;
  }

  Stream& stream_;
  GraphRun& run_;
};

enum class Moved : unsigned char { no, on, to_end };

Moved move_work(Stream& stream, Item& item) {
  if (!item.begun) {
    if (!may_begin(item.work, stream.device)) return Moved::no;
    item.begun = true;
    const As as(stream.identity);
    tsan::acquire(&item);
    item.unfinished = begin(item.work, stream.device);
    if (item.unfinished != nullptr) return Moved::on;
    tsan::release(&stream);
    return Moved::to_end;
  }
  if (!item.unfinished->finished()) return Moved::no;
  --device(stream.device).collectives_running;
  const As as(stream.identity);
  tsan::acquire(item.unfinished.get());
  tsan::release(&stream);
  return Moved::to_end;
}
Moved move_event(Stream& stream, Item& item) {
  Event& event = *item.event;
  const bool records = item.kind == Item::Kind::record;
  if (!records && event.done < item.ticket) return Moved::no;
  if (records) event.time = now();
  const As as(stream.identity);
  tsan::acquire(&item);
  if (records) {
    event.done = std::max(event.done, item.ticket);
    tsan::release(&event);
  } else {
    tsan::acquire(&event);
  }
  tsan::release(&stream);
  return Moved::to_end;
}
Moved move_graph(Stream& stream, Item& item) {
  GraphRun& run = *item.run;
  if (run.before != nullptr && run.before->left > 0) return Moved::no;
  const As as(stream.identity);
  tsan::acquire(&item);
  tsan::acquire(run.graph.get());  // launches of one graph come one after another
  if (run.before != nullptr) {
    const tsan::Silence silence;
    run.before = nullptr;
  }
  const bool moved = run.left == 0 || GraphStep(stream, run).take();
  if (run.left > 0) return moved ? Moved::on : Moved::no;
  for (const char& token : run.tokens) tsan::acquire(&token);
  tsan::release(run.graph.get());
  tsan::release(&stream);
  return Moved::to_end;
}
/// What other cards are in that waits for this one: "ncclAllReduce on device 0", or "".
std::string what_waits_for(int own) {
  for (const auto& stream : state().streams) {
    if (stream->items.empty() || stream->device == own) continue;
    const Item& item = *stream->items.front();
    const auto named = [&](const Work& work) { return work.name + " on device " + std::to_string(stream->device); };
    if (item.unfinished != nullptr && item.unfinished->waits_for(own)) return named(item.work);
    if (item.run == nullptr) continue;
    for (std::size_t node = 0; node < item.run->unfinished.size(); ++node)
      if (item.run->unfinished[node] != nullptr && item.run->unfinished[node]->waits_for(own)) return named(item.run->graph->nodes[node].work);
  }
  return "";
}
/// The head of one stream, if it can go on.
bool pump(Stream& stream) {
  Item& item = *stream.items.front();
  const Moved moved = item.kind == Item::Kind::work    ? move_work(stream, item)
                      : item.kind == Item::Kind::graph ? move_graph(stream, item)
                                                       : move_event(stream, item);
  if (moved == Moved::to_end) {
    std::unique_ptr<Item> ended = std::move(stream.items.front());
    stream.items.pop_front();
    const tsan::Silence silence;  // the stream has read it, the host gives it back
    ended.reset();
  }
  return moved != Moved::no;
}

}  // namespace

Stream* stream_of(cudaStream_t handle) {
  for (const auto& stream : state().streams)
    if (reinterpret_cast<cudaStream_t>(stream.get()) == handle) return stream.get();
  violation(handle == nullptr ? "The default stream is used." : "A stream is used that does not exist.");
  return nullptr;
}
std::shared_ptr<Event> event_of(cudaEvent_t handle) {
  const auto found = state().events.find(reinterpret_cast<Event*>(handle));
  if (found != state().events.end()) return found->second;
  violation("An event is used that does not exist.");
  return nullptr;
}

bool pump() {
  State& all = state();
  std::vector<Stream*> order;
  for (const auto& stream : all.streams)
    if (!stream->items.empty()) order.push_back(stream.get());
  if (order.empty()) return false;
  std::shuffle(order.begin(), order.end(), all.random);
  const OpenMemory open(all.memory);
  for (Stream* const stream : order)
    if (pump(*stream)) {
      all.last_progress = std::chrono::steady_clock::now();
      all.changed.notify_all();
      return true;
    }
  return false;
}
void pump_a_little() {
  while (chance() < state().options.eager && pump()) {
  }
}
cudaError_t wait_until(Call& call, const std::function<bool()>& done) {
  State& all = state();
  all.last_progress = std::chrono::steady_clock::now();
  for (;;) {
    {
      const OpenMemory open(all.memory);
      while (!done() && device(current_device()).error == cudaSuccess && pump()) {
      }
    }
    if (done() || device(current_device()).error != cudaSuccess) return device(current_device()).error;
    if (stands_still()) {
      fault(current_device(), what_stands_still());
      return device(current_device()).error;
    }
    all.changed.wait_for(call.lock, std::chrono::milliseconds(1));
  }
}
bool device_is_idle(int number) {
  const auto& streams = state().streams;
  return std::all_of(streams.begin(), streams.end(), [&](const auto& stream) { return stream->device != number || stream->items.empty(); });
}
void may_wait_for_all_cards(Call& call, const char* name) {
  using Clock = std::chrono::steady_clock;
  const int own = current_device();
  const std::chrono::duration<double> takes{state().options.memory_waits_s * own};
  const Clock::time_point begun = Clock::now();
  while (Clock::now() - begun < takes) {
    while (pump()) {
    }
    if (const std::string waits = what_waits_for(own); !waits.empty()) {
      violation(std::string(name) + " on device " + std::to_string(own) + " may wait for " + waits +
                ", which waits for this device. The real ones wait for ever.");
      return;
    }
    state().changed.wait_for(call.lock, std::chrono::milliseconds(1));
  }
}
bool stands_still() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - state().last_progress).count() > state().options.deadline_s;
}
std::string what_stands_still() {
  std::ostringstream text;
  text << "Nothing goes on any more";
  for (const auto& stream : state().streams) {
    if (stream->items.empty()) continue;
    const Item& item = *stream->items.front();
    text << "; stream " << stream->number << " of device " << stream->device;
    if (item.kind == Item::Kind::wait) text << " waits for an event";
    if (item.kind == Item::Kind::work) text << (item.begun ? " is in " : " is before ") << item.work.name;
    if (item.kind != Item::Kind::graph) continue;
    text << " runs a graph";
    for (std::size_t node = 0; node < item.run->phases.size(); ++node)
      if (item.run->phases[node] == GraphRun::Phase::begun) text << " and is in " << item.run->graph->nodes[node].work.name;
  }
  return text.str();
}

}  // namespace cuda_emulator
