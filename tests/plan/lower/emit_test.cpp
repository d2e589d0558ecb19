// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/emit.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// A list in short: F0 B0 computes of micro-batch 0, I0 W0 the parts of a split backward; s r start a send or receive, S R wait; + starts, - waits
/// for a reduction; ! steps; ? reports.
std::string shortly(const Program& p, int role) {
  std::string all;
  for (int i = p.lists[role].begin; i < p.lists[role].end; ++i) {
    const Instruction& line = p.instructions[i];
    all += "FBIWsSrR+-?!"[static_cast<int>(line.op)];
    if (line.micro_batch >= 0) all += std::to_string(line.micro_batch);
    if (line.bucket >= 0) all += static_cast<char>('a' + line.bucket);
    all += ' ';
  }
  return all;
}

/// The paired form: each WAIT after the one START that it names, receives waited for just before their compute, few sends pending.
void is_paired(const Program& p) {
  std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> sends, receives;  // channel: transfer, micro-batch
  for (int role = 0; role < p.roles; ++role) {
    std::set<int> started, pending_sends;
    for (int i = p.lists[role].begin; i < p.lists[role].end; ++i) {
      const Instruction& line = p.instructions[i];
      if (line.op == ListOp::send_start || line.op == ListOp::receive_start) {
        CHECK(started.insert(line.token).second);
        auto& channel = line.op == ListOp::send_start ? sends[{role, line.peer}] : receives[{line.peer, role}];
        CHECK(line.sequence == static_cast<int>(channel.size()));
        channel.emplace_back(line.transfer, line.micro_batch);
        if (line.op == ListOp::send_start) pending_sends.insert(line.token);
        CHECK(pending_sends.size() <= send_window + 1);
      }
      if (line.op == ListOp::send_wait || line.op == ListOp::receive_wait) {
        CHECK(started.count(line.token) == 1);
        pending_sends.erase(line.token);
      }
      if (line.op == ListOp::receive_wait) {
        const Instruction* next = &p.instructions[i + 1];
        while (next->op == ListOp::receive_wait) ++next;
        CHECK((next->op == ListOp::forward || passes_gradients(next->op)));
        CHECK(next->micro_batch == line.micro_batch);
        CHECK(next->chunk == p.transfers[line.transfer].to_chunk);
      }
    }
    CHECK(pending_sends.empty());
  }
  CHECK(sends == receives);  // the k-th start on each side names the same transfer of the same micro-batch
}

}  // namespace

TEST_CASE("one device computes, reports and steps") {
  CHECK(shortly(training_of<Trained<Chain, Single>>(), 0) == "F0 B0 ? !a ");
  CHECK(shortly(training_of<Trained<Chain, Single, Accumulate<2>>>(), 0) == "F0 B0 F1 B1 ? !a ");
  CHECK(shortly(evaluation_of<Trained<Chain, Single>>(), 0) == "F0 ? ");
}

TEST_CASE("replicas reduce the loss, then wait for each bucket before its step; bodies have started the buckets") {
  CHECK(shortly(training_of<Trained<Chain, DataParallel<2>, Bucket<1_B>>>(), 0) == "F0 B0 + - ? -a !a -b !b -c !c ");
  CHECK(shortly(training_of<Trained<Chain, DataParallel<1>>>(), 0) == "F0 B0 ? !a ");
}

TEST_CASE("two stages: a send starts after its producer, a receive is waited for just before its use") {
  using P = Trained<Chain, Pipeline<Balanced<2>, GPipe, Microbatches<2>>>;
  CHECK(shortly(training_of<P>(), 0) == "F0 s0 F1 s1 r0 R0 B0 r1 R1 B1 S0 S1 !a ");
  CHECK(shortly(training_of<P>(), 1) == "r0 R0 F0 r1 R1 F1 B0 s0 B1 s1 S0 S1 ? !b ");
}

TEST_CASE("lists are in the paired form") {
  is_paired(training_of<Trained<Chain, Pipeline<Balanced<3>, OneFOneB, Microbatches<8>>>>());
  is_paired(evaluation_of<Trained<Chain, Pipeline<Balanced<3>, OneFOneB, Microbatches<8>>>>());
  is_paired(training_of<Trained<Chain, BackIn<GPipe, 4>>>());
  is_paired(training_of<Trained<Skips, Hybrid<Pipeline<Balanced<4>, GPipe, Microbatches<4>>, DataParallel<2>>, Accumulate<2>>>());
}

TEST_CASE("a split backward sends its gradient after the input part; the weight part waits for nothing") {
  using P = Trained<Chain, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>>;
  CHECK(shortly(training_of<P>(), 0) == "F0 s0 F1 s1 r0 R0 I0 W0 r1 R1 I1 W1 S0 S1 !a ");
  CHECK(shortly(training_of<P>(), 1) == "r0 R0 F0 r1 I0 s0 R1 F1 I1 s1 W0 W1 S0 S1 ? !b ");
  is_paired(training_of<P>());
  is_paired(training_of<Trained<Chain, Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<8>>>>());
  is_paired(training_of<Trained<Skips, Hybrid<Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<4>>, DataParallel<2>>, Accumulate<2>>>());
}

TEST_CASE("interleaved stages pass values around the ring of devices, paired as well") {
  using P = Trained<Skips, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>;
  static_assert(P::training.transfer_count == 6);  // three boundaries, there and back
  is_paired(P::training);
  is_paired(P::evaluation);
  is_paired(Trained<Skips, Hybrid<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<2>>, DataParallel<2>>, Accumulate<2>>::training);
}

TEST_CASE("an edge within a role is no instruction") {
  using P = Trained<Chain, Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<0>>, Stage<Part3, On<0>>>>;
  CHECK(shortly(training_of<P>(), 0) == "F0 F0 F0 B0 B0 B0 ? !a ");
}

TEST_CASE("no list is longer than what was set aside for it") {
  using P = Trained<Skips, Pipeline<Balanced<3>, OneFOneB, Microbatches<8>>>;
  using L = Lowered<RequestOf<P>, true>;
  for (int r = 0; r < 3; ++r) CHECK(training_of<P>().lists[r].count() <= most_instructions(L::emit_input, 2, 8, r));
}
