// SPDX-License-Identifier: MIT
#include "heddle/run/wide_tensors.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/heddle.hpp"
#include "heddle/run/host_work.hpp"
#include "plan/at_run_time.hpp"

using namespace heddle;

namespace {
struct Net : Sequential<Linear<50, 10>, ReLU, Linear<10, 4>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, SGD, Batch<32>, Grain<16>, Parts...>;
}  // namespace

TEST_CASE("a plan of float32 has nothing wide, one of bfloat16 the largest layer: its parameters, what it takes and gives and both gradients") {
  CHECK(run_room::wide_bytes(tests::training_of<Of<Single>>()) == Bytes{0});
  // 16 rows of 50 and of 10 floats, twice; 500 weights and 10 biases in whole lines of 16
  CHECK(run_room::wide_bytes(tests::training_of<Of<Single, Mixed<BFloat16>>>()) == Bytes{4 * (2 * (16 * 50 + 16 * 10) + 512 + 16)});
}

TEST_CASE("of a layer whose kernel takes bfloat16 nothing is wide but outputs where the loss takes none, and parameters that are gathered") {
  /// Stands for the memory of a card.
  struct Elsewhere {};
  const Program& p = tests::training_of<Of<Single, Mixed<BFloat16>>>();
  run_room::LeafKernelsIn<Elsewhere> leaves[3] = {};
  CHECK(run_room::wide_bytes(p, leaves, true) == run_room::wide_bytes(p));
  for (auto& leaf : leaves) leaf.takes_bfloat16 = true;
  CHECK(run_room::wide_bytes(p, leaves, true) == Bytes{0});
  CHECK(run_room::wide_bytes(tests::training_of<Of<Sharded<2>, Mixed<BFloat16>>>(), leaves, true) == Bytes{4 * (256 + 16)});
  leaves[1].takes_bfloat16 = false;  // ReLU: 16 rows of 10 floats, in and out and the gradients of both
  CHECK(run_room::wide_bytes(p, leaves, true) == Bytes{4 * 4 * 160});
  leaves[1].takes_bfloat16 = true;
  struct Two : Sequential<Linear<2, 40, NoBias>> {};
  const Program& wide = tests::training_of<Plan<Two, CrossEntropy, SGD, Batch<32>, Grain<16>, Mixed<BFloat16>>>();
  CHECK(run_room::wide_bytes(wide, leaves, false) == Bytes{4 * 3 * 16 * 40});
  CHECK(run_room::wide_bytes(wide, leaves, true) == Bytes{0});
}

TEST_CASE("parameters of a role in bfloat16 are as many as its flat buffer has, where a kernel that takes them reads some that lie whole") {
  run_room::LeafKernels leaves[3] = {};
  const Program& p = tests::training_of<Of<Single, Mixed<BFloat16>>>();
  CHECK(run_room::rounded_bytes(p, leaves, 0) == Bytes{0});
  leaves[2].takes_bfloat16 = true;
  CHECK(run_room::rounded_bytes(p, leaves, 0) == Bytes{2 * p.arenas[0].flat_elements()});
  CHECK(p.arenas[0].flat_elements() >= 50 * 10 + 10 + 10 * 4 + 4);
  CHECK(run_room::rounded_bytes(tests::training_of<Of<Single>>(), leaves, 0) == Bytes{0});
  CHECK(run_room::rounded_bytes(tests::training_of<Of<Sharded<2>, Mixed<BFloat16>>>(), leaves, 0) == Bytes{0});  // gathered before use
  struct Still : Sequential<Linear<50, 10>, ReLU, Frozen<Linear<10, 4>>> {};
  const Program& still = tests::training_of<Plan<Still, CrossEntropy, SGD, Batch<32>, Grain<16>, Mixed<BFloat16>>>();
  CHECK(run_room::rounded_bytes(still, leaves, 0) == Bytes{0});
}

TEST_CASE("sums over ranks are wide as a whole, with the part of a rank behind them") {
  struct Wide : Sequential<Linear<2, 2, NoBias>, Linear<2, 512, NoBias>, Linear<512, 2, NoBias>> {};
  const Program& p = tests::training_of<Plan<Wide, CrossEntropy, SGD, Batch<32>, TensorParallel<2>, Mixed<BFloat16>>>();
  std::int64_t most = 0;
  for (int i = 0; i < p.collective_count; ++i)
    if (p.collectives[i].widens()) most = std::max(most, p.collectives[i].elements);
  CHECK(most > 0);
  CHECK(run_room::wide_bytes(p) >= Bytes{8 * most});
}

TEST_CASE("what is read is widened, what is written is rounded when the entry has run, and parameters are read rounded") {
  const KernelTable kernels;
  run_room::HostWork work{kernels};
  run_room::WideTensors<run_room::HostWork> wide{tests::training_of<Of<Single, Mixed<BFloat16>>>(), work};
  CHECK(wide.on());
  std::vector<float> place(32);  // room for 64 of bfloat16
  const std::vector<float> numbers{1.0F, 1.0F + 0x1p-8F, -3.0F, 0x1p-100F};
  run_room::round(place.data(), numbers.data(), 4);
  wide.clear();
  const float* const read = wide.read(place.data(), 4);
  CHECK(std::vector<float>(read, read + 4) == std::vector<float>{1.0F, 1.0F, -3.0F, 0x1p-100F});
  float* const written = wide.write(place.data(), 4);
  for (int i = 0; i < 4; ++i) written[i] = 5.0F + 0x1p-20F;
  CHECK(std::vector<float>(read, read + 4).front() == 1.0F);  // a copy of its own
  wide.put_back();
  const float* const again = wide.read(place.data(), 4);
  CHECK(std::vector<float>(again, again + 4) == std::vector<float>(4, 5.0F));
  const float parameter = 1.0F + 0x1p-20F;
  CHECK(*wide.parameter(&parameter, 1) == 1.0F);
  CHECK(wide.read(nullptr, 4) == nullptr);
  CHECK(wide.write(nullptr, 4) == nullptr);
}

TEST_CASE("where values are float32 pointers are handed on") {
  const KernelTable kernels;
  run_room::HostWork work{kernels};
  run_room::WideTensors<run_room::HostWork> wide{tests::training_of<Of<Single>>(), work};
  float number = 1.0F + 0x1p-20F;
  CHECK(wide.read(&number, 1) == &number);
  CHECK(wide.write(&number, 1) == &number);
  CHECK(wide.parameter(&number, 1) == &number);
}
