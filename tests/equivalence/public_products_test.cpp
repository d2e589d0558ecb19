// SPDX-License-Identifier: MIT
// Plans on the public product of Eigen, which every version but 3.4 uses: the equal bits of plans do not hang on what lies inside Eigen.
#include "heddle/compute/eigen/public_products.hpp"
#include "equivalence/equal.hpp"

namespace {
struct PublicCompute : heddle::EigenCompute {};
}  // namespace

template <> struct heddle::compute_room::ProductsOf<PublicCompute> { using type = heddle::PublicProducts; };

using namespace equivalence;

namespace {

struct PublicThreads : CpuThreads {
  using Compute = PublicCompute;
};

struct Mlp : Sequential<Linear<20, 300>, ReLU, Linear<300, 10>> {};
template <class Policy> using Training = Plan<Mlp, CrossEntropy, Adam, Batch<32>, Grain<8>, Policy>;

template <class Policy> std::uint64_t trained() {
  Trainer<Training<Policy>, PublicThreads> trainer{settings<Adam>(), Seed{1}};
  const auto rows = rows_of<Training<Policy>>(5 * 32);
  for (int step = 0; step < 10; ++step) trainer.step(rows.batch(step % 5 * 32, 32));
  return trainer.parameter_hash();
}

}  // namespace

TEST_CASE("plans on the public product end with the parameters of one device, bit for bit") {
  const std::uint64_t alone = trained<Single>();
  CHECK(trained<DataParallel<2>>() == alone);
  CHECK(trained<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>() == alone);
}
