// SPDX-License-Identifier: MIT
// Idle time and micro-batches in flight of GPipe and 1F1B, as sources.md#gpipe and sources.md#pipedream give them.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "heddle/plan/schedule.hpp"
#include "heddle/policy/schedule/gpipe.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"

using namespace heddle;

namespace {

constexpr int F = forward_time;
constexpr int B = backward_time;
constexpr Graph no_graph{};

/// What one schedule of p stages and m micro-batches does.
struct Row {
  int p = 0;
  int m = 0;
  int makespan = 0;
  std::vector<int> idle;       // by device
  std::vector<int> in_flight;  // by device: most micro-batches between the begin of forward and the end of backward
  std::vector<int> warm_up;    // by device: forwards before the first backward, but for the one it belongs to
};

template <class Order> Layout layout_of(int p, int m) {
  Layout layout{no_graph};
  layout.claim(axis::stage, p);
  layout.chunk_count = p;
  layout.order = Order::rules();
  layout.micro_batches = m;
  for (int c = 0; c < p; ++c) {
    layout.device_of_chunk[c] = c;
    layout.in_flight[c] = Order::in_flight(c, p, m);
  }
  return layout;
}

template <int P, int M> Row measure(const Layout& layout) {
  const auto schedule = schedule_computes<P, M, true>(layout, M);
  Row row{P, M, schedule.makespan, std::vector<int>(P, schedule.makespan), std::vector<int>(P), std::vector<int>(P, -1)};
  std::vector<int> now(P), forwards(P);
  for (const TimedCompute& compute : schedule.computes) {  // in order of their begin; a device runs one at a time
    const auto d = static_cast<std::size_t>(layout.device_of_chunk[compute.chunk]);
    row.idle[d] -= compute.end - compute.begin;
    now[d] += compute.backward ? -1 : 1;
    row.in_flight[d] = std::max(row.in_flight[d], now[d]);
    if (compute.backward && row.warm_up[d] < 0) row.warm_up[d] = forwards[d] - 1;
    forwards[d] += compute.backward ? 0 : 1;
  }
  return row;
}

template <class Order, int P, int... Ms> void measure_all(std::vector<Row>& rows, std::integer_sequence<int, Ms...>) {
  (rows.push_back(measure<P, Ms>(layout_of<Order>(P, Ms))), ...);
}

/// p = 1 .. 8, m = 1 .. 32 in steps that include multiples of p and what lies beside them.
template <class Order> const std::vector<Row>& rows_of() {
  using Ms = std::integer_sequence<int, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 31, 32>;
  static const std::vector<Row> rows = [] {
    std::vector<Row> all;
    measure_all<Order, 1>(all, Ms{});
    measure_all<Order, 2>(all, Ms{});
    measure_all<Order, 3>(all, Ms{});
    measure_all<Order, 4>(all, Ms{});
    measure_all<Order, 5>(all, Ms{});
    measure_all<Order, 6>(all, Ms{});
    measure_all<Order, 7>(all, Ms{});
    measure_all<Order, 8>(all, Ms{});
    return all;
  }();
  return rows;
}

struct Held {
  int checked = 0;
  int held = 0;
};

/// A formula gives one number for (p, m, device).
template <class Measured, class Formula> Held compare(const std::vector<Row>& rows, Measured measured, Formula formula) {
  Held count;
  for (const Row& row : rows)
    for (int r = 0; r < row.p; ++r) {
      ++count.checked;
      count.held += measured(row, static_cast<std::size_t>(r)) == formula(row.p, row.m, r) ? 1 : 0;
    }
  return count;
}

void holds(const std::string& what, const Held& formula, const Held& mutant) {
  MESSAGE(what << ": rows checked " << formula.checked << ", held " << formula.held << ", held by the mutant " << mutant.held);
  CHECK(formula.checked == 15 * 36);
  CHECK(formula.held == formula.checked);
  CHECK(mutant.held < mutant.checked);
}

const auto idle = [](const Row& row, std::size_t r) { return row.idle[r]; };
const auto makespan = [](const Row& row, std::size_t) { return row.makespan; };
const auto in_flight = [](const Row& row, std::size_t r) { return row.in_flight[r]; };
const auto warm_up = [](const Row& row, std::size_t r) { return row.warm_up[r]; };

}  // namespace

TEST_CASE("GPipe and 1F1B are idle (p-1)(F+B) on every device") {
  const auto formula = [](int p, int, int) { return (p - 1) * (F + B); };
  const auto dropped_term = [](int p, int, int) { return (p - 1) * F; };
  holds("idle, GPipe", compare(rows_of<GPipe>(), idle, formula), compare(rows_of<GPipe>(), idle, dropped_term));
  holds("idle, 1F1B", compare(rows_of<OneFOneB>(), idle, formula), compare(rows_of<OneFOneB>(), idle, dropped_term));
}

TEST_CASE("the makespan is m(F+B) and the idle time") {
  const auto formula = [](int p, int m, int) { return m * (F + B) + (p - 1) * (F + B); };
  const auto wrong_factor = [](int p, int m, int) { return m * (F + B) + p * (F + B); };
  holds("makespan, GPipe", compare(rows_of<GPipe>(), makespan, formula), compare(rows_of<GPipe>(), makespan, wrong_factor));
  holds("makespan, 1F1B", compare(rows_of<OneFOneB>(), makespan, formula), compare(rows_of<OneFOneB>(), makespan, wrong_factor));
}

TEST_CASE("GPipe keeps m micro-batches in flight, 1F1B keeps min(m, p-r) on device r") {
  const auto all = [](int, int m, int) { return m; };
  const auto few = [](int p, int m, int r) { return std::min(m, p - r); };
  const auto one_less = [](int p, int m, int r) { return std::min(m, p - r - 1); };
  holds("in flight, GPipe", compare(rows_of<GPipe>(), in_flight, all), compare(rows_of<GPipe>(), in_flight, few));
  holds("in flight, 1F1B", compare(rows_of<OneFOneB>(), in_flight, few), compare(rows_of<OneFOneB>(), in_flight, one_less));
}

TEST_CASE("1F1B warms up with min(m, p-1-r) forwards before it alternates") {
  // With m <= p-1-r micro-batches there is no steady phase: the last forward of the warm-up precedes the first backward.
  const auto formula = [](int p, int m, int r) { return std::min(m - 1, p - 1 - r); };
  const auto mutant = [](int p, int m, int r) { return std::min(m, p - r); };
  holds("warm-up, 1F1B", compare(rows_of<OneFOneB>(), warm_up, formula), compare(rows_of<OneFOneB>(), warm_up, mutant));
}

TEST_CASE("one micro-batch less in flight on the first device costs time") {
  Layout layout = layout_of<OneFOneB>(4, 8);
  const int whole = measure<4, 8>(layout).makespan;
  --layout.in_flight[0];
  CHECK(measure<4, 8>(layout).makespan > whole);
}
