// SPDX-License-Identifier: MIT
// Idle time and chunk passes in flight of every order, as sources.md#gpipe, #pipedream, #megatron-2021 and #zero-bubble give them, for all
// p <= 8, m <= 32 and v <= 4. Times are F = 1 and B = 2 = I + W for a chunk; a stage of v chunks takes v times as long.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "heddle/plan/lower/schedule.hpp"
#include "heddle/policy/schedule/gpipe.hpp"
#include "heddle/policy/schedule/interleaved.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"
#include "heddle/policy/schedule/zero_bubble_h1.hpp"

using namespace heddle;

namespace {

constexpr int F = forward_time;
constexpr int B = backward_time;
constexpr int I = input_time;
constexpr int W = weight_time;
constexpr int most_stages = 8;
constexpr int most_micro_batches = 32;
constexpr Graph no_graph{};

/// What one schedule of p stages, m micro-batches and v chunks a device does.
struct Row {
  int p = 0;
  int m = 0;
  int v = 1;
  int makespan = 0;
  std::vector<int> idle;       // by device
  std::vector<int> in_flight;  // by device: most chunk passes between the begin of forward and the end of what sums its gradients
  std::vector<int> warm_up;    // by device: forwards before the first backward, but for the one it belongs to
};

template <class Order> Layout layout_of(int p, int m) {
  constexpr bool turns = requires { Order::chunks_per_device; };
  Layout layout{no_graph};
  layout.claim(axis::stage, p);
  layout.chunk_count = p;
  layout.order = Order::rules();
  layout.micro_batches = m;
  if constexpr (turns) {
    layout.chunk_count = p * Order::chunks_per_device;
    for (int d = 0; d < p; ++d) layout.turns[d] = Order::turns(d, p);
  } else {
    for (int c = 0; c < p; ++c) layout.in_flight[c] = Order::in_flight(c, p, m);
  }
  for (int c = 0; c < layout.chunk_count; ++c) layout.device_of_chunk[c] = c % p;
  return layout;
}

Row measure(const Layout& layout, int p, int m) {
  const auto state = std::make_unique<ListScheduler<>>(layout, m, m, true);
  const auto devices = static_cast<std::size_t>(p);
  Row row{p, m, layout.chunk_count / p, 0, std::vector<int>(devices), std::vector<int>(devices), std::vector<int>(devices, -1)};
  std::vector<int> now(devices), forwards(devices);
  for (int n = passes(layout, true) * layout.chunk_count * m; n > 0; --n) {  // in order of their begin; a device runs one at a time
    REQUIRE(*std::min_element(state->next_key, state->next_key + p) != ListScheduler<>::none);  // else all wait, and nothing is left to pick
    const TimedCompute compute = state->pick();
    state->run(compute);
    const auto d = static_cast<std::size_t>(layout.device_of_chunk[compute.chunk]);
    row.makespan = std::max(row.makespan, compute.end);
    row.idle[d] -= compute.end - compute.begin;
    const bool passes_back = passes_gradients(compute.op);
    if (compute.op == ListOp::forward) ++now[d];
    row.in_flight[d] = std::max(row.in_flight[d], now[d]);
    if (compute.op == ListOp::backward || compute.op == ListOp::backward_weight) --now[d];
    if (passes_back && row.warm_up[d] < 0) row.warm_up[d] = forwards[d] - 1;
    forwards[d] += compute.op == ListOp::forward ? 1 : 0;
  }
  for (int& idle : row.idle) idle += row.makespan;
  return row;
}

template <class Order> void measure_all(std::vector<Row>& rows, int step_in_stages) {
  for (int p = 1; p <= most_stages; ++p)
    for (int m = step_in_stages > 0 ? p : 1; m <= most_micro_batches; m += step_in_stages > 0 ? p : 1)
      rows.push_back(measure(layout_of<Order>(p, m), p, m));
}
template <class Order> const std::vector<Row>& rows_of() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    measure_all<Order>(all, 0);
    return all;
  }();
  return rows;
}
/// m is a multiple of p; v = 1 .. 4.
const std::vector<Row>& interleaved_rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    measure_all<Interleaved<1>>(all, 1);
    measure_all<Interleaved<2>>(all, 1);
    measure_all<Interleaved<3>>(all, 1);
    measure_all<Interleaved<4>>(all, 1);
    return all;
  }();
  return rows;
}

