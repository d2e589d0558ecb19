// SPDX-License-Identifier: MIT
#include "heddle/plan/check/last_lines.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "plan/flow.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// The lines of a device as LastLines gives them, with the chain that LineCheck leaves.
std::vector<int> lines_of(const Program& p, int role) {
  const auto count = static_cast<std::size_t>(p.lists[p.roles - 1].end);
  std::vector<int> starts(count), after(count), first_start(static_cast<std::size_t>(p.roles)), of_token(2 * count + 1000);
  std::vector<ChunkPass> passes(static_cast<std::size_t>(p.chunks * p.batch.total_micro_batches()));
  LineCheck each{p, passes.data(), starts.data(), of_token.data(), after.data(), first_start.data()};
  each.run();
  REQUIRE(each.found.ok());
  LastLines lines{p, after.data(), each.first_closing};
  std::vector<int> all;
  for (int r = 0; r <= role; ++r) {
    all.clear();
    lines.open(r);
    CHECK(lines.early_loss == -1);
    for (int i = lines.next(); i >= 0; i = lines.next()) all.push_back(i);
  }
  return all;
}
bool wanted(const Program& p, const Instruction& line) {
  const int last = p.batch.total_micro_batches() - 1;
  if (line.op == ListOp::forward) return line.chunk + 1 == p.chunks && line.micro_batch == last;
  if (computes(line.op)) return line.micro_batch == last;
  return line.transfer < 0 || p.transfers[line.transfer].use >= 0;
}

}  // namespace

TEST_CASE("all lines that gradients of parameters pass are met, in their order, and no other") {
  for (const Program* p : {&Replicas::training, &InTurns::training, &InTurns::evaluation, &HalvedSlices::training, &SplitSlices::training,
                           &SplitHalves::training, &TiedStages::training})
    for (int r = 0; r < p->roles; ++r) {
      std::vector<int> all;
      for (int i = p->lists[r].begin; i < p->lists[r].end; ++i)
        if (wanted(*p, p->instructions[i])) all.push_back(i);
      CHECK(lines_of(*p, r) == all);
    }
}
