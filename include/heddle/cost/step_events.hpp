// SPDX-License-Identifier: MIT
// Room: cost. What takes time in a simulated step, as spans, each with the span that it came after.
// Sees: plan/program, plan/read/timeline, cost/devices.  Does not see: machines, processes, threads.
// In: what a StepWalk tells.  Out: StepEvents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/cost/devices.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/timeline.hpp"

namespace heddle::cost_room {

/// The spans of a step. Entries of a line that follow one another without a wait are one span; each line that computes has at least one, and each
/// transfer a span at either end: 4 computes and 2 transfers are 8 spans.
///
/// Tested  cost/predict_test
class StepEvents {
 public:
  static constexpr bool on = true;
  StepEvents(const Program& p, bool by_rank) : p_(p), devices_(p, by_rank), deciding_(at(devices_.count()), -1), piece_(deciding_) {}

  [[nodiscard]] std::vector<Span>& spans() { return spans_; }
  /// By span: the one whose end let it begin; -1 at the beginning of the step.
  [[nodiscard]] std::vector<int>& after() { return after_; }

  // ---- of the devices themselves
  void computed(int d, int line, int entry, double begin, double end) {
    const bool computes_here = computes(p_.instructions[line].op);
    if (end == begin && (entry >= 0 || !computes_here)) return;  // a whole body is shown, however short it is
    if (int& piece = piece_[at(d)]; piece >= 0 && spans_[at(piece)].instruction == line && spans_[at(piece)].end.value == begin) {
      spans_[at(piece)].end.value = end;
      return;
    }
    const int before = piece_[at(d)];
    const bool later = before >= 0 && spans_[at(before)].instruction == line;
    Span span = of_line(d, line, begin, end);
    if (later) {
      if (spans_[at(before)].entry < 0) spans_[at(before)].entry = p_.body(p_.instructions[line]).begin;
      span.entry = entry;
    }
    piece_[at(d)] = add(span, deciding_[at(d)]);
    deciding_[at(d)] = piece_[at(d)];
  }
  /// A line whose entries took no time is shown as well.
  void ended(int d, int line, double now) {
    if (const int piece = piece_[at(d)]; piece >= 0 && spans_[at(piece)].instruction == line) return;
    piece_[at(d)] = add(of_line(d, line, now, now), deciding_[at(d)]);
  }
  /// What it costs a device to start a message.
  void started(int d, int line, double begin, double end) {
    Span span = of_line(d, line, begin, end);
    span.kind = kind_of_start(p_.instructions[line].op);
    deciding_[at(d)] = add(span, deciding_[at(d)]);
  }

  // ---- transfers
  void posted(int d, int slot, bool send, int line) {
    if (transfers_.size() <= at(slot)) transfers_.resize(at(slot) + 1);
    Posted& of = transfers_[at(slot)];
    of.line[send ? 1 : 0] = line;
    of.after[send ? 1 : 0] = deciding_[at(d)];
  }
  /// `decided`: 0 by the sender, 1 by the receiver, 2 by the message before it on the link.
  void moved(int from, int to, int slot, double begin, double end, Bytes bytes, int decided, std::ptrdiff_t link) {
    Posted& of = transfers_[at(slot)];
    if (links_.size() <= static_cast<std::size_t>(link)) links_.resize(static_cast<std::size_t>(link) + 1, -1);
    int& before = links_[static_cast<std::size_t>(link)];
    const int after = decided == 2 ? before : of.after[decided == 0 ? 1 : 0];
    Span send = of_transfer(from, to, of.line[1], begin, end);
    send.kind = SpanKind::send;
    send.bytes = bytes;
    Span receive = of_transfer(to, from, of.line[0], begin, end);
    receive.kind = SpanKind::receive;
    send.flow = receive.flow = flows_++;
    before = of.span = add(send, after);
    add(receive, after);
  }
  void waited_for_transfer(int d, int slot, bool send) { deciding_[at(d)] = transfers_[at(slot)].span + (send ? 0 : 1); }

  // ---- collectives
  void latest(int group, int d) { note(groups_, group) = deciding_[at(d)]; }
  void behind(int group, int d) { note(groups_, group) = note(wires_, d); }
  void joined(int own, int line, int entry) {
    note(lines_, own) = line;
    note(entries_, own) = entry;
  }
  void reduced(int d, int own, int group, int collective, double begin, double end, double bytes, bool on_wire) {
    Span span = of_line(d, note(lines_, own), begin, end);
    span.lane = Lane::communication;
    span.kind = SpanKind::collective;
    span.collective = collective;
    span.entry = note(entries_, own);
    span.bytes = Bytes{static_cast<std::int64_t>(bytes + 0.5)};
    note(done_, own) = add(span, note(groups_, group));
    if (on_wire) note(wires_, d) = note(done_, own);
  }
  void waited_for_collective(int d, int own) { deciding_[at(d)] = note(done_, own); }

 private:
  /// Both lines of a transfer, and what each side had done before it: the receiver's come first. Lines 7 and 3 are those of receiver and sender.
  struct Posted {
    int line[2] = {-1, -1};
    int after[2] = {-1, -1};
    int span = -1;
  };
  [[nodiscard]] static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  static int& note(std::vector<int>& notes, int number) {
    if (notes.size() <= at(number)) notes.resize(at(number) + 1, -1);
    return notes[at(number)];
  }
  int add(const Span& span, int after) {
    spans_.push_back(span);
    after_.push_back(after);
    return static_cast<int>(spans_.size()) - 1;
  }
  [[nodiscard]] static SpanKind kind_of(ListOp op) {
    return op == ListOp::forward           ? SpanKind::forward
           : op == ListOp::backward        ? SpanKind::backward
           : op == ListOp::backward_input  ? SpanKind::backward_input
           : op == ListOp::backward_weight ? SpanKind::backward_weight
                                           : SpanKind::update;
  }
  [[nodiscard]] static SpanKind kind_of_start(ListOp op) {
    return op == ListOp::send_start ? SpanKind::send : op == ListOp::receive_start ? SpanKind::receive : SpanKind::collective;
  }
  [[nodiscard]] Span of_line(int d, int number, double begin, double end) const {
    const Instruction& line = p_.instructions[number];
    Span span;
    span.device = d;
    span.kind = kind_of(line.op);
    span.begin.value = begin;
    span.end.value = end;
    span.chunk = line.chunk;
    span.micro_batch = line.micro_batch;
    span.instruction = number;
    return span;
  }
  [[nodiscard]] Span of_transfer(int d, int peer, int number, double begin, double end) const {
    Span span = of_line(d, number, begin, end);
    span.lane = Lane::communication;
    span.peer = peer;
    return span;
  }

  const Program& p_;
  Devices devices_;
  std::vector<Span> spans_;
  std::vector<int> after_;
  std::vector<int> deciding_;  // by device: the span whose end is its present time
  std::vector<int> piece_;     // by device: the span of its last line that computes
  std::vector<Posted> transfers_;
  std::vector<int> links_;  // by link: its last message
  std::vector<int> groups_, wires_, lines_, entries_, done_;
  int flows_ = 0;
};

}  // namespace heddle::cost_room
