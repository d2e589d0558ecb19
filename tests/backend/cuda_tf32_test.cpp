// SPDX-License-Identifier: MIT
// Plans on cards that round the factors of float32 products, which the emulator stands for.
#include "heddle/backend/cuda_tf32.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "backend/plans_on_cards.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/backend/cuda_one_card.hpp"
#include "heddle/backend/cuda_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace plans_on_cards;

namespace {

/// Notes what the queue of its calls says.
struct Asking {
  static bool forward_seen, backward_seen;
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Asking";
    leaf.spelled << "Asking";
    leaf.in = leaf.out = in;
    leaf.saves = Saves::nothing;
    return leaf;
  }
};
bool Asking::forward_seen = false;
bool Asking::backward_seen = false;

template <class ThePlan, class Backend> std::uint64_t hash_after(int steps) {
  Trainer<ThePlan, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < steps; ++s) trainer.step(Rows(16, s).batch());
  return trainer.parameter_hash();
}

}  // namespace

template <std::derived_from<CudaCompute> C> struct heddle::Kernel<Asking, C> {
  static void forward(const ForwardCallIn<CudaMemory>& call) {
    Asking::forward_seen = call.space.queue->tf32;
    CudaCompute::copy(call.space, call.output, call.input, call.rows * call.leaf->in.elements());
  }
  static void backward(const BackwardCallIn<CudaMemory>& call) {
    Asking::backward_seen = call.space.queue->tf32;
    CudaCompute::copy(call.space, call.input_gradient, call.output_gradient, call.rows * call.leaf->in.elements());
  }
};
template <> struct heddle::Kernel<Asking, EigenCompute> {
  static void forward(const ForwardCall& call) { EigenCompute::copy(call.output, call.input, call.rows * call.leaf->in.elements()); }
  static void backward(const BackwardCall& call) {
    EigenCompute::copy(call.input_gradient, call.output_gradient, call.rows * call.leaf->in.elements());
  }
};

TEST_CASE("TF32, emulated: policies have one another's bits, which are not those of float32") {
  const Cards cards{{.devices = 2, .algorithms = 4}};  // none whose sums depend on the rows beside
  using OnCard = AllowTF32<CudaOneCard>;
  const std::uint64_t alone = hash_after<Of<Single>, OnCard>(4);
  CHECK(hash_after<Of<DataParallel<4>>, OnCard>(4) == alone);
  CHECK(hash_after<Of<Sharded<2>>, OnCard>(4) == alone);
  CHECK(hash_after<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, OnCard>(4) == alone);
  CHECK(hash_after<Of<DataParallel<2>>, AllowTF32<CudaThreads>>(4) == alone);
  CHECK(hash_after<Of<Single>, CudaOneCard>(4) != alone);
}

TEST_CASE("verify knows how far TF32 lies from the reference, and a smaller tolerance sees it") {
  const Cards cards{{.devices = 1, .algorithms = 4}};
  const Rows rows(16);
  CHECK(verify<Of<DataParallel<2>>, AllowTF32<CudaOneCard>>(rows.batch(), Seed{3}).text == "");
  const std::string off = verify<Of<DataParallel<2>>, AllowTF32<CudaOneCard>>(rows.batch(), Seed{3}, 1e-6).text;
  CHECK(off.find("[heddle.R06]") == 0);
  CHECK(verify<Of<DataParallel<2>>, CudaOneCard>(rows.batch(), Seed{3}, 1e-6).text == "");
  static_assert(run_room::verified_within<AllowTF32<CudaThreads>>() == 1e-2 && run_room::verified_within<CudaOneCard>() == 1e-4);
}

TEST_CASE("kernels are told by their queue whether they may round to TF32") {
  struct Asked : Sequential<Linear<20, 16>, Asking, Linear<16, 10>> {};
  using ThePlan = Plan<Asked, CrossEntropy, SGD, Batch<16>, Single>;
  const Cards cards{};
  const auto seen = [](auto& trainer) {
    trainer.step(Rows(16).batch());
    return Asking::forward_seen && Asking::backward_seen;
  };
  Trainer<ThePlan, AllowTF32<CudaOneCard>> rounds{{}, Seed{1}};
  CHECK(seen(rounds));
  Trainer<ThePlan, CudaOneCard> floats{{}, Seed{1}};
  CHECK(!seen(floats));
}