struct Held {
  int checked = 0;
  int held = 0;
};

/// A formula gives one number for (row, device).
template <class Measured, class Formula> Held compare(const std::vector<Row>& rows, Measured measured, Formula formula) {
  Held count;
  for (const Row& row : rows)
    for (int r = 0; r < row.p; ++r) {
      ++count.checked;
      count.held += measured(row, static_cast<std::size_t>(r)) == formula(row, r) ? 1 : 0;
    }
  return count;
}

constexpr int all_rows = 32 * 36;                                                                    // 36 devices of p = 1 .. 8
constexpr int interleaved_all = 4 * (32 + 16 * 2 + 10 * 3 + 8 * 4 + 6 * 5 + 5 * 6 + 4 * 7 + 4 * 8);  // v x multiples of p x devices

void holds(const std::string& what, const Held& formula, const Held& mutant, int checked = all_rows) {
  MESSAGE(what << ": rows checked " << formula.checked << ", held " << formula.held << ", held by the mutant " << mutant.held);
  CHECK(formula.checked == checked);
  CHECK(formula.held == formula.checked);
  CHECK(mutant.held < mutant.checked);
}

const auto idle = [](const Row& row, std::size_t r) { return row.idle[r]; };
const auto makespan = [](const Row& row, std::size_t) { return row.makespan; };
const auto in_flight = [](const Row& row, std::size_t r) { return row.in_flight[r]; };
const auto warm_up = [](const Row& row, std::size_t r) { return row.warm_up[r]; };

}  // namespace

TEST_CASE("GPipe and 1F1B are idle (p-1)(F+B) on every device") {
  const auto formula = [](const Row& row, int) { return (row.p - 1) * (F + B); };
  const auto dropped_term = [](const Row& row, int) { return (row.p - 1) * F; };
  holds("idle, GPipe", compare(rows_of<GPipe>(), idle, formula), compare(rows_of<GPipe>(), idle, dropped_term));
  holds("idle, 1F1B", compare(rows_of<OneFOneB>(), idle, formula), compare(rows_of<OneFOneB>(), idle, dropped_term));
}

TEST_CASE("the makespan is m(F+B) and the idle time") {
  const auto formula = [](const Row& row, int) { return row.m * (F + B) + (row.p - 1) * (F + B); };
  const auto wrong_factor = [](const Row& row, int) { return row.m * (F + B) + row.p * (F + B); };
  holds("makespan, GPipe", compare(rows_of<GPipe>(), makespan, formula), compare(rows_of<GPipe>(), makespan, wrong_factor));
  holds("makespan, 1F1B", compare(rows_of<OneFOneB>(), makespan, formula), compare(rows_of<OneFOneB>(), makespan, wrong_factor));
}

TEST_CASE("GPipe keeps m micro-batches in flight, 1F1B keeps min(m, p-r) on device r") {
  const auto all = [](const Row& row, int) { return row.m; };
  const auto few = [](const Row& row, int r) { return std::min(row.m, row.p - r); };
  const auto one_less = [](const Row& row, int r) { return std::min(row.m, row.p - r - 1); };
  holds("in flight, GPipe", compare(rows_of<GPipe>(), in_flight, all), compare(rows_of<GPipe>(), in_flight, few));
  holds("in flight, 1F1B", compare(rows_of<OneFOneB>(), in_flight, few), compare(rows_of<OneFOneB>(), in_flight, one_less));
}

TEST_CASE("1F1B warms up with min(m, p-1-r) forwards before it alternates") {
  // With m <= p-1-r micro-batches there is no steady phase: the last forward of the warm-up precedes the first backward.
  const auto formula = [](const Row& row, int r) { return std::min(row.m - 1, row.p - 1 - r); };
  const auto mutant = [](const Row& row, int r) { return std::min(row.m, row.p - r); };
  holds("warm-up, 1F1B", compare(rows_of<OneFOneB>(), warm_up, formula), compare(rows_of<OneFOneB>(), warm_up, mutant));
}

