// SPDX-License-Identifier: MIT
// Several leaves that share parameters with several others, under products of policies and options.
#include "equivalence/tied.hpp"

using namespace equivalence;

namespace {

/// Three uses of one leaf, two of another; tied leaves stand beside others, before and behind blocks.
struct Woven : Sequential<Linear<23, 16>, Named<"a", Linear<16, 16>>, Tanh, Named<"b", Linear<16, 13>>, Sigmoid, Linear<13, 16>,
                          Tied<"c", Linear<16, 16>, To<"a">>, Repeat<3, Block>, Tied<"d", Linear<16, 13>, To<"b">>, Linear<13, 16>, GELU,
                          Tied<"e", Linear<16, 16>, To<"a">>, Linear<16, 10>> {};

/// The same layers, each with parameters of its own.
struct Apart
    : Sequential<Linear<23, 16>, Named<"a", Linear<16, 16>>, Tanh, Named<"b", Linear<16, 13>>, Sigmoid, Linear<13, 16>, Named<"c", Linear<16, 16>>,
                 Repeat<3, Block>, Named<"d", Linear<16, 13>>, Linear<13, 16>, GELU, Named<"e", Linear<16, 16>>, Linear<16, 10>> {};

template <class Model, class Policy> using Summed = Plan<Model, CrossEntropy, Adam, Batch<32>, Policy>;
template <class Policy> void check_sum() {
  const auto rows = rows_of<Summed<Woven, Policy>>(32);
  Trainer<Summed<Woven, Policy>, CpuThreads> tied{settings<Adam>(), Seed{3}};
  Trainer<Summed<Apart, Policy>, CpuThreads> apart{settings<Adam>(), Seed{4}};
  for (const std::string& name : apart.parameter_names()) apart.set_parameter(name, tied.parameter(name));
  tied.step(rows.batch(0, 32));
  apart.step(rows.batch(0, 32));
  const auto sum = [&](const std::string& first, const std::vector<std::string>& others) {
    for (const std::string kind : {".weight", ".bias"}) {
      std::vector<float> wanted = apart.gradient(first + kind);
      for (const std::string& other : others) {
        const std::vector<float> term = apart.gradient(other + kind);
        for (std::size_t i = 0; i < term.size(); ++i) wanted[i] += term[i];
      }
      CHECK(equal_bits(tied.gradient(first + kind), wanted));
    }
  };
  sum("a", {"c", "e"});
  sum("b", {"d"});
  sum("0", {});
  sum("12", {});
}

using Stages = Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>;

}  // namespace

TEST_CASE("replicas and slices of every kind train to the bits of one device") {
  holds_tied<Woven, DataParallel<4>>();
  holds_tied_as_data<Woven, Sharded<2, OptimizerState>>();
  holds_tied_as_data<Woven, Sharded<4, Gradients>>();
  holds_tied_as_data<Woven, Sharded<2, Parameters>>();
}

TEST_CASE("three owners and two, on four stages, exchange what they have reduced") {
  holds_tied<Woven, Stages>();
  holds_tied_as_data<Woven, Pipeline<Balanced<3>, GPipe, Microbatches<4>>>();
  holds_tied_as_data<Woven, Pipeline<Balanced<2>, Interleaved<3>, Microbatches<4>>>();
  holds_tied_as_data<Woven, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Sharded<2, OptimizerState>>>();
  holds_tied_as_data<Woven, Hybrid<Stages, DataParallel<2>>>();
}

TEST_CASE("slices of every kind within stages are exchanged slice by slice") {
  holds_tied<Woven, Hybrid<Sharded<2, OptimizerState>, Stages>>();
  holds_tied_as_data<Woven, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2, Gradients>, DataParallel<2>>>();
  holds_tied_as_data<Woven, Hybrid<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, Sharded<2, Parameters>>>();
  holds_tied_as_data<Woven, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Sharded<2>>>();
  holds_tied_as_data<Woven, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2, Keep::Step>>>();
}

TEST_CASE("a gradient of tied parameters is the sum of those that each use alone would have, by the chain rule") {
  check_sum<Single>();
  check_sum<Hybrid<Stages, DataParallel<2>>>();
  using Added = Hybrid<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, Sharded<2>>;  // slices are reduced and added in every backward
  static_assert(Summed<Woven, Added>::training.storage.adds_slices);
  check_sum<Added>();
}

TEST_CASE("accumulated and clipped, the norm counts tied parameters once") {
  holds_tied<Woven, Hybrid<Stages, Sharded<2>>, Accumulate<2>, Clip<GlobalNorm>>();
  holds_tied_as_data<Woven, Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>, Clip<GlobalNorm>>();
  holds_tied_as_data<Woven, Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>, Clip<GlobalNorm>, LossScaling>();
  holds_tied_as_data<Woven, Hybrid<Stages, Sharded<2>>, LossScaling>();
}
