// SPDX-License-Identifier: MIT
#include "heddle/plan/check/frozen.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/frozen.hpp"
#include "heddle/graph/one_unit.hpp"
#include "heddle/graph/tied.hpp"
#include "plan/spoilt.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr auto facts = Code{'S', 18};
constexpr auto memory = Code{'S', 19};

/// Units of frozen parameters: the layer in front, that of the block, and the last one.
struct Adapted : Sequential<Frozen<Linear<8, 6>>, Tanh, Linear<6, 6>, OneUnit<Frozen<Linear<6, 12>>, GELU, Linear<12, 6>>, Frozen<Linear<6, 4>>> {};
using Sliced = Trained<Adapted, Sharded<2>>;
using Held = Trained<Adapted, Sharded<2, Keep::Step>>;
using Whole = Trained<Adapted, Sharded<2, Gradients>>;
using Staged = Trained<Adapted, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>;

template <class ThePlan, class Spoil> Diagnosis with(Spoil spoil) { return noted_with<ThePlan>(After::placing, spoil); }
/// Of frozen parameters, from the last unit to the first.
FlatBucket& bucket(Making& p, int number) { return changeable(p.shared.buckets[p.shared.bucket_count + number]); }

}  // namespace

TEST_CASE("where parameters are sliced those that are not trained have a bucket for each unit, and else none") {
  CHECK(with<Sliced>([](Making&) {}).sentence().view() == "");
  CHECK(with<Held>([](Making&) {}).sentence().view() == "");
  CHECK(with<Staged>([](Making&) {}).sentence().view() == "");
  const Program& p = Sliced::training;
  CHECK(p.bucket_count == 2);
  REQUIRE(p.frozen_count == 3);
  CHECK(Whole::training.frozen_count == 0);
  CHECK(Trained<Chain, Sharded<2>>::training.frozen_count == 0);
  for (int b = 0; b < 3; ++b) {
    const FlatBucket& is = p.buckets[p.bucket_count + b];
    CHECK((is.frozen && is.elements == 1024 && is.begin == 1024 * (2 - b) && is.slot == b % 2));
  }
  CHECK(p.buckets[2].payload == 6 * 4 + 4);
  CHECK(p.buckets[3].payload == 6 * 12 + 12);
  CHECK(p.buckets[4].payload == 8 * 6 + 6);
}

TEST_CASE("a bucket of frozen parameters that is not what the model says is found") {
  for (int b = 0; b < 3; ++b) {
    CAPTURE(b);
    CHECK(refused_for(with<Sliced>([=](Making& p) { bucket(p, b).frozen = false; }), facts,
                      "whether the parameters of a bucket are frozen is noted as 0"));
    CHECK(refused_for(with<Sliced>([=](Making& p) { ++bucket(p, b).payload; }), facts, "the number of frozen parameters in a bucket is noted as "));
    CHECK(refused_for(with<Sliced>([=](Making& p) { --bucket(p, b).lowest_node; }), facts, "the lowest layer of a bucket of frozen parameters"));
    CHECK(refused_for(with<Sliced>([=](Making& p) { ++bucket(p, b).highest_node; }), facts, "the highest layer of a bucket of frozen parameters"));
    CHECK(refused_for(with<Sliced>([=](Making& p) { bucket(p, b).shared = true; }), facts, "whether a bucket of frozen parameters has gradients"));
    CHECK_FALSE(with<Sliced>([=](Making& p) { bucket(p, b).owner_begin = 0; }).ok());
    CHECK(refused_for(with<Sliced>([=](Making& p) { bucket(p, b).role = 1; }), facts, "the device of a bucket of frozen parameters is noted as 1"));
    CHECK_FALSE(with<Sliced>([=](Making& p) { bucket(p, b).begin += 16; }).ok());
    CHECK_FALSE(with<Sliced>([=](Making& p) { bucket(p, b).begin -= 1024; }).ok());
    CHECK_FALSE(with<Sliced>([=](Making& p) { bucket(p, b).elements -= 16; }).ok());
    CHECK(refused_for(with<Sliced>([=](Making& p) { bucket(p, b).slot = 2; }), memory, "bucket "));
  }
  CHECK(refused_for(with<Sliced>([](Making& p) { bucket(p, 1).elements += 1024; }), memory,
                    "bucket 3 of device 0 ends at byte 12,288, but there are 8192 bytes"));
  CHECK(refused_for(with<Sliced>([](Making& p) { changeable(p.shared.buckets[0]).frozen = true; }), facts,
                    "whether the parameters of a bucket are frozen is noted as 1, but 0 follows"));
}