TEST_CASE("interleaved stages are idle (p-1)(F+B)/v on every device, F and B of a stage of v chunks") {
  const auto formula = [](const Row& row, int) { return (row.p - 1) * (row.v * F + row.v * B) / row.v; };
  const auto undivided = [](const Row& row, int) { return (row.p - 1) * (row.v * F + row.v * B); };
  holds("idle, interleaved", compare(interleaved_rows(), idle, formula), compare(interleaved_rows(), idle, undivided), interleaved_all);
}

TEST_CASE("interleaved stages keep min(mv, 2(p-1) + (v-1)p + 1) chunk passes in flight on the first device, two fewer on each next one") {
  const auto formula = [](const Row& row, int r) { return std::min(row.m * row.v, 2 * (row.p - 1 - r) + (row.v - 1) * row.p + 1); };
  const auto dropped_term = [](const Row& row, int r) { return std::min(row.m * row.v, 2 * (row.p - 1 - r) + 1); };
  const auto one_way = [](const Row& row, int r) { return std::min(row.m * row.v, row.p - 1 - r + (row.v - 1) * row.p + 1); };
  holds("in flight, interleaved", compare(interleaved_rows(), in_flight, formula), compare(interleaved_rows(), in_flight, dropped_term),
        interleaved_all);
  CHECK(compare(interleaved_rows(), in_flight, one_way).held < interleaved_all);
}

TEST_CASE("interleaved stages warm up with min(mv, 2(p-1-r) + (v-1)p) forwards, as Megatron counts them") {
  const auto formula = [](const Row& row, int r) { return std::min(row.m * row.v - 1, 2 * (row.p - 1 - r) + (row.v - 1) * row.p); };
  const auto not_interleaved = [](const Row& row, int r) { return std::min(row.m * row.v - 1, row.p - 1 - r); };
  holds("warm-up, interleaved", compare(interleaved_rows(), warm_up, formula), compare(interleaved_rows(), warm_up, not_interleaved),
        interleaved_all);
}

TEST_CASE("ZB-H1 is idle (p-1)(F+I-W) on every device, and a unit more for each micro-batch fewer than stages") {
  // With m < p the first device has nothing to fill the time until its first gradient comes back: p - m forwards are missing.
  const auto formula = [](const Row& row, int) { return (row.p - 1) * (F + I - W) + std::max(0, row.p - row.m) * F; };
  const auto without_filling = [](const Row& row, int) { return (row.p - 1) * (F + I); };
  const auto paper = [](const Row& row, int) { return (row.p - 1) * (F + I - W); };
  holds("idle, ZB-H1", compare(rows_of<ZeroBubbleH1>(), idle, formula), compare(rows_of<ZeroBubbleH1>(), idle, without_filling));
  std::vector<Row> enough;
  for (const Row& row : rows_of<ZeroBubbleH1>())
    if (row.m >= row.p) enough.push_back(row);
  const Held held = compare(enough, idle, paper);
  CHECK(held.checked == all_rows - (1 * 2 + 2 * 3 + 3 * 4 + 4 * 5 + 5 * 6 + 6 * 7 + 7 * 8));
  CHECK(held.held == held.checked);
}

namespace {

/// Idle time of a device under ZB-H1 if a chunk takes other times. An order in turns is the same for all times, so its computes are timed again.
int zb_h1_idle(int p, int m, int forward, int input, int weight) {
  const Layout layout = layout_of<ZeroBubbleH1>(p, m);
  const auto state = std::make_unique<ListScheduler<>>(layout, m, m, true);
  const auto cell = [m](int stage, int micro_batch) { return static_cast<std::size_t>(stage * m + micro_batch); };
  std::vector<int> free_at(static_cast<std::size_t>(p)), forward_end(cell(p, 0)), input_end(cell(p, 0));
  for (int n = 3 * p * m; n > 0; --n) {
    const TimedCompute compute = state->pick();
    state->run(compute);
    const int s = compute.chunk;
    int& now = free_at[static_cast<std::size_t>(s)];
    if (compute.op == ListOp::forward) {
      if (s > 0) now = std::max(now, forward_end[cell(s - 1, compute.micro_batch)]);
      forward_end[cell(s, compute.micro_batch)] = now += forward;
    } else if (compute.op == ListOp::backward_input) {
      if (s + 1 < p) now = std::max(now, input_end[cell(s + 1, compute.micro_batch)]);
      input_end[cell(s, compute.micro_batch)] = now += input;
    } else {
      now += weight;
    }
  }
  return *std::max_element(free_at.begin(), free_at.end()) - m * (forward + input + weight);
}

}  // namespace

