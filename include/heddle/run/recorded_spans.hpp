// SPDX-License-Identifier: MIT
// Room: run. Lines of a step as ranks have run them become a Timeline: computes without their waits, messages and collectives whole.
// Sees: plan/program, plan/read/{timeline, each_collective}.  Does not see: threads, compute, transport, who has recorded the lines.
// In: Recorded lines, rank by rank.  Out: Timeline.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "heddle/core/ring_volume.hpp"
#include "heddle/core/written.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/each_collective.hpp"
#include "heddle/plan/read/timeline.hpp"

namespace heddle::run_room {

using StepClock = std::chrono::steady_clock;

/// A line of the list, or an entry that moves something, as a rank has run it. Line 12 of step 3 has instruction 12 and entry -1.
struct Recorded {
  std::int32_t instruction = -1;
  std::int32_t entry = -1;
  std::int64_t step = 0;
  StepClock::time_point begin{}, end{};
};
/// One step of one rank, in the order in which lines and entries came to their ends.
struct RecordedRank {
  Rank rank;
  std::vector<Recorded> lines;
};

/// Whether an entry starts, awaits or is a movement.
[[nodiscard]] constexpr bool moves(BodyOp what) { return starts_collective(what) || what == BodyOp::reduce_wait || what == BodyOp::gather_wait; }
/// Whether nothing is computed until it is over.
[[nodiscard]] constexpr bool waits(BodyOp what) { return moves(what) && what != BodyOp::reduce_start && what != BodyOp::gather_start; }

/// Lines and entries that one rank of a role records in a step, if it reports its loss.
[[nodiscard]] inline std::size_t records_of_step(const Program& p, int role) {
  std::size_t count = 0;
  for (int i = p.lists[role].begin; i < p.lists[role].end; ++i) {
    ++count;
    if (!computes(p.instructions[i].op)) continue;
    const IndexRange& body = p.body(p.instructions[i]);
    for (int e = body.begin; e < body.end; ++e)
      if (moves(p.entries[e].what) && runs_in(p, p.entries[e].when, p.instructions[i].micro_batch)) ++count;
  }
  return count;
}

/// Which line of a step is missing or was run twice; "" if each was run once, but for those of a report.
[[nodiscard]] inline std::string missing(const Program& p, const RecordedRank& of) {
  const IndexRange& list = p.lists[p.mesh.coordinate(of.rank, Axis::stage)];
  std::vector<int> times(static_cast<std::size_t>(list.count()));
  for (const Recorded& line : of.lines)
    if (line.entry < 0) ++times[static_cast<std::size_t>(line.instruction - list.begin)];
  for (int i = list.begin; i < list.end; ++i) {
    const int ran = times[static_cast<std::size_t>(i - list.begin)];
    if (ran > 1 || (ran == 0 && p.instructions[i].when != When::reporting))
      return written({"rank ", of.rank.value, " ran line ", i, ran == 0 ? " not at all" : " more than once"});
  }
  return {};
}

/// Bytes that a rank sends in a collective, padding included.
[[nodiscard]] inline Bytes bytes_sent(const Program& p, Rank rank, const Collective& c) {
  const int n = p.mesh.size(c.axis);
  return c.halves() == 2 ? ring_bytes_sent(c.floats(), n, p.mesh.coordinate(rank, c.axis)) : half_ring_bytes_sent(c.floats(), n);
}

/// Makes the spans of ranks one after another, then joins sends and receives.
///
/// A message is under way from when both of its ranks have started it until its receiver has waited for it, or until its sender has, if that is
/// sooner; a collective of a rank from its start to the end of its wait; a compute until it waits for one, and from then on again. Two ranks with 4
/// micro-batches have 8 messages, so 16 spans of them and flows 0 to 7.
class SpanMaker {
 public:
  SpanMaker(const Program& p, const std::vector<RecordedRank>& ranks) : p_(p), ranks_(ranks) {
    origin_ = ranks.front().lines.front().begin;
    for (const RecordedRank& rank : ranks)
      for (const Recorded& line : rank.lines) origin_ = std::min(origin_, line.begin);
  }
  [[nodiscard]] Timeline timeline() {
    t_.title = std::string{p_.graph->model.view()};
    t_.measured = true;
    for (std::size_t d = 0; d < ranks_.size(); ++d) {
      t_.devices.push_back("rank " + std::to_string(ranks_[d].rank.value));
      spans_of(static_cast<int>(d));
    }
    join();
    return std::move(t_);
  }

 private:
  /// Both ends of a message: spans 4 and 9, say; -1 where one end is in another process.
  struct Message {
    int send = -1, receive = -1;
  };
  using Key = std::array<int, 3>;  // group of stages, transfer, micro-batch

