// SPDX-License-Identifier: MIT
// Room: tests. Runs the bodies of a Program with words instead of numbers: what each place holds, and what a gradient is a sum of.
// Sees: plan.  Does not see: processes, kernels.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <tuple>

#include "heddle/plan/program/program.hpp"

namespace heddle::tests {

/// Value v is the word "v3"; the gradient that leaf n gives to its input is "t3"; sums keep their brackets.
class Symbols {
 public:
  explicit Symbols(const Program& program) : p_(program), g_(*program.graph) {}

  void forward(int chunk) {
    forget_scratch(chunk);
    for (int e = p_.forward_bodies[chunk].begin; e < p_.forward_bodies[chunk].end; ++e) forward(chunk, p_.entries[e]);
    send(chunk, false);
  }
  void backward(int chunk) {
    forget_scratch(chunk);
    for (int e = p_.backward_bodies[chunk].begin; e < p_.backward_bodies[chunk].end; ++e) backward(chunk, p_.entries[e]);
    send(chunk, true);
  }
  /// Runs after other micro-batches would have used the scratch: what a weight part reads must still be in its slot.
  void weights(int chunk) {
    forget_scratch(chunk);
    for (int e = p_.weight_bodies[chunk].begin; e < p_.weight_bodies[chunk].end; ++e) backward(chunk, p_.entries[e]);
  }
  int leaves_run = 0;  ///< forward
  int leaves_again = 0;
  int weights_made = 0;
  int leaves_back = 0;
  int losses = 0;

  /// The gradient of value v as one device sums it: later readers first.
  [[nodiscard]] std::string gradient(int value) const {
    if (value == g_.node_count) return "loss";
    std::string sum;
    for (int n = g_.node_count - 1; n >= 0; --n)
      for (int k = g_.nodes[n].operand_count - 1; k >= 0; --k) {
        if (g_.nodes[n].operands[k] != value) continue;
        const std::string term = g_.adds(n) || g_.leaf(n).reshapes ? gradient(n + 1) : "t" + std::to_string(n);
        sum = sum.empty() ? term : "(" + sum + "+" + term + ")";
      }
    return sum;
  }

 private:
  using At = std::tuple<int, int, std::int64_t>;  // device, pool, offset

