// SPDX-License-Identifier: MIT
#include "heddle/plan/read/program_hash.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "heddle/plan/options/groups.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {
using One = Trained<Chain, Single>;
using Two = Trained<Chain, DataParallel<2>>;
}  // namespace

TEST_CASE("equal programs have equal numbers, other programs, plans and directions have others") {
  static_assert(program_hash(One::training) == program_hash(Trained<Chain, Single>::training));  // a constant expression
  const std::set<std::uint64_t> different{program_hash(One::training),
                                          program_hash(One::evaluation),
                                          program_hash(Two::training),
                                          program_hash(Trained<Chain, DataParallel<4>>::training),
                                          program_hash(training_of<Trained<Chain, Single, Grain<2>>>()),
                                          program_hash(training_of<Trained<Chain, BackIn<GPipe, 4>>>()),
                                          program_hash(training_of<Trained<Chain, BackIn<OneFOneB, 4>>>()),
                                          program_hash(training_of<Trained<Skips, Single>>()),
                                          program_hash(training_of<Trained<Mnist, Single>>())};
  CHECK(different.size() == 9);
}

TEST_CASE("one changed line of a list, of a body or of a bucket is another program") {
  const std::uint64_t before = program_hash(training_of<Two>());
  Copy copy{training_of<Two>()};
  CHECK(program_hash(copy.view()) == before);
  copy.lists[0].back().bucket = 7;
  CHECK(program_hash(copy.view()) != before);
  Copy entry{training_of<Two>()};
  entry.entries.front().features += 1;
  CHECK(program_hash(entry.view()) != before);
  Copy type{training_of<Two>()};
  type.entries.front().type = ElementType::uint8;
  CHECK(program_hash(type.view()) != before);
  Copy fused{training_of<Two>()};
  fused.entries.front().fused = !fused.entries.front().fused;
  CHECK(program_hash(fused.view()) != before);
  Copy bucket{training_of<Two>()};
  bucket.buckets.front().elements += 16;
  CHECK(program_hash(bucket.view()) != before);
  Program kept = training_of<Two>();
  kept.storage.keeps = true;
  CHECK(program_hash(kept) != before);
}

TEST_CASE("the type of the elements that a layer takes is part of a Program") {
  const Graph& graph = *training_of<One>().graph;
  std::vector<TracedLeaf> leaves{graph.leaves, graph.leaves + graph.leaf_count};
  leaves[0].leaf.in.type = ElementType::int32;
  Graph other = graph;
  other.leaves = leaves.data();
  Program program = training_of<One>();
  program.graph = &other;
  CHECK(program_hash(program) != program_hash(training_of<One>()));
}

TEST_CASE("what a layer tracks, of how many values and how fast, and that it normalises rows together is part of a Program") {
  const Graph& graph = *training_of<One>().graph;
  const auto hash_with = [&](auto change) {
    std::vector<TracedLeaf> leaves{graph.leaves, graph.leaves + graph.leaf_count};
    change(leaves[0].leaf);
    Graph other = graph;
    other.leaves = leaves.data();
    Program program = training_of<One>();
    program.graph = &other;
    return program_hash(program);
  };
  const std::uint64_t seen[] = {program_hash(training_of<One>()),
                                hash_with([](Leaf& leaf) { leaf.parameters[1].tracks = 1; }),
                                hash_with([](Leaf& leaf) { leaf.parameters[1].tracks = 2; }),
                                hash_with([](Leaf& leaf) { leaf.parameters[0].tracks = 1; }),
                                hash_with([](Leaf& leaf) {
                                  leaf.parameters[1].tracks = 1;
                                  leaf.momentum = 0.5F;
                                }),
                                hash_with([](Leaf& leaf) { leaf.rows_together = 1; })};
  for (const std::uint64_t& a : seen)
    for (const std::uint64_t& b : seen) CHECK((&a == &b) == (a == b));
}

TEST_CASE("groups of parameters and their pieces are part of a Program") {
  using Grouped = Trained<Chain, Single, NoDecay<>>;
  const std::uint64_t before = program_hash(training_of<Grouped>());
  CHECK(before != program_hash(training_of<One>()));
  CHECK(before != program_hash(training_of<Trained<Chain, Single, NoDecay<"0.0.bias">>>()));
  CHECK(before == program_hash(training_of<Trained<Chain, Single, NoDecay<"bias">>>()));
  Program other = training_of<Grouped>();
  const ParameterGroup list[] = {{}, {1, 2, false}};
  other.groups.list = list;
  CHECK(program_hash(other) != before);
  other = training_of<Grouped>();
  std::vector<StepPiece> pieces(other.pieces, other.pieces + other.piece_count);
  pieces[1].group = 0;
  other.pieces = pieces.data();
  CHECK(program_hash(other) != before);
}

TEST_CASE("numbers and texts are told apart from their neighbours") {
  CHECK(Fnv{}.add(1, 2).value() != Fnv{}.add(2, 1).value());
  CHECK(Fnv{}.add_text("ab").add_text("c").value() != Fnv{}.add_text("a").add_text("bc").value());
  CHECK(Fnv{}.add(-1).value() == Fnv{}.add(std::int64_t{-1}).value());
}
