// SPDX-License-Identifier: MIT
#include "heddle/backend/cuda_device.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/backend/cuda_one_card.hpp"

using namespace heddle;

namespace {

struct Net : Sequential<Linear<12, 16>, LayerNorm<16>, GELU, Linear<16, 6>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, MomentumSGD, Batch<8>, Grain<2>, Parts...>;

/// After three steps of both: the largest difference of a parameter, as a part of the largest one.
template <class ThePlan> double distance_from_threads() {
  Trainer<ThePlan, CudaOneCard> there{{.learning_rate = 0.1, .momentum = 0.9}, Seed{2}};
  Trainer<ThePlan, CpuThreads> here{{.learning_rate = 0.1, .momentum = 0.9}, Seed{2}};
  std::vector<float> x(8 * 12);
  std::vector<std::int32_t> y(8);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((29 * i) % 61) / 61.0F;
  for (int i = 0; i < 8; ++i) y[static_cast<std::size_t>(i)] = (5 * i + 1) % 6;
  for (int s = 0; s < 3; ++s) {
    there.step(examples(x, y, 12));
    here.step(examples(x, y, 12));
  }
  double far = 0, most = 0;
  for (const std::string& name : here.parameter_names()) {
    const std::vector<float> a = there.parameter(name), b = here.parameter(name);
    for (std::size_t i = 0; i < b.size(); ++i) {
      far = std::max(far, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
      most = std::max(most, std::abs(static_cast<double>(b[i])));
    }
  }
  return far / most;
}

using backend_room::CudaDevice;
using Endpoint = backend_room::OneCardSession::Endpoint;
static_assert(std::is_constructible_v<CudaDevice, const Program&, const CudaDevice::Kernels&, Rank, Endpoint&>);
static_assert(!std::is_constructible_v<CudaDevice, const Program&, const KernelTable&, Rank, Endpoint&>);  // of the host

}  // namespace

TEST_CASE("steps of bfloat16 values, of clipped gradients and of recomputed layers end near those of the host") {
  cuda_emulator::reset({.seed = 5});
  CHECK(distance_from_threads<Of<Single>>() < 1e-5);
  CHECK(distance_from_threads<Of<DataParallel<2>, Mixed<BFloat16>>>() < 1e-2);
  CHECK(distance_from_threads<Of<Sharded<2>, Clip<GlobalNorm>, Recompute<GELU>>>() < 1e-5);
  CHECK(cuda_emulator::violations().empty());
  CHECK(cuda_emulator::alive() == "");
}
