// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/schedule.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "heddle/policy/schedule/gpipe.hpp"
#include "heddle/policy/schedule/interleaved.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"
#include "heddle/policy/schedule/zero_bubble_h1.hpp"
#include "policy/models.hpp"

using namespace heddle;

namespace {

constexpr Graph no_graph{};

constexpr Layout chunks_on(std::initializer_list<int> devices, OrderRules order, int in_flight, int micro_batches) {
  Layout layout{no_graph};
  layout.chunk_count = 0;
  int roles = 0;
  for (const int d : devices) {
    layout.in_flight[layout.chunk_count] = in_flight;
    layout.device_of_chunk[layout.chunk_count++] = d;
    roles = d + 1 > roles ? d + 1 : roles;
  }
  layout.claim(axis::stage, roles);
  layout.order = order;
  layout.micro_batches = micro_batches;
  return layout;
}

/// Chunk c on device c mod S, with the turns of an order.
template <class Order> constexpr Layout turns_of(int devices, int micro_batches) {
  Layout layout{no_graph};
  layout.chunk_count = devices * Order::chunks_per_device;
  for (int c = 0; c < layout.chunk_count; ++c) layout.device_of_chunk[c] = c % devices;
  for (int d = 0; d < devices; ++d) layout.turns[d] = Order::turns(d, devices);
  layout.claim(axis::stage, devices);
  layout.order = Order::rules();
  layout.micro_batches = micro_batches;
  return layout;
}

/// The laws of every schedule: each compute once, after what it needs, one at a time on a device, in order of begin, each kind on each chunk
/// in the order of micro-batches, within in-flight limits.
template <int Chunks, int MicroBatches, int Passes = 2> void obeys_the_laws(const Layout& layout, int round) {
  const auto schedule = schedule_computes<Chunks, MicroBatches, Passes>(layout, round);
  const bool split = Passes == 3;
  int forward_end[Chunks][MicroBatches]{};
  int backward_end[Chunks][MicroBatches]{};
  int weight_end[Chunks][MicroBatches]{};
  int next[Chunks][3]{};
  int free_at[Chunks]{};
  int in_flight[Chunks]{};
  int last_begin = 0;
  int latest = 0;
  for (const TimedCompute& c : schedule.computes) {
    CHECK(c.begin >= last_begin);
    last_begin = c.begin;
    CHECK(c.end - c.begin == (c.op == ListOp::forward ? forward_time : split ? input_time : backward_time));
    int& free = free_at[layout.device_of_chunk[c.chunk]];
    CHECK(c.begin >= free);
    free = c.end;
    latest = c.end > latest ? c.end : latest;
    const int kind = c.op == ListOp::forward ? 0 : c.op == ListOp::backward_weight ? 2 : 1;
    CHECK(c.op == (kind == 0 ? ListOp::forward : kind == 2 ? ListOp::backward_weight : split ? ListOp::backward_input : ListOp::backward));
    int& end = (kind == 0 ? forward_end : kind == 1 ? backward_end : weight_end)[c.chunk][c.micro_batch];
    CHECK(end == 0);  // once
    end = c.end;
    CHECK(c.micro_batch == next[c.chunk][kind]++);
    int needed = 0;
    if (kind == 2)
      needed = backward_end[c.chunk][c.micro_batch];
    else if (kind == 1)
      needed = c.chunk + 1 < Chunks ? backward_end[c.chunk + 1][c.micro_batch] : forward_end[c.chunk][c.micro_batch];
    else if (c.chunk > 0)
      needed = forward_end[c.chunk - 1][c.micro_batch];
    const bool needs = kind > 0 || c.chunk > 0;
    CHECK((needed > 0) == needs);
    CHECK(c.begin >= needed);
    if (kind == 1) CHECK(forward_end[c.chunk][c.micro_batch] > 0);
    in_flight[c.chunk] += kind == 1 ? -1 : kind == 0 ? 1 : 0;
    if (!layout.order.in_turns) CHECK(in_flight[c.chunk] <= layout.in_flight[c.chunk]);
    if (layout.order.forwards_first && kind == 1)
      for (int m = c.micro_batch / round * round; m < (c.micro_batch / round + 1) * round; ++m) CHECK(forward_end[c.chunk][m] > 0);
  }
  CHECK(schedule.makespan == latest);
}

/// "F0.1": the forward of the device's chunk 0 for micro-batch 1.
template <int Chunks, int MicroBatches, int Passes> std::string sequence_of(const Layout& layout, int device) {
  std::string all;
  for (const TimedCompute& c : schedule_computes<Chunks, MicroBatches, Passes>(layout, MicroBatches).computes) {
    if (layout.device_of_chunk[c.chunk] != device) continue;
    all += c.op == ListOp::forward ? 'F' : c.op == ListOp::backward_weight ? 'W' : c.op == ListOp::backward_input ? 'I' : 'B';
    if (layout.chunk_count > layout.roles()) all += std::to_string(c.chunk / layout.roles()) + '.';
    all += std::to_string(c.micro_batch) + ' ';
  }
  return all;
}

}  // namespace

