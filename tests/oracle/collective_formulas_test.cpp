// SPDX-License-Identifier: MIT
// Time of collectives under the alpha-beta-gamma model against the closed forms of sources.md#allreduce, for all numbers of ranks up to 64. Each form
// has a mutant, a dropped term or a wrong factor, that must not hold.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "heddle/cost/collective_time.hpp"

using namespace heddle;

namespace {

constexpr double alpha = 5e-6, beta = 2e-9, gamma_ = 3e-10;  // of sizes at which each term matters
constexpr double sizes[] = {64, 4096, 1e6, 25e6};

Machine machine_of(CollectiveAlgorithm algorithm) {
  Machine machine;
  machine.alpha = alpha;
  machine.beta = beta;
  machine.gamma = gamma_;
  machine.collectives = algorithm;
  return machine;
}
double measured(CollectiveAlgorithm algorithm, CollectiveKind kind, int p, double n) {
  const Machine machine = machine_of(algorithm);
  return collective_cost(machine, spread_of(machine, Mesh{{axis::data}, {p}, 1}, axis::data), kind, n).seconds;
}
bool same(double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); }

/// Rows are numbers of ranks from 2 to 64, of which `counts` says which the form is for, times four sizes.
template <class Counts, class Form, class Mutant>
void holds(const std::string& what, CollectiveAlgorithm algorithm, CollectiveKind kind, Counts counts, Form form, Mutant mutant) {
  int checked = 0, held = 0, by_mutant = 0;
  for (int p = 2; p <= 64; ++p)
    for (const double n : sizes) {
      if (!counts(p)) continue;
      ++checked;
      held += same(measured(algorithm, kind, p, n), form(p, n)) ? 1 : 0;
      by_mutant += same(measured(algorithm, kind, p, n), mutant(p, n)) ? 1 : 0;
    }
  MESSAGE(what << ": rows checked " << checked << ", held " << held << ", held by the mutant " << by_mutant);
  CHECK(checked >= 6 * 4);
  CHECK(held == checked);
  CHECK(by_mutant < checked);
}

const auto any = [](int) { return true; };
const auto power = [](int p) { return (p & (p - 1)) == 0; };
double lg(int p) { return std::log2(p); }

}  // namespace

TEST_CASE("a ring all-reduce takes 2(p-1) alpha + 2n(p-1)/p beta + n(p-1)/p gamma") {
  holds(
      "ring all-reduce", CollectiveAlgorithm::ring, CollectiveKind::all_reduce, any,
      [](int p, double n) { return 2 * (p - 1) * alpha + 2 * n * (p - 1) / p * beta + n * (p - 1) / p * gamma_; },
      [](int p, double n) { return 2 * (p - 1) * alpha + 2 * n * beta + n * (p - 1) / p * gamma_; });
}

TEST_CASE("recursive doubling takes lg p (alpha + n beta + n gamma)") {
  holds(
      "recursive doubling", CollectiveAlgorithm::recursive_doubling, CollectiveKind::all_reduce, power,
      [](int p, double n) { return lg(p) * (alpha + n * beta + n * gamma_); },
      [](int p, double n) { return lg(p) * (alpha + n / p * beta + n * gamma_); });
}

TEST_CASE("halving and doubling takes 2 lg p alpha + 2n(p-1)/p beta + n(p-1)/p gamma") {
  holds(
      "halving and doubling", CollectiveAlgorithm::halving_doubling, CollectiveKind::all_reduce, power,
      [](int p, double n) { return 2 * lg(p) * alpha + 2 * n * (p - 1) / p * beta + n * (p - 1) / p * gamma_; },
      [](int p, double n) { return 2 * (p - 1) * alpha + 2 * n * (p - 1) / p * beta + n * (p - 1) / p * gamma_; });
}

TEST_CASE("other numbers than powers of two hand over and fetch n bytes more: 2 alpha + 2n beta + n gamma beside those of the power below") {
  const auto below = [](int p) {
    int power_below = 1;
    while (2 * power_below <= p) power_below *= 2;
    return power_below;
  };
  const auto not_power = [](int p) { return !power(p); };
  const auto doubling = [&](int p, double n) { return lg(below(p)) * (alpha + n * beta + n * gamma_); };
  holds(
      "recursive doubling, folded", CollectiveAlgorithm::recursive_doubling, CollectiveKind::all_reduce, not_power,
      [&](int p, double n) { return doubling(p, n) + 2 * alpha + 2 * n * beta + n * gamma_; },
      [&](int p, double n) { return doubling(p, n) + alpha + n * beta + n * gamma_; });
  const auto halving = [&](int p, double n) {
    const int q = below(p);
    return 2 * lg(q) * alpha + 2 * n * (q - 1) / q * beta + n * (q - 1) / q * gamma_;
  };
  holds(
      "halving and doubling, folded", CollectiveAlgorithm::halving_doubling, CollectiveKind::all_reduce, not_power,
      [&](int p, double n) { return halving(p, n) + 2 * alpha + 2 * n * beta + n * gamma_; },
      [&](int p, double n) { return halving(p, n) + 2 * alpha + 2 * n * beta; });
}

