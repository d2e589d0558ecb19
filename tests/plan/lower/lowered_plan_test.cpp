// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/lowered_plan.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "plan/difference.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Piped = Trained<Skips, Hybrid<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;

LoweringRequest asked() { return request_of<Piped::Request>(); }
std::string words(const LoweringRequest& request) { return std::string{LoweredPlan{request}.fault().sentence().view()}; }

}  // namespace

TEST_CASE("a plan that is lowered while a program runs owns what it shows, wherever it is moved") {
  std::vector<LoweredPlan> plans;
  const Program* first = nullptr;
  {
    const std::vector<TracedLeaf> leaves(graph_of<Skips>.leaves, graph_of<Skips>.leaves + graph_of<Skips>.leaf_count);
    const std::vector<Node> nodes(graph_of<Skips>.nodes, graph_of<Skips>.nodes + graph_of<Skips>.node_count);
    LoweringRequest request = asked();
    request.graph.leaves = leaves.data();
    request.graph.nodes = nodes.data();
    plans.emplace_back(request);
    first = &plans.front().training();
    for (int i = 0; i < 4; ++i) plans.emplace_back(request);
  }  // leaves and nodes of the caller are gone
  REQUIRE(plans.front().fault().ok());
  CHECK(&plans.front().training() == first);
  CHECK(Difference(Piped::training, *first).words() == "");
  CHECK(Difference(Piped::evaluation, plans.back().evaluation()).words() == "");
}

TEST_CASE("too little room is S14 with numbers, whatever is too short, and nothing is written behind its end") {
  LoweringRequest request = asked();
  request.most_entries = 5;
  CHECK(words(request).find("[heddle.S14] the plan makes ") == 0);
  CHECK(words(request).find(" entries, but there is room for 5. Fix: ") != std::string::npos);
  for (int entries = 1; entries < 60; ++entries) {
    request.most_entries = entries;
    const LoweredPlan plan{request};
    CHECK((plan.fault().ok() || plan.fault().code == Code{'S', 14}));
  }
  request = asked();
  for (int lines = 1; lines < 80; ++lines) {
    request.most_instructions = lines;
    const LoweredPlan plan{request};
    CHECK((plan.fault().ok() || plan.fault().code == Code{'S', 14}));
  }
  request.most_instructions = 7;
  CHECK(words(request).find(" instructions, but there is room for 7. Fix: ") != std::string::npos);
}

TEST_CASE("the same sentence at compile time: bodies with too little room") {
  constexpr Diagnosis found = [] {
    using L = Lowered<Piped::Request, true>;
    BodyTables<graph_of<Skips>.node_count, 3, 2, 4> small;
    Bodies open = small.open();
    write_forwards(L::body_input, L::facts.view(), open);
    small.close(open);
    return small.fault;
  }();
  static_assert(found.code == Code{'S', 14} && found.numbers[1] == 4 && found.numbers[0] > 4);
  CHECK(found.words.view().find(" entries, but there is room for 4. Fix: ") != std::string_view::npos);
}

TEST_CASE("what indices of 16 bits do not reach is refused before it is lowered") {
  LoweringRequest request = asked();
  request.batch.rounds = 10'000;
  CHECK(words(request) == "[heddle.S14] the plan makes 40,000 micro-batches, but there is room for 32,767. Fix: lower a smaller plan.");
  request.batch.rounds = 1'000'000'000;
  CHECK(words(request).find("makes 4,000,000,000 micro-batches, ") != std::string::npos);
  request = asked();
  request.layout.chunk_count = 65;
  CHECK(words(request).find("makes 65 chunks, but there is room for 64. Fix: lower a smaller plan.") != std::string::npos);
  request = asked();
  const std::vector<Node> nodes(40'000);  // no walk is made over what is too long: it would find that they are no layers of this model
  request.graph.nodes = nodes.data();
  request.graph.node_count = 40'000;
  CHECK(words(request) == "[heddle.S14] the plan makes 40,000 layers, but there is room for 32,766. Fix: lower a smaller plan.");
  request.graph.node_count = 32'766;
  CHECK(words(request).find("[heddle.G27]") == 0);
}
