// SPDX-License-Identifier: MIT
#include "heddle/run/kernel_operands.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/heddle.hpp"
#include "heddle/run/host_work.hpp"
#include "plan/at_run_time.hpp"

using namespace heddle;

namespace {

struct Net : Sequential<Linear<5, 3>, ReLU, Linear<3, 2>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, SGD, Batch<8>, Grain<4>, Parts...>;

/// Where the parameters of the first layer lie, and what its kernel is given of them.
struct Found {
  run_room::RankTensors tensors;
  KernelTable kernels;
  run_room::HostWork work{kernels};
  run_room::KernelOperands<run_room::HostWork> operands;
  explicit Found(const Program& p) : tensors(p, Rank{0}), operands(p, tensors, work) {
    float* const weight = tensors.held_parameter(0).values;
    for (int i = 0; i < 15; ++i) weight[i] = 1.0F + 0x1p-20F;
  }
  const float* const* parameters(const Program& p) { return operands.parameters(p.graph->nodes[0], 0, p.graph->leaf(0)); }
};

}  // namespace

TEST_CASE("kernels of a plan of float32 read and write where tensors lie") {
  const Program& p = tests::training_of<Of<Single>>();
  Found found{p};
  CHECK(found.parameters(p)[0] == found.tensors.held_parameter(0).values);
  const Entry& forward = p.entries[p.forward_bodies[0].begin + 1];
  CHECK(forward.what == BodyOp::leaf_forward);
  found.operands.begin_grain();
  CHECK(found.operands.input(forward.a, p.graph->leaf(0), 1, 4) == found.tensors.at_grain(forward.a, 5, 1));
  CHECK(found.operands.write(forward.d, 3, 1, 4) == found.tensors.at_grain(forward.d, 3, 1));
}

TEST_CASE("those of a plan of bfloat16 have copies: parameters rounded once, tensors one grain at a time") {
  const Program& p = tests::training_of<Of<Single, Mixed<BFloat16>>>();
  Found found{p};
  const float* const* read = found.parameters(p);
  CHECK(read[0] != found.tensors.held_parameter(0).values);
  CHECK(read[0][14] == 1.0F);
  CHECK(found.tensors.held_parameter(0).values[14] == 1.0F + 0x1p-20F);
  const Entry& forward = p.entries[p.forward_bodies[0].begin + 1];
  const float numbers[] = {3.0F, -2.5F, 0.0F};
  run_room::round(found.tensors.at_grain(forward.a, 5, 1, ElementType::bfloat16), numbers, 3);
  found.operands.begin_grain();
  const float* const in = found.operands.input(forward.a, p.graph->leaf(0), 1, 4);
  CHECK(std::vector<float>(in, in + 3) == std::vector<float>{3.0F, -2.5F, 0.0F});
  float* const out = found.operands.write(forward.d, 3, 1, 4);
  for (int i = 0; i < 12; ++i) out[i] = 2.0F + 0x1p-20F;
  found.operands.put_back();
  found.operands.begin_grain();
  const float* const again = found.operands.read(forward.d, 3, 1, 4);
  CHECK(again == in);  // the room of the grain before
  CHECK(std::vector<float>(again, again + 12) == std::vector<float>(12, 2.0F));
  CHECK(read[0][14] == 1.0F);
}

TEST_CASE("a kernel that takes bfloat16 is given tensors where they lie and parameters rounded to it, and so is a loss") {
  const Program& p = tests::training_of<Of<Single, Mixed<BFloat16>>>();
  run_room::LeafKernels leaves[3] = {};
  leaves[0].takes_bfloat16 = true;
  Found found{p};
  run_room::KernelOperands<run_room::HostWork> operands{p, found.tensors, found.work, leaves, true};
  const float* const* read = operands.parameters(p.graph->nodes[0], 0, p.graph->leaf(0));
  const auto* const weight = reinterpret_cast<const BFloat16*>(read[0]);
  CHECK(core_room::widened(weight[14]) == 1.0F);
  const Entry& forward = p.entries[p.forward_bodies[0].begin + 1];
  operands.begin_grain();
  const auto lies = [&](const Place& place, std::int64_t features) { return found.tensors.at_grain(place, features, 1, ElementType::bfloat16); };
  CHECK(operands.input(forward.a, p.graph->leaf(0), 1, 4) == lies(forward.a, 5));
  CHECK(operands.write(forward.d, 3, 1, 4) == lies(forward.d, 3));
  CHECK(operands.update(forward.d, 3, 1, 4) == lies(forward.d, 3));
  operands.put_back();
  CHECK(core_room::widened(weight[0]) == 1.0F);  // a grain takes no room
  static_cast<void>(operands.parameters(p.graph->nodes[1], 1, p.graph->leaf(1)));
  CHECK(operands.read(forward.d, 3, 1, 4) != lies(forward.d, 3));  // ReLU takes floats
  operands.begin_loss();
  CHECK(operands.update(forward.d, 3, 1, 4) == lies(forward.d, 3));
  operands.begin();
  CHECK(operands.read(forward.d, 3, 1, 4) != lies(forward.d, 3));
}

TEST_CASE("parameters for kernels that take bfloat16 are rounded together when a step first reads one, and again in the next step") {
  const Program& p = tests::training_of<Of<Single, Mixed<BFloat16>>>();
  run_room::LeafKernels leaves[3] = {};
  for (auto& leaf : leaves) leaf.takes_bfloat16 = true;
  Found found{p};
  run_room::KernelOperands<run_room::HostWork> operands{p, found.tensors, found.work, leaves, true};
  const auto first_of = [&](int node) {
    return core_room::widened(*reinterpret_cast<const BFloat16*>(operands.parameters(p.graph->nodes[node], node, p.graph->leaf(node))[0]));
  };
  float* const weight = found.tensors.held_parameter(0).values;
  float* const behind = found.tensors.held_parameter(2).values;  // of the other Linear
  behind[0] = 3.0F;
  operands.begin_step();
  CHECK(first_of(0) == 1.0F);
  weight[0] = 5.0F;
  behind[0] = 7.0F;
  CHECK(first_of(0) == 1.0F);
  CHECK(first_of(2) == 3.0F);
  operands.begin_step();
  CHECK(first_of(2) == 7.0F);
  CHECK(first_of(0) == 5.0F);
}

TEST_CASE("parameters that nothing reads are not looked for") {
  const Program& p = tests::training_of<Of<Single, Mixed<BFloat16>>>();
  Found found{p};
  CHECK(found.operands.parameters(p.graph->nodes[0], 0, p.graph->leaf(0), false)[0] == nullptr);
}