  [[nodiscard]] Seconds at(StepClock::time_point time) const { return {std::chrono::duration<double>(time - origin_).count()}; }
  [[nodiscard]] Span span_of(int device, const Recorded& line, SpanKind kind, Lane lane, StepClock::time_point begin) const {
    const Instruction& of = p_.instructions[line.instruction];
    Span span;
    span.device = device;
    span.lane = lane;
    span.kind = kind;
    span.begin = at(begin);
    span.end = at(line.end);
    span.chunk = of.chunk;
    span.micro_batch = of.micro_batch;
    span.instruction = line.instruction;
    return span;
  }
  void spans_of(int device) {
    const RecordedRank& of = ranks_[static_cast<std::size_t>(device)];
    std::vector<StepClock::time_point> collectives(static_cast<std::size_t>(p_.collective_count));  // when each was started
    std::map<int, StepClock::time_point> transfers;                                                 // the same by token
    std::vector<const Recorded*> inside;                                                            // entries of the line that has not ended yet
    for (const Recorded& record : of.lines) {
      const Instruction& line = p_.instructions[record.instruction];
      if (record.entry >= 0) {
        const Entry& entry = p_.entries[record.entry];
        auto& started = collectives[static_cast<std::size_t>(entry.collective)];
        if (starts_collective(entry.what)) started = record.begin;
        if (waits(entry.what)) collective(device, record, entry.collective, started);
        inside.push_back(&record);
      } else if (computes(line.op)) {
        compute(device, record, inside);
        inside.clear();
      } else {
        list_line(device, record, line, collectives, transfers);
      }
    }
  }
  void list_line(int device, const Recorded& record, const Instruction& line, std::vector<StepClock::time_point>& collectives,
                 std::map<int, StepClock::time_point>& transfers) {
    switch (line.op) {
      case ListOp::send_start:
      case ListOp::receive_start: transfers[line.token] = record.begin; break;
      case ListOp::send_wait: transfer(device, record, line, SpanKind::send, transfers[line.token]); break;
      case ListOp::receive_wait: transfer(device, record, line, SpanKind::receive, transfers[line.token]); break;
      case ListOp::reduce_start:
      case ListOp::gather_start: collectives[static_cast<std::size_t>(line.collective)] = record.begin; break;
      case ListOp::reduce_wait:
      case ListOp::gather_wait: collective(device, record, line.collective, collectives[static_cast<std::size_t>(line.collective)]); break;
      default: t_.spans.push_back(span_of(device, record, SpanKind::update, Lane::compute, record.begin));
    }
  }
  /// One span, or one for each piece between waits; a piece names the entry that it begins with.
  void compute(int device, const Recorded& record, const std::vector<const Recorded*>& inside) {
    const Instruction& line = p_.instructions[record.instruction];
    const SpanKind kind = line.op == ListOp::forward           ? SpanKind::forward
                          : line.op == ListOp::backward        ? SpanKind::backward
                          : line.op == ListOp::backward_weight ? SpanKind::backward_weight
                                                               : SpanKind::backward_input;
    Span piece = span_of(device, record, kind, Lane::compute, record.begin);
    const Seconds end = piece.end;
    for (const Recorded* entry : inside) {
      if (!waits(p_.entries[entry->entry].what)) continue;
      if (piece.entry < 0) piece.entry = p_.body(line).begin;
      piece.end = at(entry->begin);
      t_.spans.push_back(piece);
      piece.begin = at(entry->end);
      piece.entry = entry->entry + 1;
    }
    piece.end = end;
    if (piece.entry < p_.body(line).end) t_.spans.push_back(piece);
  }
  void collective(int device, const Recorded& record, int number, StepClock::time_point started) {
    Span span = span_of(device, record, SpanKind::collective, Lane::communication, started);
    span.entry = record.entry;
    span.collective = number;
    span.bytes = bytes_sent(p_, ranks_[static_cast<std::size_t>(device)].rank, p_.collectives[number]);
    t_.spans.push_back(span);
  }
  void transfer(int device, const Recorded& record, const Instruction& line, SpanKind kind, StepClock::time_point started) {
    const Rank rank = ranks_[static_cast<std::size_t>(device)].rank;
    const Rank peer = p_.mesh.moved(rank, Axis::stage, line.peer);
    Span span = span_of(device, record, kind, Lane::communication, started);
    for (std::size_t d = 0; d < ranks_.size(); ++d)
      if (ranks_[d].rank == peer) span.peer = static_cast<int>(d);
    if (kind == SpanKind::send) span.bytes = p_.bytes(p_.transfers[line.transfer]);
    Message& message = messages_[Key{p_.mesh.group(rank, Axis::stage), line.transfer, line.micro_batch}];
    (kind == SpanKind::send ? message.send : message.receive) = static_cast<int>(t_.spans.size());
    t_.spans.push_back(span);
  }
  /// A message whose sender knew that it had gone before its receiver asked for it keeps its own begin.
  void join() {
    int flow = 0;
    for (const auto& [key, message] : messages_) {
      if (message.send < 0 || message.receive < 0) continue;  // the other end is in another process
      Span& send = t_.spans[static_cast<std::size_t>(message.send)];
      Span& receive = t_.spans[static_cast<std::size_t>(message.receive)];
      const Seconds both = std::max(send.begin, receive.begin);
      send.end = std::min(send.end, receive.end);
      if (both < send.end) send.begin = both;
      if (both < receive.end) receive.begin = both;
      send.flow = receive.flow = flow++;
    }
  }

  const Program& p_;
  const std::vector<RecordedRank>& ranks_;
  StepClock::time_point origin_;
  std::map<Key, Message> messages_;
  Timeline t_;
};

/// Of ranks that have each run the whole step.
///
/// Tested  run/recorded_spans_test, run/timeline_observer_test
[[nodiscard]] inline Timeline timeline_of(const Program& p, const std::vector<RecordedRank>& ranks) { return SpanMaker{p, ranks}.timeline(); }

}  // namespace heddle::run_room
