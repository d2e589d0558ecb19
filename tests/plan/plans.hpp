// SPDX-License-Identifier: MIT
// Room: tests. Small models and plans that the tests of room plan lower, and copies of a Program that may be changed.
// Sees: graph, policies, plan.  Does not see: processes, kernels.
#pragma once

#include <initializer_list>
#include <vector>

#include "heddle/graph/layers/gelu.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/layers/tanh.hpp"
#include "heddle/graph/losses/cross_entropy.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/optimizers/adam.hpp"
#include "heddle/graph/optimizers/sgd.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/policy/data_parallel.hpp"
#include "heddle/policy/hybrid.hpp"
#include "heddle/policy/pipeline.hpp"
#include "heddle/policy/schedule/gpipe.hpp"
#include "heddle/policy/schedule/interleaved.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"
#include "heddle/policy/schedule/zero_bubble_h1.hpp"
#include "heddle/policy/single.hpp"
#include "plan/at_run_time.hpp"

namespace heddle::tests {

struct Mnist : Sequential<Named<"linear1", Linear<28 * 28, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};

using Part1 = Sequential<Linear<8, 6>, ReLU>;
using Part2 = Sequential<Linear<6, 6>, Tanh>;
using Part3 = Linear<6, 3>;
struct Chain : Sequential<Part1, Part2, Part3> {};  // 5 nodes
using Back = Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<1>>, Stage<Part3, On<0>>>;
template <class Order, int M> using BackIn = Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<1>>, Stage<Part3, On<0>>, Order, Microbatches<M>>;

using Block = Residual<Linear<6, 9>, GELU, Linear<9, 6>>;
struct Skips : Sequential<Linear<8, 6>, Block, Tanh, Block, Linear<6, 3>> {};  // 11 nodes

/// A layer whose gradient of a parameter is made of the parameter.
struct Squared {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Squared";
    leaf.spelled << "Squared";
    leaf.in = leaf.out = in;
    return leaf.with({Text<16>{"root"}, Shape{in.elements()}, Initial::ones});
  }
};
struct Blended : Sequential<Linear<8, 6>, Squared, Linear<6, 6>, Squared, Linear<6, 3>> {};  // units from the last layer on: 0 to 4

template <class Model, class Policy, class... Options> using Trained = Plan<Model, CrossEntropy, Adam, Batch<16, KeepLast>, Policy, Options...>;

/// Chunks that begin with these nodes, each on its device.
[[nodiscard]] constexpr Layout cut_at(const Graph& graph, std::initializer_list<int> begins, std::initializer_list<int> devices) {
  Layout layout{graph};
  layout.chunk_count = 0;
  int roles = 1;
  for (const int b : begins) layout.first_node[layout.chunk_count++] = b;
  layout.first_node[layout.chunk_count] = graph.node_count;
  int c = 0;
  for (const int d : devices) {
    layout.device_of_chunk[c++] = d;
    roles = d + 1 > roles ? d + 1 : roles;
  }
  layout.claim(axis::stage, roles);
  return layout;
}

/// What stands in a Copy where an entry was deleted: its view has one entry fewer there.
inline Entry no_entry() {
  Entry entry;
  entry.what = static_cast<BodyOp>(100);
  return entry;
}

/// A Program whose lists and bodies can be changed.
class Copy {
 public:
  explicit Copy(const Program& original) : program_(original) {
    for (int r = 0; r < original.roles; ++r)
      lists.emplace_back(original.instructions + original.lists[r].begin, original.instructions + original.lists[r].end);
    int last = 0;
    for (int c = 0; c < original.chunks; ++c)
      for (const IndexRange& body : {original.forward_bodies[c], original.backward_bodies[c], original.weight_bodies[c]})
        last = body.end > last ? body.end : last;
    entries.assign(original.entries, original.entries + last);
    buckets.assign(original.buckets, original.buckets + original.bucket_count + original.frozen_count);
  }
  /// Valid until the next change.
  Program view() {
    flat_.clear();
    ranges_.clear();
    for (const auto& list : lists) {
      const int begin = static_cast<int>(flat_.size());
      flat_.insert(flat_.end(), list.begin(), list.end());
      ranges_.push_back({begin, static_cast<int>(flat_.size())});
    }
    run_.clear();
    std::vector<int> left{0};  // entries before each
    for (const Entry& entry : entries) {
      if (entry.what != no_entry().what) run_.push_back(entry);
      left.push_back(static_cast<int>(run_.size()));
    }
    const auto bodies = [&](std::vector<IndexRange>& ranges, const IndexRange* of) {
      ranges.clear();
      for (int c = 0; c < program_.chunks; ++c)
        ranges.push_back({left[static_cast<std::size_t>(of[c].begin)], left[static_cast<std::size_t>(of[c].end)]});
      return ranges.data();
    };
    Program p = program_;
    p.instructions = flat_.data();
    p.lists = ranges_.data();
    p.entries = run_.data();
    p.forward_bodies = bodies(forward_, program_.forward_bodies);
    p.backward_bodies = bodies(backward_, program_.backward_bodies);
    p.weight_bodies = bodies(weight_, program_.weight_bodies);
    p.buckets = buckets.data();
    return p;
  }

  std::vector<std::vector<Instruction>> lists;  // by role
  std::vector<Entry> entries;
  std::vector<FlatBucket> buckets;

 private:
  Program program_;
  std::vector<Instruction> flat_;
  std::vector<Entry> run_;
  std::vector<IndexRange> ranges_, forward_, backward_, weight_;
};

}  // namespace heddle::tests
