// SPDX-License-Identifier: MIT
#include "heddle/plan/check/arenas.hpp"

#include <doctest/doctest.h>

#include "heddle/plan/inference.hpp"
#include "plan/spoilt.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr auto memory = Code{'S', 19};
using Inferred = Inference<Chain, Batch<16>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;

ArenaMap& arena(Making& p, int role) { return changeable(p.programs[0].arenas[role]); }
template <class ThePlan, class Spoil> Diagnosis with(Spoil spoil) { return noted_with<ThePlan>(After::placing, spoil); }

}  // namespace

TEST_CASE("what is kept lies side by side in the arena of each device, in both modes") {
  CHECK(with<SplitSlices>([](Making&) {}).sentence().view() == "");
  CHECK(with<TiedStages>([](Making&) {}).sentence().view() == "");
  CHECK(check_arenas(Inferred::evaluation, 0, false).ok());
  CHECK(check_arenas(Inferred::evaluation, 1).code == memory);  // it has no room for what a training keeps
}

TEST_CASE("a region that begins in the one before it, or off a line, is found by its name") {
  using P = Trained<Chain, Sharded<2>, Accumulate<2>, Clip<GlobalNorm>>;
  const std::pair<RegionKind, const char*> regions[] = {{RegionKind::gathered, "ring of gathered units, slot 0 of device 0 begins at byte "},
                                                        {RegionKind::gradients, "level 0 of device 0 begins at byte "},
                                                        {RegionKind::fresh, "ring of unreduced units, slot 0 of device 0 begins at byte "},
                                                        {RegionKind::arrived, "ring of arrived slices, slot 0 of device 0 begins at byte "},
                                                        {RegionKind::states, "state 0 of device 0 begins at byte "},
                                                        {RegionKind::losses, "the loss of device 0 begins at byte "},
                                                        {RegionKind::norms, "the norms of device 0 begins at byte "},
                                                        {RegionKind::scratch, "the scratch of device 0 begins at byte "}};
  for (const auto& [kind, name] : regions) {
    CAPTURE(name);
    CHECK(refused_for(with<P>([at = kind](Making& p) { arena(p, 0)[at].begin -= 64; }), memory, name));
    CHECK(with<P>([at = kind](Making& p) { arena(p, 0)[at].begin += 4; }).code == memory);
  }
  CHECK(refused_for(with<P>([](Making& p) { arena(p, 0).total -= 64; }), memory, "the arena of device 0 ends at byte "));
}

TEST_CASE("a region that is found in another way, has other slices or too little room for a copy is found by its name") {
  using P = Trained<Chain, Sharded<2>, Accumulate<2>, Clip<GlobalNorm>>;
  const Code noted{'S', 18};
  for (const RegionKind kind :
       {RegionKind::parameters, RegionKind::gathered, RegionKind::gradients, RegionKind::fresh, RegionKind::arrived, RegionKind::states}) {
    CAPTURE(static_cast<int>(kind));
    CHECK(with<P>([=](Making& p) { arena(p, 0)[kind].addressing = Addressing::list; }).code == noted);
    CHECK(!with<P>([=](Making& p) { ++arena(p, 0)[kind].parts; }).ok());
    CHECK(!with<P>([=](Making& p) { arena(p, 0)[kind].slot_bytes -= 64; }).ok());
  }
}

TEST_CASE("pools of training and evaluation lie behind what is kept, and before the scratch") {
  for (const int mode : {0, 1}) {
    CAPTURE(mode);
    const auto pool = [=](Making& p) -> Pool& { return changeable(p.programs[mode].pools[0]); };
    CHECK(refused_for(with<Replicas>([&](Making& p) { pool(p).base -= 64; }), memory, "pool 0 of device 0 begins at byte "));
    CHECK(refused_for(with<Replicas>([&](Making& p) { pool(p).slots += 100; }), memory, "the scratch"));
    CHECK(with<Replicas>([&](Making& p) { ++pool(p).role; }).code == Code{'S', 18});
  }
}

TEST_CASE("slices of tied gradients arrive beside each other") {
  CHECK(refused_for(with<TiedStages>([](Making& p) {
                      for (int t = 0; t < p.programs[0].transfer_count; ++t)
                        if (Transfer& sent = changeable(p.programs[0].transfers[t]); sent.use >= 0) sent.target.offset = 0;
                    }),
                    memory, "the room of transfer "));
}
