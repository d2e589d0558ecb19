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

ArenaMap& arena(Phases& p, int role) { return changeable(p.programs[0].arenas[role]); }
template <class ThePlan, class Spoil> Diagnosis with(Spoil spoil) { return noted_with<ThePlan>(After::placing, spoil); }

}  // namespace

TEST_CASE("what is kept lies side by side in the arena of each device, in both modes") {
  CHECK(with<SplitSlices>([](Phases&) {}).sentence().view() == "");
  CHECK(with<TiedStages>([](Phases&) {}).sentence().view() == "");
  CHECK(check_arenas(Inferred::evaluation, 0, false).ok());
  CHECK(check_arenas(Inferred::evaluation, 1).code == memory);  // it has no room for what a training keeps
}

TEST_CASE("a region that begins in the one before it, or off a line, is found by its name") {
  using P = Trained<Chain, Sharded<2>, Accumulate<2>, Clip<GlobalNorm>>;
  using Field = std::int64_t ArenaMap::*;
  const std::pair<Field, const char*> regions[] = {{&ArenaMap::gathered, "the gathered units"},
                                                   {&ArenaMap::gradients, "level 0"},
                                                   {&ArenaMap::fresh, "the units before they are reduced"},
                                                   {&ArenaMap::arrived, "the slices before they are added"},
                                                   {&ArenaMap::states, "state 0"},
                                                   {&ArenaMap::losses, "the loss"},
                                                   {&ArenaMap::norms, "the norms"},
                                                   {&ArenaMap::scratch, "the scratch"}};
  for (const auto& [field, name] : regions) {
    CAPTURE(name);
    CHECK(refused_for(with<P>([at = field](Phases& p) { arena(p, 0).*at -= 64; }), memory, name));
    CHECK(with<P>([at = field](Phases& p) { arena(p, 0).*at += 4; }).code == memory);
  }
  CHECK(refused_for(with<P>([](Phases& p) { arena(p, 0).total = arena(p, 0).workspace - 64; }), memory, "the arena"));
}

TEST_CASE("pools of training and evaluation lie behind what is kept, and before the scratch") {
  for (const int mode : {0, 1}) {
    CAPTURE(mode);
    const auto pool = [=](Phases& p) -> Pool& { return changeable(p.programs[mode].pools[0]); };
    CHECK(refused_for(with<Replicas>([&](Phases& p) { pool(p).base -= 64; }), memory, "pool 0 of device 0 begins at byte "));
    CHECK(refused_for(with<Replicas>([&](Phases& p) { pool(p).slots += 100; }), memory, "the scratch"));
    CHECK(with<Replicas>([&](Phases& p) { ++pool(p).role; }).code == Code{'S', 18});
  }
}

TEST_CASE("slices of tied gradients arrive beside each other") {
  CHECK(refused_for(with<TiedStages>([](Phases& p) {
                      for (int t = 0; t < p.programs[0].transfer_count; ++t)
                        if (Transfer& sent = changeable(p.programs[0].transfers[t]); sent.use >= 0) sent.target.offset = 0;
                    }),
                    memory, "the room of transfer "));
}
