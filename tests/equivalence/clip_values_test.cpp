// SPDX-License-Identifier: MIT
// Gradients whose elements are clipped: the bits of one device under every policy, one hash, PyTorch's rule, and what is refused.
#include <limits>

#include "equivalence/every_policy.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/proof/prove.hpp"

using namespace heddle;

namespace {

struct Deep : Sequential<Linear<12, 16>, ReLU, Repeat<2, Residual<Linear<16, 16>, Tanh>>, Linear<16, 16>> {};
template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Clip<EachValue>, Parts...>;
using Alone = Plan<Deep, CrossEntropy, MomentumSGD, Batch<32>, Clip<EachValue>, Single>;
using Free = Plan<Deep, CrossEntropy, MomentumSGD, Batch<32>, Single>;
template <class... Parts> using Small = Plan<Deep, CrossEntropy, AdamW, Batch<16>, Clip<EachValue>, Parts...>;

}  // namespace

TEST_CASE("plans that clip each value have the bits of one device under every policy") { equivalence::check_every_policy<Of, Deep>(); }

TEST_CASE("a proof covers it: one hash for all plans that clip each value, and another for those that do not") {
  const Proof of_one = prove<Small<Single>>();
  CHECK((of_one && of_one.log2_of_bound <= -40));
  const std::uint64_t alone = of_one.hash;
  CHECK(prove<Small<Sharded<2>>>().hash == alone);
  CHECK(prove<Small<TensorParallel<2>>>().hash == alone);
  CHECK(prove<Small<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>, LossScaling>>().hash ==
        prove<Small<LossScaling, Single>>().hash);
  CHECK(prove<Plan<Deep, CrossEntropy, AdamW, Batch<16>, Single>>().hash != alone);
}

TEST_CASE("each element is taken to the limit, and what lies within it stays, as clip_grad_value_ does") {
  const auto rows = equivalence::rows_of<Free>(32);
  Trainer<Free, CpuThreads> free{{.learning_rate = 0.1}, Seed{5}};
  Trainer<Alone, CpuThreads> clipped{{.learning_rate = 0.1}, Seed{5}};
  const float limit = 0.01F;
  clipped.clip().max_value = 0.01;
  free.step(rows.batch(0, 32));
  clipped.step(rows.batch(0, 32));
  int within = 0, beyond = 0;
  for (const std::string& name : free.parameter_names()) {
    const std::vector<float> wanted = free.gradient(name), got = clipped.gradient(name);
    bool same = true;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      same = same && got[i] == std::min(std::max(wanted[i], -limit), limit);
      ++(std::fabs(wanted[i]) > limit ? beyond : within);
    }
    CHECK(same);
  }
  CHECK(within > 100);
  CHECK(beyond > 100);
  CHECK(clipped.parameter_hash() != free.parameter_hash());
}

TEST_CASE("a limit that leaves nothing is refused before anything is stepped") {
  const auto rows = equivalence::rows_of<Alone>(32);
  Trainer<Alone, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{5}};
  const std::uint64_t before = trainer.parameter_hash();
  for (const double limit : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    trainer.clip().max_value = limit;
    CHECK_THROWS_WITH_AS(trainer.step(rows.batch(0, 32)), doctest::Contains("so no gradient would be left. Fix: use a value above 0."), Error);
  }
  CHECK(trainer.parameter_hash() == before);
  trainer.clip().max_value = 1;
  CHECK(trainer.step(rows.batch(0, 32)).step == 1);
}

TEST_CASE("same_bits asks whether both clip each value") {
  static_assert(!same_bits<Alone, Free>());
  CHECK(same_bits<Alone, Free>().text.view() ==
        "[heddle.B12] the plans do not end with the same bits: one of them clips each value. Fix: name Clip<EachValue> in both or in neither.");
  static_assert(same_bits<Of<Deep, Single>, Of<Deep, Sharded<2>>>());
}
