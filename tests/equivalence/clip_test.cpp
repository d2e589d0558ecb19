// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class... Options> using Of = Plan<Blocks, CrossEntropy, Adam, Batch<64>, Grain<8>, Clip<GlobalNorm>, Options...>;
using Alone = Of<Single>;

constexpr double threshold = 0.07;

struct Clipped {
  std::vector<float> norms;
  std::uint64_t hash = 0;
};

/// Steps with a threshold that some gradients exceed and others do not.
template <class Plan> Clipped train_clipped(double max_norm = threshold) {
  const auto rows = rows_of<Plan>(2 * 64);
  Trainer<Plan, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  trainer.clip().max_norm = max_norm;
  Clipped out;
  for (int step = 0; step < steps; ++step) out.norms.push_back(trainer.step(rows.batch(3 * step, 64)).norm.value());
  out.hash = trainer.parameter_hash(trainer.replicas() - 1);
  return out;
}

template <class Plan> void check_same() {
  static_assert(is_reproducible<Plan>);
  static const Clipped wanted = train_clipped<Alone>();
  const Clipped got = train_clipped<Plan>();
  CHECK(equal_bits(got.norms, wanted.norms));
  CHECK(got.hash == wanted.hash);
}

}  // namespace

TEST_CASE("the threshold is passed in some steps and not in others, and what is clipped trains differently") {
  const Clipped clipped = train_clipped<Alone>();
  int above = 0;
  for (const float norm : clipped.norms) above += norm > threshold ? 1 : 0;
  CHECK(above > 0);
  CHECK(above < steps);
  CHECK(train_clipped<Alone>(1e9).hash != clipped.hash);
}

TEST_CASE("the norm is the root of the sum of all squares, and gradients are scaled to the threshold") {
  const auto rows = rows_of<Alone>(64);
  Trainer<Alone, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  const auto squares = [&] {
    double sum = 0;
    for (const std::string& name : trainer.parameter_names())
      for (const float g : trainer.gradient(name)) sum += static_cast<double>(g) * static_cast<double>(g);
    return sum;
  };
  trainer.clip().max_norm = 1e9;
  const double whole = trainer.step(rows.batch(0, 64)).norm.value();
  // Every square and every addition on the way rounds by 2^-24 relative at most: runs of at most 64 lines, 16 lanes, then 4 + 6 levels.
  const double roundings = 64 + 16 + 10;
  CHECK(std::abs(whole * whole - squares()) <= 2 * roundings / (1 << 24) * squares());
  trainer.clip().max_norm = 0.01;
  const double norm = trainer.step(rows.batch(0, 64)).norm.value();
  REQUIRE(norm > 0.01);
  const double scaled = 0.01 * norm / (norm + 1e-6);
  CHECK(std::abs(squares() - scaled * scaled) <= 2 * (roundings + 4) / (1 << 24) * scaled * scaled);
}

TEST_CASE("norm and parameters have the bits of one device: replicas, slices, their product") {
  check_same<Of<DataParallel<4>>>();
  check_same<Of<Sharded<4, OptimizerState>>>();
  check_same<Of<Sharded<8, Gradients>>>();
  check_same<Of<Sharded<2>>>();
  check_same<Of<Hybrid<Sharded<4>, DataParallel<2>>>>();
}

TEST_CASE("norm and parameters have the bits of one device: stages, with slices and replicas") {
  using Back = Pipeline<Stage<Sequential<Linear<23, 16>>, On<0>>, Stage<Named<"blocks", Repeat<4, Block>>, On<1>>,
                        Stage<Sequential<Sigmoid, Linear<16, 10>>, On<0>>>;
  check_same<Of<Back>>();
  check_same<Of<Hybrid<Back, Sharded<2>>>>();
  check_same<Of<Hybrid<DataParallel<2>, Back, Sharded<2, Gradients>>>>();
}

TEST_CASE("ranks that share layers count what each has whole once: the norm is that of one device but for rounding") {
  const auto rows = rows_of<Alone>(64);
  const auto norm_of = [&]<class P>(const P*) {
    Trainer<P, CpuThreads> trainer{settings<Adam>(), Seed{5}};
    return static_cast<double>(trainer.step(rows.batch(0, 64)).norm.value());
  };
  const double wanted = norm_of(static_cast<const Alone*>(nullptr));
  // A gradient passes at most 6 products of 23 terms and sums 64 rows, each term with 3 roundings of 2^-24; factor 10 for cancellation in sums of
  // mixed sign. Counting one bias twice would change the norm by far more: the biases alone have a tenth of it.
  // The two sums of squares round as above; a norm, their root, by half of it.
  const double tolerance = (10 * 3 * (6 * 23 + 64) + 64 + 16 + 10) / static_cast<double>(1 << 24) * wanted;
  REQUIRE(tolerance < 0.001 * wanted);
  CHECK(std::abs(norm_of(static_cast<const Of<TensorParallel<2>>*>(nullptr)) - wanted) <= tolerance);
  CHECK(std::abs(norm_of(static_cast<const Of<Hybrid<TensorParallel<2>, Sharded<2>>>*>(nullptr)) - wanted) <= tolerance);
}

TEST_CASE("a norm that is not finite stops the step on every rank, and the parameters are those before it") {
  using Plan = Of<Hybrid<Sharded<2>, DataParallel<2>>>;
  const auto rows = rows_of<Plan>(64);
  Trainer<Plan, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  std::vector<float> last = trainer.parameter("3.weight");
  for (float& w : last) w *= 1e25F;  // logits and loss are finite, the squares of the gradients that pass the layer are not
  trainer.set_parameter("3.weight", last);
  const std::uint64_t before = trainer.parameter_hash();
  try {
    trainer.step(rows.batch(0, 64));
    CHECK(false);
  } catch (const Error& error) {
    CHECK(std::string{error.what()}.find("[heddle.R02]") == 0);
  }
  CHECK(trainer.parameter_hash() == before);
}

TEST_CASE("a threshold that leaves nothing is refused") {
  Trainer<Alone, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  trainer.clip().max_norm = 0;
  CHECK_THROWS_WITH_AS(trainer.step(rows_of<Alone>(64).batch(0, 64)), doctest::Contains("[heddle.O01] max_norm is 0"), Error);
}
