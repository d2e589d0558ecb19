// SPDX-License-Identifier: MIT
// Layouts that guides of Megatron name for whole clusters: which are plans here, which are refused and why, and two rows that cannot be meant as they
// are printed. Sources: sources.md#megatron-2021, sources.md#megatron-guide.
#include <doctest/doctest.h>

#include <string>

#include "heddle/cost/machine_check.hpp"
#include "heddle/heddle.hpp"
#include "heddle/plan/lowered.hpp"

using namespace heddle;

namespace {

template <std::int64_t Width> struct Feeding : Residual<Linear<Width, 4 * Width>, GELU, Linear<4 * Width, Width>> {};
/// As wide and deep as a published model, its blocks of two products.
template <std::int64_t Width, int Layers, int Length>
struct Stack : Sequential<Input<Length>, Embedding<51200, Width>, Repeat<Layers, Feeding<Width>>, Linear<Width, 51200, NoBias>> {};

template <class Model, int Tensor, int Stages, int Replicas, int Rounds>
using Layout3D = Plan<Model, CrossEntropy, Adam, Batch<Replicas * Rounds>,
                      Hybrid<TensorParallel<Tensor>, Pipeline<Balanced<Stages>, OneFOneB, Microbatches<Rounds>>, DataParallel<Replicas>>>;

template <class ThePlan> LoweredPlan lowered() { return lower(request_of<plan_room::RequestOf<ThePlan>>()); }
/// The sentence that refuses a plan on so many devices; empty if it is a plan and has a place.
template <class ThePlan> std::string refused(int devices) {
  const LoweredPlan plan = lowered<ThePlan>();
  if (const Diagnosis fault = check(plan); !fault.ok()) return std::string{fault.sentence().view()};
  return std::string{check(Machine{.devices = devices}, plan.training()).sentence().view()};
}

}  // namespace

TEST_CASE("175B as TP4 PP8 and the axes of 70B and 405B that plans have, TP4 PP4 and TP8 PP8, are plans of their numbers of devices") {
  CHECK(refused<Layout3D<Stack<12288, 96, 2048>, 4, 8, 4, 16>>(128) == "");
  CHECK(refused<Layout3D<Stack<8192, 80, 8192>, 4, 4, 4, 8>>(64) == "");
  CHECK(refused<Layout3D<Stack<16384, 126, 8192>, 8, 8, 16, 16>>(1024) == "");
}

TEST_CASE("a layout whose axes multiply to more than the devices is refused with both numbers: TP2 PP16 EP64 on 1,024 taken as a product") {
  using Literally = Layout3D<Stack<7168, 61, 4096>, 2, 16, 64, 16>;
  CHECK(refused<Literally>(1024).find("[heddle.M17] a plan has 2048 devices, the Machine 1024. Fix: ") == 0);
  // Experts that share the data ranks leave 1,024 / (2 x 16) = 32 of them.
  CHECK(refused<Layout3D<Stack<7168, 61, 4096>, 2, 16, 32, 16>>(1024) == "");
}