TEST_CASE("a frozen layer without a bucket, with that of another, or with one where nothing is sliced is found") {
  const auto of_node = [](Making& p, int node) -> std::int16_t& { return changeable(p.shared.bucket_of_node[node]); };
  CHECK(
      refused_for(with<Sliced>([=](Making& p) { of_node(p, 0) = 0; }), facts, "whether its bucket has the frozen parameter 0.weight is noted as 0"));
  CHECK(
      refused_for(with<Sliced>([=](Making& p) { of_node(p, 0) = 3; }), facts, "whether its bucket has the frozen parameter 0.weight is noted as 0"));
  CHECK(
      refused_for(with<Sliced>([=](Making& p) { of_node(p, 0) = 5; }), facts, "whether its bucket has the frozen parameter 0.weight is noted as 0"));
  const auto one_less = [](Making& p) { p.programs[0].frozen_count = p.programs[1].frozen_count = 2; };
  CHECK(refused_for(with<Sliced>(one_less), facts, "whether its bucket has the frozen parameter 0.weight is noted as 0"));
  CHECK(refused_for(with<Sliced>([](Making& p) { --p.programs[1].frozen_count; }), facts, "the evaluation has other tables than the training"));
  const auto one_more = [](Making& p) { p.programs[0].frozen_count = p.programs[1].frozen_count = 1; };
  CHECK(refused_for(with<Whole>(one_more), facts, "the number of buckets of frozen parameters is noted as 1, but 0 follows"));
}

TEST_CASE("regions of frozen parameters are sliced as the plan says, and rings have room for the largest unit") {
  const auto region = [](Making& p, RegionKind kind) -> Region& { return changeable(p.programs[0].arenas[0])[kind]; };
  CHECK(with<Sliced>([=](Making& p) { region(p, RegionKind::frozen).parts = 1; }).code == memory);  // half of them has no room
  CHECK(with<Sliced>([=](Making& p) { region(p, RegionKind::frozen).slot_bytes -= 64; }).code == memory);
  CHECK(refused_for(with<Sliced>([=](Making& p) { region(p, RegionKind::thawed).slot_bytes -= 64; }), memory, "bucket 2 of device 0 ends at byte "));
  CHECK(refused_for(with<Sliced>([=](Making& p) { region(p, RegionKind::thawed).begin -= 64; }), memory,
                    "ring of gathered frozen units, slot 0 of device 0 begins at byte "));
  CHECK(with<Sliced>([=](Making& p) { region(p, RegionKind::thawed).addressing = Addressing::flat; }).code == facts);
  CHECK(refused_for(with<Held>([=](Making& p) { region(p, RegionKind::thawed).slot_bytes -= 64; }), memory, "the gathered frozen units"));
}

TEST_CASE("a use of frozen parameters that another layer keeps is a unit behind them, of the slices of its keeper") {
  struct Shared : Sequential<Frozen<Named<"in", Linear<6, 6>>>, Linear<6, 6>, Frozen<Tied<"out", Linear<6, 6>, To<"in">>>, Linear<6, 3>> {};
  using Tied = Trained<Shared, Sharded<2>>;
  using TiedHeld = Trained<Shared, Sharded<2, Keep::Step>>;
  using TiedWhole = Trained<Shared, Sharded<2, Gradients>>;
  CHECK(with<Tied>([](Making&) {}).sentence().view() == "");
  CHECK(with<TiedHeld>([](Making&) {}).sentence().view() == "");
  CHECK(with<TiedWhole>([](Making&) {}).sentence().view() == "");
  const Program& made = Tied::training;
  REQUIRE(made.frozen_count == 2);
  const FlatBucket& use = made.buckets[made.bucket_count];
  CHECK((use.lowest_node == 2 && use.owner_begin == 0 && use.begin == 1024 && use.elements == 1024 && !use.steps()));
  CHECK((made.arenas[0][RegionKind::frozen].elements() == 1024 && TiedHeld::training.arenas[0][RegionKind::thawed].elements() == 2048));
  CHECK(TiedWhole::training.arenas[0][RegionKind::frozen].bytes() == 4 * (48 + 6) + 40);  // kept once: 36 elements in 3 lines, 6 in one
  const auto place = [](Making& p, int parameter) -> ParameterPlace& { return changeable(p.shared.flat.parameters[parameter]); };
  CHECK_FALSE(with<Tied>([=](Making& p) { place(p, 4).owner_begin = -1; }).ok());
  CHECK_FALSE(with<Tied>([=](Making& p) { place(p, 4).owner_begin = 16; }).ok());
  CHECK_FALSE(with<TiedWhole>([=](Making& p) { place(p, 5).owner_begin += 16; }).ok());
  CHECK_FALSE(with<Tied>([=](Making& p) { place(p, 4).begin = 0; }).ok());
  CHECK_FALSE(with<Tied>([](Making& p) { bucket(p, 0).owner_begin = -1; }).ok());
  CHECK_FALSE(with<Tied>([](Making& p) { bucket(p, 0).owner_begin = 1024; }).ok());
  CHECK_FALSE(with<Tied>([](Making& p) { bucket(p, 0).begin = 0; }).ok());
  CHECK_FALSE(with<Tied>([](Making& p) { bucket(p, 1).owner_begin = 1024; }).ok());
  CHECK(refused_for(with<TiedHeld>([](Making& p) { changeable(p.programs[0].arenas[0])[RegionKind::thawed].slot_bytes -= 64; }), memory, "bucket 2"));
}