TEST_CASE("one chunk alternates, and takes 3 units for each micro-batch") {
  constexpr Layout one = chunks_on({0}, OrderRules{}, 1, 4);
  constexpr auto schedule = schedule_computes<1, 4, 2>(one, 4);
  static_assert(schedule.makespan == 12);
  for (int i = 0; i < 8; ++i) {
    CHECK(schedule.computes[i].op == (i % 2 == 1 ? ListOp::backward : ListOp::forward));
    CHECK(schedule.computes[i].micro_batch == i / 2);
  }
}

TEST_CASE("without an order a pipeline is sequential: one micro-batch at a time") {
  constexpr Layout two = chunks_on({0, 1}, OrderRules{}, 1, 2);
  constexpr auto schedule = schedule_computes<2, 2, 2>(two, 2);
  // F0 on both, then B0 on both, and F1 of the first chunk must wait for B0 of the first chunk.
  static_assert(schedule.makespan == 2 * (2 + 4));
  CHECK(schedule.makespan == 12);
}

TEST_CASE("every schedule obeys the laws: order, dependencies, one at a time, in flight") {
  obeys_the_laws<3, 5>(chunks_on({0, 1, 2}, OrderRules{}, 1, 5), 5);
  obeys_the_laws<3, 5>(chunks_on({0, 1, 2}, GPipe::rules(), 5, 5), 5);
  obeys_the_laws<3, 6>(chunks_on({0, 1, 2}, GPipe::rules(), 3, 3), 3);  // two rounds
  obeys_the_laws<3, 5>(chunks_on({0, 1, 0}, OneFOneB::rules(), 2, 5), 5);
  obeys_the_laws<4, 8>(chunks_on({0, 1, 1, 0}, GPipe::rules(), 8, 8), 8);
  Layout limits = chunks_on({0, 1, 2, 3}, OneFOneB::rules(), 0, 8);
  for (int c = 0; c < 4; ++c) limits.in_flight[c] = OneFOneB::in_flight(c, 4, 8);
  obeys_the_laws<4, 8>(limits, 8);
}

TEST_CASE("orders in turns obey them too, one device and several rounds included") {
  obeys_the_laws<4, 8>(turns_of<Interleaved<1>>(4, 8), 8);
  obeys_the_laws<8, 8>(turns_of<Interleaved<2>>(4, 8), 8);
  obeys_the_laws<6, 2>(turns_of<Interleaved<3>>(2, 2), 2);
  obeys_the_laws<3, 5>(turns_of<Interleaved<3>>(1, 5), 5);
  obeys_the_laws<6, 9>(turns_of<Interleaved<2>>(3, 3), 3);  // three rounds
  obeys_the_laws<1, 4, 3>(turns_of<ZeroBubbleH1>(1, 4), 4);
  obeys_the_laws<4, 8, 3>(turns_of<ZeroBubbleH1>(4, 8), 8);
  obeys_the_laws<4, 2, 3>(turns_of<ZeroBubbleH1>(4, 2), 2);
  obeys_the_laws<3, 6, 3>(turns_of<ZeroBubbleH1>(3, 3), 3);
}

TEST_CASE("interleaved stages take their chunks in the order of Megatron") {
  const Layout two = turns_of<Interleaved<2>>(2, 4);
  CHECK(sequence_of<4, 4, 2>(two, 0) == "F0.0 F0.1 F1.0 F1.1 F0.2 B1.0 F0.3 B1.1 F1.2 B0.0 F1.3 B0.1 B1.2 B1.3 B0.2 B0.3 ");
  CHECK(sequence_of<4, 4, 2>(two, 1) == "F0.0 F0.1 F1.0 B1.0 F1.1 B1.1 F0.2 B0.0 F0.3 B0.1 F1.2 B1.2 F1.3 B1.3 B0.2 B0.3 ");
  CHECK(sequence_of<4, 4, 1>(two, 0) == "F0.0 F0.1 F1.0 F1.1 F0.2 F0.3 F1.2 F1.3 ");
}

