// SPDX-License-Identifier: MIT
#include "heddle/plan/check/paired.hpp"

#include <doctest/doctest.h>

#include <random>
#include <utility>
#include <vector>

#include "heddle/plan/check/check.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// Neighbours exchange values of two sizes.
struct Uneven : Sequential<Linear<8, 6>, ReLU, Linear<6, 24>, Tanh, Linear<24, 12>, ReLU, Linear<12, 3>> {};

/// What the two proofs say of one program whose lines are sound.
struct Verdicts {
  bool sound = false;
  bool paired = false;
  bool executed = true;  ///< under every lane model
};

Verdicts judge(const Program& p) {
  const auto lines = static_cast<std::size_t>(p.lists[p.roles - 1].end);
  std::vector<int> starts(lines), after(lines), next(static_cast<std::size_t>(p.roles)), of_token(2 * lines);
  std::vector<ChunkPass> passes(static_cast<std::size_t>(p.chunks * p.batch.total_micro_batches()));
  LineCheck each{p, passes.data(), starts.data(), of_token.data(), after.data(), next.data()};
  each.run();
  Verdicts v;
  v.sound = each.found.ok();
  if (!v.sound) return v;
  v.paired = starts_pair_up(p, p.instructions, after.data(), next.data());
  for (const Lanes lanes : {Lanes::free, Lanes::per_communicator, Lanes::one_per_device})
    v.executed = v.executed && run_time::rendezvous(ProgramLists{&p, starts.data(), p.roles}, lanes).ok();
  return v;
}

/// Slips of the hand on a program: lines swapped, sent to another peer, taken for another transfer, turned round.
struct Slips {
  std::mt19937 random{20816};
  int sound = 0;
  int paired = 0;
  int refused = 0;  ///< sound lines that do not end

  int below(std::size_t n) { return static_cast<int>(random() % n); }
  void slip(const Program& original, Copy& copy) {
    auto& list = copy.lists[static_cast<std::size_t>(below(copy.lists.size()))];
    const auto i = static_cast<std::size_t>(below(list.size() - 1));
    switch (below(5)) {
      case 0: list[i].peer = static_cast<std::int16_t>(below(static_cast<std::size_t>(original.roles))); break;
      case 1:
        if (list[i].micro_batch >= 0 && list[i + 1].micro_batch >= 0) list[i].micro_batch = list[i + 1].micro_batch;
        break;
      case 2:
        if (list[i].transfer >= 0 && list[i + 1].transfer >= 0) std::swap(list[i].transfer, list[i + 1].transfer);
        break;
      default: std::swap(list[i], list[i + 1]);
    }
  }
  void compare(const Program& original, int times) {
    for (int n = 0; n < times; ++n) {
      Copy copy{original};
      for (int slips = 1 + below(3); slips > 0; --slips) slip(original, copy);
      const Verdicts v = judge(copy.view());
      if (!v.sound) continue;
      ++sound;
      CHECK((v.executed || !v.paired));  // the law
      if (v.paired) ++paired;
      if (!v.executed) ++refused;
    }
  }
};

template <class P> void pairs_up_until_it_slips() {
  for (const Program* p : {&training_of<P>(), &evaluation_of<P>()}) {
    const Verdicts v = judge(*p);
    CHECK(v.sound);
    CHECK(v.paired);
    CHECK(v.executed);
  }
  Slips slips;
  slips.compare(training_of<P>(), 3000);
  MESSAGE(slips.sound << " sound, " << slips.paired << " paired, " << slips.refused << " refused");
  CHECK(slips.paired > 100);  // a swap that changes no order of starts
  CHECK(slips.refused > 50);  // the law is put to the test
}

}  // namespace

TEST_CASE("lists of every order pair up, and whatever pairs up after a slip ends under every lane model") {
  pairs_up_until_it_slips<Trained<Chain, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>();
  pairs_up_until_it_slips<Trained<Chain, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>>();
  pairs_up_until_it_slips<Trained<Chain, BackIn<GPipe, 4>>>();
  pairs_up_until_it_slips<Trained<Uneven, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>>();
}

TEST_CASE("a plan of one device has no starts, and they pair up") { CHECK(judge(training_of<Trained<Chain, Single>>()).paired); }

TEST_CASE("a start that has no other end does not pair up") {
  using Cut = Trained<Chain, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>;
  const Program& p = training_of<Cut>();
  const auto lines = static_cast<std::size_t>(p.lists[p.roles - 1].end);
  std::vector<int> after(lines), next(3);
  for (int i = p.lists[0].begin; i < p.lists[0].end && next[0] == 0; ++i)
    if (p.instructions[i].op == ListOp::send_start) next[0] = i + 1;
  CHECK_FALSE(starts_pair_up(p, p.instructions, after.data(), next.data()));
}
