// SPDX-License-Identifier: MIT
#include "heddle/plan/check/flat.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "heddle/graph/one_unit.hpp"
#include "heddle/plan/options/groups.hpp"
#include "plan/spoilt.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr auto facts = Code{'S', 18};
constexpr auto memory = Code{'S', 19};

template <class ThePlan, class Spoil> Diagnosis with(Spoil spoil) { return noted_with<ThePlan>(After::sharing, spoil); }
ParameterPlace& place(Making& p, int parameter) { return changeable(p.shared.flat.parameters[parameter]); }

}  // namespace

TEST_CASE("a parameter over another one, off its line or behind its buffer is found") {
  using P = Trained<Chain, Single>;
  CHECK(with<P>([](Making&) {}).ok());
  CHECK(refused_for(with<P>([](Making& p) { place(p, 1).begin -= 16; }), memory,
                    "the parameters of layer 0 of device 0 begins at byte 128, but what lies before it ends at byte 192"));
  CHECK(with<P>([](Making& p) { place(p, 1).begin += 1; }).code == memory);
  CHECK(refused_for(with<P>([](Making& p) { place(p, 5).begin += 1 << 18; }), memory, "the parameters of layer 4 of device 0 ends at byte "));
}

TEST_CASE("a parameter of another size, device or split than that of its layer is found by its name") {
  CHECK(refused_for(with<InTurns>([](Making& p) { place(p, 0).elements = 47; }), facts,
                    "the number of elements on a rank of parameter 0.0.weight is noted as 47, but 48 follows"));
  CHECK(
      refused_for(with<InTurns>([](Making& p) { place(p, 2).role = 0; }), facts, "the device of parameter 1.0.weight is noted as 0, but 1 follows"));
  CHECK(refused_for(with<SplitHalves>([](Making& p) { place(p, 2).split = laid::replicate; }), facts, "the split dimension of parameter "));
  CHECK(refused_for(with<SplitHalves>([](Making& p) { place(p, 2).split.code += 16; }), facts, "the split dimension of parameter "));
}

TEST_CASE("in a plan with groups a unit whose parameters do not lie by group, or lie over another, is found") {
  // a block of two layers with weights of 256 elements: weights at 0 and 256, biases at 512 and 528; the last layer has its bias in front.
  using P = Plan<Sequential<OneUnit<Linear<16, 16>, Tanh, Linear<16, 16>>, Linear<16, 8>>, CrossEntropy, Adam, Batch<8>, Single, NoDecay<>>;
  const auto swapped = [](int a, int b) { return [=](Making& p) { std::swap(place(p, a).begin, place(p, b).begin); }; };
  CHECK(with<P>([](Making& p) { CHECK((place(p, 2).begin == 256 && place(p, 1).begin == 512 && place(p, 5).begin < place(p, 4).begin)); }).ok());
  CHECK(refused_for(with<P>(swapped(0, 2)), memory,
                    "the parameters of layer 2 of device 0 begins at byte 0, but what lies before it ends at byte 2048"));
  CHECK(with<P>(swapped(1, 3)).code == memory);
  CHECK(with<P>(swapped(1, 2)).code == memory);
  CHECK(with<P>(swapped(4, 5)).code == memory);
  CHECK(with<P>([](Making& p) { place(p, 2).begin -= 16; }).code == memory);
  CHECK(refused_for(with<P>([](Making& p) { place(p, 4).begin += 1 << 18; }), memory,
                    "the parameters of the unit of layer 3 of device 0 ends at byte "));
}

TEST_CASE("units of the norm are the blocks of the model, and shared parameters count once") {
  const auto counts_all = [](Making& p) {
    for (int u = 0; u < p.shared.flat.unit_count; ++u) changeable(p.shared.flat.units[u]).counts = true;
  };
  CHECK(refused_for(with<TiedStages>(counts_all), facts, "whether the norm has the gradients of layer middle is noted as 1, but 0 follows"));
  CHECK(refused_for(with<SplitSlices>([](Making& p) { --p.shared.flat.unit_count; }), facts, "the number of units is noted as "));
  CHECK(
      refused_for(with<SplitSlices>([](Making& p) { changeable(p.shared.flat.units[0]).elements -= 1024; }), memory, " of unit 0 of device 0 ends"));
}

TEST_CASE("buckets lie beside each other and say of their layers what is so") {
  const auto bucket = [](Making& p, int b) -> FlatBucket& { return changeable(p.shared.buckets[b]); };
  CHECK(refused_for(with<HalvedSlices>([&](Making& p) { ++bucket(p, 0).payload; }), facts, "the number of parameters in a bucket is noted as "));
  CHECK(refused_for(with<HalvedSlices>([&](Making& p) { bucket(p, 1).elements += 1024; }), memory, "bucket 1 of device 0 ends at byte "));
  CHECK(refused_for(with<HalvedSlices>([&](Making& p) { --bucket(p, 0).lowest_node; }), facts, "the lowest layer of a bucket is noted as "));
  CHECK(refused_for(with<HalvedSlices>([&](Making& p) { ++bucket(p, 0).highest_node; }), facts, "the highest layer of a bucket is noted as "));
}

TEST_CASE("a bucket of slices ends where a slice of it is whole lines, also inside a unit") {
  // three layers of 1,056 elements in one unit
  using P = Trained<OneUnit<Linear<32, 32>, Linear<32, 32>, Linear<32, 32>>, Sharded<2, OptimizerState>, Bucket<4_KiB>>;
  const auto bucket = [](Making& p, int b) -> FlatBucket& { return changeable(p.shared.buckets[b]); };
  CHECK(with<P>([&](Making& p) { CHECK((p.shared.bucket_count == 3 && bucket(p, 1).begin == 1056 && bucket(p, 1).elements == 1056)); }).ok());
  const auto longer = [&](int lines) { return [=](Making& p) { bucket(p, 2).elements += 16 * lines; }; };
  const auto shorter = [&](int lines) { return [=](Making& p) { bucket(p, 1).begin += 16 * lines, bucket(p, 1).elements -= 16 * lines; }; };
  CHECK(refused_for(with<P>(longer(-1)), facts, "the elements of a sliced bucket is noted as 1040, but 1056 follows"));
  CHECK(refused_for(with<P>(shorter(1)), memory, "bucket 1 of device 0 begins at byte "));
  CHECK(refused_for(with<P>(shorter(2)), facts, "the lowest layer of a bucket is noted as "));
  CHECK(refused_for(with<P>(longer(2)), memory, "bucket 2 of device 0 ends at byte "));
}

TEST_CASE("each use of shared parameters has its layer, its owner and a bucket like that of the owner") {
  const auto use = [](Making& p, int u) -> TiedUse& { return changeable(p.shared.uses[u]); };
  CHECK(with<TiedStages>([](Making&) {}).ok());
  CHECK(refused_for(with<TiedStages>([&](Making& p) { --use(p, 1).owner; }), facts,
                    "the owner of the parameters of middle is noted as 0, but 1 follows"));
  CHECK(refused_for(with<TiedStages>([&](Making& p) { ++use(p, 1).node; }), facts, "the layer of the use of middle is noted as 6, but 5 follows"));
  CHECK(refused_for(with<TiedStages>([&](Making& p) { ++use(p, 0).role; }), facts, "the device of the use of wte is noted as 1, but 0 follows"));
}