TEST_CASE("a ring reduce-scatter takes (p-1) alpha + n(p-1)/p (beta + gamma), an all-gather the same without gamma") {
  const auto gather = [](int p, double n) { return (p - 1) * alpha + n * (p - 1) / p * beta; };
  const auto scatter = [&](int p, double n) { return gather(p, n) + n * (p - 1) / p * gamma_; };
  holds("ring all-gather", CollectiveAlgorithm::ring, CollectiveKind::all_gather, any, gather, scatter);
  holds("ring reduce-scatter", CollectiveAlgorithm::ring, CollectiveKind::reduce_scatter, any, scatter, gather);
}

TEST_CASE("by halving or doubling alone they take lg p alpha + n(p-1)/p beta, and the sum its gamma") {
  const auto gather = [](int p, double n) { return lg(p) * alpha + n * (p - 1) / p * beta; };
  const auto scatter = [&](int p, double n) { return gather(p, n) + n * (p - 1) / p * gamma_; };
  const auto all_of_it = [](int p, double n) { return lg(p) * alpha + n * beta; };
  holds("doubling all-gather", CollectiveAlgorithm::halving_doubling, CollectiveKind::all_gather, power, gather, all_of_it);
  holds("halving reduce-scatter", CollectiveAlgorithm::halving_doubling, CollectiveKind::reduce_scatter, power, scatter, gather);
}

TEST_CASE("a hierarchical all-reduce is a ring of k inside a node and one of m on an k-th of the bytes between nodes, two halves of each") {
  constexpr double inner_alpha = 1e-6, inner_beta = 1e-10;
  int checked = 0, held = 0, by_mutant = 0;
  for (int k = 2; k <= 16; k *= 2)
    for (int m = 2; m <= 32; ++m)
      for (const double n : sizes) {
        Machine machine = machine_of(CollectiveAlgorithm::hierarchical);
        machine.levels[0] = {k, inner_alpha, inner_beta};
        const Mesh mesh{{axis::data}, {k * m}, 1};
        const double found = collective_cost(machine, spread_of(machine, mesh, axis::data), CollectiveKind::all_reduce, n).seconds;
        const double inside = 2 * (k - 1) * inner_alpha + 2 * n * (k - 1) / k * inner_beta + n * (k - 1) / k * gamma_;
        const auto between = [&](double bytes) { return 2 * (m - 1) * alpha + 2 * bytes * (m - 1) / m * beta + bytes * (m - 1) / m * gamma_; };
        ++checked;
        held += same(found, inside + between(n / k)) ? 1 : 0;
        by_mutant += same(found, inside + between(n)) ? 1 : 0;
      }
  MESSAGE("hierarchical: rows checked " << checked << ", held " << held << ", held by the mutant " << by_mutant);
  CHECK(held == checked);
  CHECK(by_mutant == 0);
}

TEST_CASE("bytes sent are the bus factors of nccl-tests: 2(p-1)/p for an all-reduce, (p-1)/p for either half") {
  int checked = 0, held = 0, by_mutant = 0;
  for (const CollectiveAlgorithm algorithm : {CollectiveAlgorithm::ring, CollectiveAlgorithm::halving_doubling, CollectiveAlgorithm::hierarchical})
    for (int p = 2; p <= 64; p *= 2)
      for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather}) {
        const Machine machine = machine_of(algorithm);
        const double sent = collective_cost(machine, spread_of(machine, Mesh{{axis::data}, {p}, 1}, axis::data), kind, 1e6).sent();
        const double half = 1e6 * (p - 1) / p;
        ++checked;
        held += same(sent, kind == CollectiveKind::all_reduce ? 2 * half : half) ? 1 : 0;
        by_mutant += same(sent, 2 * half) ? 1 : 0;
      }
  MESSAGE("bus factors: rows checked " << checked << ", held " << held << ", held by the mutant " << by_mutant);
  CHECK(held == checked);
  CHECK(by_mutant < checked);
}
