// SPDX-License-Identifier: MIT
// Leaves that share parameters, split over the ranks of axis tensor, alone and under stages, slices and replicas.
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

/// Both uses are the first of a pair, and both the second of one.
struct Twice : Sequential<Linear<23, 16>, Named<"up", Linear<16, 24>>, GELU, Named<"down", Linear<24, 16>>, Tanh,
                          Tied<"up2", Linear<16, 24>, To<"up">>, Sigmoid, Tied<"down2", Linear<24, 16>, To<"down">>, Linear<16, 10>> {};
/// Alone, the first would be split by columns and the second by rows.
struct Facing : Sequential<Linear<23, 16>, Tanh, Named<"a", Linear<16, 16>>, GELU, Tied<"b", Linear<16, 16>, To<"a">>, Tanh, Linear<16, 24>, GELU,
                           Linear<24, 10>> {};

template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, Adam, Batch<48, KeepLast>, Parts...>;
template <class Model, class... Parts> void check_verified() {
  using P = Of<Model, Parts...>;
  const auto data = rows_of<P>(48);
  // Terms of one product or of one sum of uses: at most 48. Each of the few sums between two tensors moves by at most 48 x 2^-24 = 3e-6 of its
  // largest term.
  const Verification found = verify<P, CpuThreads>(data.batch(0, 48), Seed{3}, 2e-5);
  CHECK(found.text == "");
  CHECK(found.tensors > 20);
}
template <class Policy> [[nodiscard]] float norm_of() {
  using P = Of<Twice, Policy, Clip<GlobalNorm>>;
  Trainer<P, CpuThreads> trainer{settings<Adam>(), Seed{3}};
  return trainer.step(rows_of<P>(48).batch(0, 48)).norm.value();
}

}  // namespace

TEST_CASE("split alike, on one stage and on several, tied leaves train as on one device") {
  static_assert(Of<Twice, TensorParallel<2>>::training.parameters[2].split == laid::shard(0));  // up.weight by columns
  static_assert(Of<Twice, TensorParallel<2>>::training.parameters[6].split == laid::shard(0));  // up2.weight too
  check_verified<Twice, TensorParallel<2>>();
  check_verified<Twice, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>();
  check_verified<Twice, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>();
  check_verified<Facing, TensorParallel<2>>();
  check_verified<Facing, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>>, DataParallel<2>>>();
}

TEST_CASE("the norm counts split parameters part by part, and tied ones once") {
  const float wanted = norm_of<Single>();
  // The squares of some 2000 elements of one sign are added in another order: within 2000 x 2^-24 of the exact sum each, half of that of the root;
  // and gradients move by 3e-6 of their largest term, as above.
  const float bound = (2000 * 0x1p-24F + 2e-5F) * wanted;
  CHECK(std::fabs(norm_of<TensorParallel<2>>() - wanted) <= bound);
  CHECK(std::fabs(norm_of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>() - wanted) <= bound);
}