TEST_CASE("ZB-H1 is idle (p-1) max(F, I, F+I-W) where the parts take other times: F+I-W of the paper holds while W is the least of them") {
  Held formula;
  Held paper;
  const auto count = [](Held& held, bool holds) {
    ++held.checked;
    held.held += holds ? 1 : 0;
  };
  for (int p = 1; p <= most_stages; ++p)
    for (int m = p; m <= most_micro_batches; m += 3)
      for (int f = 50; f <= 200; f *= 2)
        for (int i = 50; i <= 200; i *= 2)
          for (int w = 0; w <= 200; w += 50) {
            const int measured = zb_h1_idle(p, m, f, i, w);
            const bool least = w <= std::min(f, i);
            count(formula, measured == (p - 1) * std::max({f, i, f + i - w}));
            count(paper, measured == (p - 1) * (f + i - w));
            if (least) CHECK(measured == (p - 1) * (f + i - w));
          }
  holds("idle, ZB-H1 of other times", formula, paper, formula.checked);
  CHECK(formula.checked > 3000);
  CHECK(zb_h1_idle(4, 8, 100, 100, 150) == 300);
}

TEST_CASE("ZB-H1 keeps min(m, p) micro-batches in flight on every device, counted until their parameters' gradients are made") {
  const auto formula = [](const Row& row, int) { return std::min(row.m, row.p); };
  const auto as_one_f_one_b = [](const Row& row, int r) { return std::min(row.m, row.p - r); };
  holds("in flight, ZB-H1", compare(rows_of<ZeroBubbleH1>(), in_flight, formula), compare(rows_of<ZeroBubbleH1>(), in_flight, as_one_f_one_b));
}

TEST_CASE("ZB-H1 is never slower than 1F1B, and faster by 2(p-1)W from p micro-batches on") {
  const auto saved = [](const Row& row, int) {
    return row.m * (F + B) + (row.p - 1) * (F + B) - 2 * (row.p - 1) * W + std::max(0, row.p - row.m) * F;
  };
  const auto one_too_many = [](const Row& row, int) { return row.m * (F + B) + (row.p - 1) * (F + B) - 2 * row.p * W; };
  holds("makespan, ZB-H1", compare(rows_of<ZeroBubbleH1>(), makespan, saved), compare(rows_of<ZeroBubbleH1>(), makespan, one_too_many));
}

TEST_CASE("fewer chunk passes in flight, or a weight part delayed less, cost time") {
  const auto slower = [](const Layout& layout, Layout changed) { CHECK(measure(changed, 4, 8).makespan > measure(layout, 4, 8).makespan); };
  Layout one = layout_of<OneFOneB>(4, 8);
  --one.in_flight[0];
  slower(layout_of<OneFOneB>(4, 8), one);
  Layout two = layout_of<Interleaved<2>>(4, 8);
  two.turns[0].in_flight -= 2;  // 3 fewer are too few: then no backward ever begins
  slower(layout_of<Interleaved<2>>(4, 8), two);
  Layout three = layout_of<ZeroBubbleH1>(4, 8);
  --three.turns[0].in_flight;
  slower(layout_of<ZeroBubbleH1>(4, 8), three);
  Layout four = layout_of<ZeroBubbleH1>(4, 8);
  four.turns[3].delayed = 0;
  slower(layout_of<ZeroBubbleH1>(4, 8), four);
}