  /// A reshape gives the value that it takes.
  [[nodiscard]] std::string word(int value) const {
    while (value > 0 && g_.leaf(value - 1).reshapes) value = g_.nodes[value - 1].operands[0];
    return "v" + std::to_string(value);
  }
  std::string& at(int chunk, const Place& place) { return memory_[{p_.device_of_chunk[chunk], place.pool, place.offset}]; }
  void forget_scratch(int chunk) {
    for (auto& [where, what] : memory_)
      if (std::get<0>(where) == p_.device_of_chunk[chunk] && std::get<1>(where) == Place::scratch) what.clear();
  }
  void send(int chunk, bool gradient) {
    for (int t = 0; t < p_.transfer_count; ++t) {
      const Transfer& transfer = p_.transfers[t];
      if (transfer.from_chunk != chunk || transfer.gradient != gradient) continue;
      const std::string sent = at(chunk, transfer.source);
      CHECK(sent == (gradient ? sent : word(transfer.value)));
      CHECK_FALSE(sent.empty());
      at(transfer.to_chunk, transfer.target) = sent;
    }
  }
  void forward(int chunk, const Entry& entry) {
    switch (entry.what) {
      case BodyOp::load_input: at(chunk, entry.d) = "v0"; break;
      case BodyOp::load_targets: at(chunk, entry.d) = "targets"; break;
      case BodyOp::copy: at(chunk, entry.d) = std::string{at(chunk, entry.a)}; break;
      case BodyOp::add: {
        const Node& node = g_.nodes[entry.node];
        CHECK(at(chunk, entry.a) == word(node.operands[1]));  // x + layers(x)
        CHECK(at(chunk, entry.b) == word(node.operands[0]));
        at(chunk, entry.d) = word(entry.node + 1);
        break;
      }
      case BodyOp::leaf_forward:
        CHECK(at(chunk, entry.a) == word(g_.nodes[entry.node].operands[0]));
        at(chunk, entry.d) = word(entry.node + 1);
        ++leaves_run;
        break;
      case BodyOp::loss:
        CHECK(at(chunk, entry.a) == word(g_.node_count));
        CHECK(at(chunk, entry.b) == "targets");
        if (entry.d.set()) at(chunk, entry.d) = "loss";
        ++losses;
        break;
      case BodyOp::store_output: CHECK(at(chunk, entry.a) == word(g_.node_count)); break;
      default: FAIL("an entry of a backward stands in a forward body"); break;
    }
  }
  void backward(int chunk, const Entry& entry) {
    if (entry.what == BodyOp::reduce_start) return;
    if (entry.what == BodyOp::leaf_forward || (entry.what == BodyOp::add && entry.node >= 0)) {  // runs again
      const int before = leaves_run;
      forward(chunk, entry);
      leaves_again += leaves_run - before;
      leaves_run = before;
    } else if (entry.what == BodyOp::add) {
      const std::string sum = "(" + at(chunk, entry.a) + "+" + at(chunk, entry.b) + ")";
      at(chunk, entry.d) = sum;
    } else if (entry.what == BodyOp::copy) {
      at(chunk, entry.d) = std::string{at(chunk, entry.a)};
    } else {
      const bool weights = entry.what == BodyOp::leaf_backward_weight;
      REQUIRE((weights || entry.what == BodyOp::leaf_backward || entry.what == BodyOp::leaf_backward_input));
      const Saves saves = g_.leaf(entry.node).saves;
      if (saves == Saves::input || saves == Saves::both) CHECK(at(chunk, entry.a) == word(g_.nodes[entry.node].operands[0]));
      if (saves == Saves::output || saves == Saves::both) CHECK(at(chunk, entry.b) == word(entry.node + 1));
      CHECK(at(chunk, entry.c) == gradient(entry.node + 1));
      if (weights) CHECK_FALSE(entry.d.set());
      if (entry.d.set()) at(chunk, entry.d) = "t" + std::to_string(entry.node);
      if (!weights || g_.nodes[entry.node].operands[0] <= g_.last_untrained()) ++leaves_back;  // the first layer has a weight part alone
      if (entry.what != BodyOp::leaf_backward_input && g_.nodes[entry.node].parameter_count > 0) ++weights_made;
    }
  }

  const Program& p_;
  const Graph& g_;
  std::map<At, std::string> memory_;
};

/// Forward through all chunks, then backward; every read is checked on the way.
inline Symbols follow(const Program& program) {
  Symbols symbols{program};
  for (int c = 0; c < program.chunks; ++c) symbols.forward(c);
  for (int c = program.chunks - 1; c >= 0 && program.training; --c) symbols.backward(c);
  for (int c = program.chunks - 1; c >= 0 && program.splits_backward && program.training; --c) symbols.weights(c);
  int leaves = 0;
  int with_parameters = 0;
  for (int n = 0; n < program.graph->node_count; ++n) with_parameters += program.graph->nodes[n].parameter_count > 0 ? 1 : 0;
  CHECK(symbols.weights_made == (program.training ? with_parameters : 0));
  for (int n = 0; n < program.graph->node_count; ++n) leaves += program.graph->adds(n) || program.graph->leaf(n).reshapes ? 0 : 1;
  CHECK(symbols.leaves_run == leaves);
  int needed = 0;  // before the first parameter a gradient is made only if a cut asks for it
  for (int n = program.graph->last_untrained(); n < program.graph->node_count; ++n)
    needed += program.graph->adds(n) || program.graph->leaf(n).reshapes ? 0 : 1;
  CHECK(symbols.leaves_back >= (program.training ? needed : 0));
  CHECK(symbols.leaves_back <= (program.training ? leaves : 0));
  CHECK(symbols.losses == 1);
  return symbols;
}

}  // namespace heddle::tests
