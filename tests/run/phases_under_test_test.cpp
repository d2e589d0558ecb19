// SPDX-License-Identifier: MIT
#include "heddle/run/phases_under_test.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/run/gradcheck.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

enum class Does : std::uint8_t { right, forgets_a_grain, forgets_the_others, reads_what_was_told_again, tells_twice };

}  // namespace

/// Takes the mean of each feature over all rows away: a user's own layer in phases.
template <Does What> struct Centred {
  using KernelLayer = Centred;
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Centred";
    leaf.spelled << "Centred";
    leaf.in = leaf.out = in;
    leaf.saves = Saves::nothing;
    leaf.statistics = in.shape;
    leaf.rows_together = 1;
    leaf.forward_phases.then_sum(in.elements());
    leaf.backward_phases.then_sum(in.elements());
    return leaf;
  }
};
template <Does What> struct heddle::Kernel<Centred<What>, EigenCompute> {
  static void forward(const ForwardCall& call) {
    Floats sums(static_cast<std::size_t>(call.leaf->in.elements()));
    add_rows(call.input, call.rows, *call.leaf, sums.data());
    take_away(call.input, sums.data(), call.rows, call.rows, *call.leaf, call.output);
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements() && call.statistics != nullptr; ++i)
      call.statistics[i] = sums[static_cast<std::size_t>(i % call.leaf->in.elements())];
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    Floats sums(static_cast<std::size_t>(call.leaf->in.elements()));
    add_rows(call.output_gradient, call.rows, *call.leaf, sums.data());
    take_away(call.output_gradient, sums.data(), call.rows, call.rows, *call.leaf, call.input_gradient);
  }
  static void tell(const ForwardCall& call) {
    if (What == Does::forgets_a_grain && call.rows == 0) return;
    for (std::int64_t f = 0; f < call.leaf->in.elements(); ++f) call.tells[f] = 0;
    add_rows(call.input, call.rows, *call.leaf, call.tells);
  }
  static void centre(const ForwardCall& call) {
    const std::int64_t n = call.leaf->in.elements();
    const float* const sums = call.told != nullptr ? call.told[0] : call.statistics;
    const std::int64_t all = What == Does::forgets_the_others ? call.rows : call.context.rows_together;
    for (std::int64_t i = 0; i < call.rows * n; ++i) {
      if (call.told != nullptr && call.statistics != nullptr) call.statistics[i] = What == Does::reads_what_was_told_again ? 0 : sums[i % n];
    }
    take_away(call.input, sums, call.rows, all, *call.leaf, call.output);
  }
  static void tell_back(const BackwardCall& call) {
    if (call.tells == nullptr) return;
    for (std::int64_t f = 0; f < call.leaf->in.elements(); ++f) call.tells[f] = 0;
    for (int times = 0; times < (What == Does::tells_twice ? 2 : 1); ++times) add_rows(call.output_gradient, call.rows, *call.leaf, call.tells);
  }
  static void centre_back(const BackwardCall& call) {
    take_away(call.output_gradient, call.told[0], call.rows, call.context.rows_together, *call.leaf, call.input_gradient);
  }
  static constexpr ForwardPhase forward_phases[] = {&tell, &centre};
  static constexpr BackwardPhase backward_phases[] = {&tell_back, &centre_back};

 private:
  static void add_rows(const float* from, std::int64_t rows, const Leaf& leaf, float* sums) {
    for (std::int64_t i = 0; i < rows * leaf.in.elements(); ++i) sums[i % leaf.in.elements()] += from[i];
  }
  static void take_away(const float* from, const float* sums, std::int64_t rows, std::int64_t all, const Leaf& leaf, float* to) {
    for (std::int64_t i = 0; i < rows * leaf.in.elements(); ++i) to[i] = from[i] - sums[i % leaf.in.elements()] / static_cast<float>(all);
  }
};

namespace {

template <Does What> std::string found() { return gradcheck_on<Centred<What>, EigenCompute>(Spec{Shape{5}}, 4).text; }

}  // namespace

TEST_CASE("a user's own layer in phases passes, whose grains tell what the others must know") { CHECK(found<Does::right>() == ""); }

TEST_CASE("what a grain without rows does not tell, what a rank makes of its own rows alone, and what cannot run again is found") {
  CHECK(
      found<Does::forgets_a_grain>() ==
      "[heddle.G12] Centred: its output in phases differs from that of forward. Fix: let each phase tell sums of its own rows, zeros if it has none, "
      "and make the rest of what all told and of context.rows_together.");
  CHECK(found<Does::forgets_the_others>().find("[heddle.G12] Centred: its output in phases differs from that of forward.") == 0);
  CHECK(found<Does::reads_what_was_told_again>().find(
            "[heddle.G12] Centred: its last forward phase makes another output of the statistics alone, as where it runs again.") == 0);
  CHECK(found<Does::tells_twice>().find("[heddle.G12] Centred: its gradient of the input in phases differs from that of backward.") == 0);
}

TEST_CASE("it trains on ranks as on one device, with any grains, and stages, and where it runs again") {
  struct Net : Sequential<Linear<4, 6>, Centred<Does::right>, GELU, Linear<6, 2>> {};
  const auto losses = []<class P>(const P*) {
    std::vector<float> x(32);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 19) / 8;
    const std::vector<std::int32_t> y{0, 1, 1, 0, 1, 0, 0, 1};
    Trainer<P, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}};
    std::vector<float> all;
    for (int step = 0; step < 5; ++step) all.push_back(trainer.step(examples(x, y, 4)).loss.value());
    return all;
  };
  const auto wanted = losses(static_cast<Plan<Net, CrossEntropy, SGD, Batch<8>, Grain<2>, Single>*>(nullptr));
  CHECK(losses(static_cast<Plan<Net, CrossEntropy, SGD, Batch<8>, Grain<2>, DataParallel<4>>*>(nullptr)) == wanted);
  CHECK(losses(static_cast<Plan<Net, CrossEntropy, SGD, Batch<8>, Grain<2>, Sharded<2>, Recompute<Centred<Does::right>, GELU>>*>(nullptr)) == wanted);
  CHECK(losses(static_cast<Plan<Net, CrossEntropy, SGD, Batch<8>, Grain<2>, Single, Accumulate<2>>*>(nullptr)) ==
        losses(static_cast<Plan<Net, CrossEntropy, SGD, Batch<8>, Grain<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>>*>(nullptr)));
}