TEST_CASE("ZB-H1 delays the weight part on position r by r micro-batches") {
  const Layout three = turns_of<ZeroBubbleH1>(3, 5);
  CHECK(sequence_of<3, 5, 3>(three, 0) == "F0 F1 F2 I0 W0 F3 I1 W1 F4 I2 W2 I3 W3 I4 W4 ");
  CHECK(sequence_of<3, 5, 3>(three, 1) == "F0 F1 I0 F2 I1 W0 F3 I2 W1 F4 I3 W2 I4 W3 W4 ");
  CHECK(sequence_of<3, 5, 3>(three, 2) == "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 F4 I4 W2 W3 W4 ");
}

TEST_CASE("devices that lie in another order take the turns of their position") {
  Layout moved = turns_of<ZeroBubbleH1>(3, 5);
  const int device[] = {2, 0, 1};
  for (int c = 0; c < 3; ++c) {
    moved.device_of_chunk[c] = device[c];
    moved.turns[device[c]] = ZeroBubbleH1::turns(c, 3);
  }
  obeys_the_laws<3, 5, 3>(moved, 5);
  for (int c = 0; c < 3; ++c) CHECK(sequence_of<3, 5, 3>(moved, device[c]) == sequence_of<3, 5, 3>(turns_of<ZeroBubbleH1>(3, 5), c));
}

TEST_CASE("GPipe ends a round before it begins the next") {
  const Layout layout = chunks_on({0, 1}, GPipe::rules(), 2, 2);
  const auto rounds = schedule_computes<2, 6, 2>(layout, 2);
  int ended = 0;
  for (const TimedCompute& c : rounds.computes) {
    if (c.chunk != 0) continue;
    if (c.op == ListOp::backward)
      ++ended;
    else
      CHECK(ended >= c.micro_batch / 2 * 2);
  }
  CHECK(ended == 6);
}

TEST_CASE("evaluation has forwards only, back to back") {
  constexpr Layout three = chunks_on({0, 1, 2}, OneFOneB::rules(), 1, 4);
  constexpr auto schedule = schedule_computes<3, 4, 1>(three, 4);
  static_assert(schedule.count == 12 && schedule.makespan == 3 + 4 - 1);
  for (const TimedCompute& c : schedule.computes) CHECK(c.op == ListOp::forward);
}

TEST_CASE("a schedule that is too long for a constant expression is refused with its numbers") {
  constexpr const Graph& graph = graph_of<tests::Chain>;
  Layout layout{graph};
  layout.chunk_count = 4;  // three boundaries: 8 computes and 24 lines of transfers a micro-batch
  for (int c = 0; c < 4; ++c) {
    layout.first_node[c + 1] = c + 1;
    layout.device_of_chunk[c] = c;
  }
  layout.first_node[4] = graph.node_count;
  BatchDivision batch;
  batch.micro_batches = 328;
  batch.rounds = 2;
  CHECK(check_schedule_length(graph, layout, batch).ok());  // 32 x 656 = 20,992
  batch.rounds = 3;
  const Diagnosis found = check_schedule_length(graph, layout, batch);
  CHECK(found.code == Code{'S', 7});
  CHECK(found.numbers[0] == 4);
  CHECK(found.numbers[1] == 984);
  CHECK(found.numbers[2] == 32 * 984);
  CHECK(found.words.view().find("use at most 656 micro-batches") != std::string_view::npos);
  layout.order = ZeroBubbleH1::rules();
  batch.rounds = 2;
  CHECK(check_schedule_length(graph, layout, batch).code == Code{'S', 7});  // 36 lines a micro-batch
  for (int c = 0; c < 4; ++c) layout.device_of_chunk[c] = 0;                // nothing is sent
  CHECK(check_schedule_length(graph, layout, batch).ok());                  // 12 x 656
  batch.rounds = 3;
  CHECK(check_schedule_length(graph, layout, batch).words.view().find("use at most 833 micro-batches") != std::string_view::npos);
}

TEST_CASE("a schedule of exactly as many instructions, or passes, as are checked at build is taken") {
  constexpr const Graph& graph = graph_of<tests::Chain>;
  Layout layout{graph};
  BatchDivision batch;
  batch.micro_batches = most_computes / 2;  // one chunk: a forward and a backward each
  CHECK(check_schedule_length(graph, layout, batch).ok());
  ++batch.micro_batches;
  CHECK(check_schedule_length(graph, layout, batch).words.view().find("10,002 passes, at most 10,000 are checked at build") !=
        std::string_view::npos);
  layout.chunk_count = 2;
  layout.first_node[1] = 1;
  layout.first_node[2] = graph.node_count;
  layout.device_of_chunk[1] = 1;
  batch.micro_batches = most_lines / 12;  // 4 passes and 8 lines of transfers each
  CHECK(check_schedule_length(graph, layout, batch).ok());
  ++batch.micro_batches;
  CHECK(check_schedule_length(graph, layout, batch).words.view().find("21,012 instructions, at most 21,000 are checked") != std::string_view::npos);
}
