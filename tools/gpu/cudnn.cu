// SPDX-License-Identifier: MIT
// Conv2d and SelfAttention by cuDNN on this card: the laws of every Compute with it, what it says of layers, and times beside Heddle's own kernels.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "rooms.hpp"  // names of all rooms, as tests see them
// clang-format off: they come first
#include "conformance/bfloat16.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "conformance/layers.hpp"
#include "heddle/backend/cuda.hpp"
#include "heddle/compute/cuda/cudnn.hpp"
#include "heddle/core/type_name.hpp"
#include "rows.hpp"
#include "timed_layer.hpp"

using namespace heddle;
using namespace heddle::compute_room;

namespace {

int wrong = 0;

template <class Value, bool tf32 = false> using ByCuDNN = conformance::UploadedAs<Value, tf32, &make_cudnn>;

template <class Law> void row(const std::string& name, const char* arithmetic, Law law) {
  std::string broken;
  try {
    broken = law();
  } catch (const std::exception& error) {
    broken = error.what();
  }
  if (!broken.empty()) ++wrong;
  std::printf("| %s | %s | %s |\n", name.c_str(), arithmetic, broken.empty() ? "yes" : ("NO: " + broken).c_str());
  std::fflush(stdout);
}
/// Windows of all kinds, and attention that cuDNN takes and that it does not.
template <class L> inline constexpr bool asks_library = false;
template <std::int64_t In, std::int64_t Out, class... Options> inline constexpr bool asks_library<Conv2d<In, Out, Options...>> = true;
template <class... Options> inline constexpr bool asks_library<SelfAttention<Options...>> = true;
template <class L> void laws(gpu_check::Rows& rows) {
  using namespace conformance;
  const std::string name{type_name<L>().view()};
  if constexpr (asks_for_products<L>) {
    rows.each([&] { row(name, "float32", [] { return broken_law_of_layer<L, ByCuDNN<float>>(20, Asked::all); }); });
    rows.each([&] { row(name, "TF32", [] { return broken_law_of_layer<L, ByCuDNN<float, true>>(20, Asked::all, precision_of_tf32); }); });
  } else {
    rows.each([&] { row(name, "bfloat16", [] { return broken_law_of_bfloat16<L, UploadedCuda, ByCuDNN<BFloat16>>(20); }); });
  }
}

/// One layer of so many rows, by kernels of Heddle and by cuDNN.
template <class L, class Value> void times(const Shape& in, std::int64_t rows, bool tf32, const char* arithmetic) {
  cudaStream_t const stream = gpu_check::new_stream();
  const std::unique_ptr<CudaLibrary> library = make_cudnn({stream, tf32, rows});
  gpu_check::TimedLayer<L, Value> timed(stream, in, rows, tf32);
  const std::string name{timed.leaf().spelled.view()};
  for (CudaLibrary* const by : {static_cast<CudaLibrary*>(nullptr), library.get()}) {
    timed.by(by);
    const float forward = timed.forward(), backward = timed.backward();
    std::printf("| %s, %lld rows | %s | %s | %.0f | %.0f |\n", name.c_str(), static_cast<long long>(rows), arithmetic,
                by == nullptr ? "Heddle" : "cuDNN", static_cast<double>(forward), static_cast<double>(backward));
  }
  for (const std::string& said : library->notes()) std::printf("| %s | | | | |\n", said.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** given) {
  gpu_check::Rows rows(count, given, wrong);
  rows.each([] {
    std::printf("cuDNN %zu, built with %d\n\n| layer | in | agrees with loops in double, and keeps to its tensors |\n|---|---|---|\n",
                cudnnGetVersion(), CUDNN_VERSION);
  });
  conformance::for_each_of<conformance::Layers>([&]<class L> {
    if constexpr (asks_library<L>) laws<L>(rows);
  });
  rows.each([] { std::printf("\n| layer | in | by | forward [us] | backward [us] |\n|---|---|---|---|---|\n"); });
  using Wide = Conv2d<64, 64, KernelSize<3>, Padding<1>, NoBias>;
  using Deep = Conv2d<256, 256, KernelSize<3>, Padding<1>, NoBias>;
  using Halving = Conv2d<128, 256, KernelSize<3>, Padding<1>, Stride<2>>;
  rows.each([] { times<Wide, float>(Shape{64, 56, 56}, 32, false, "float32"); });
  rows.each([] { times<Wide, float>(Shape{64, 56, 56}, 32, true, "TF32"); });
  rows.each([] { times<Deep, float>(Shape{256, 14, 14}, 32, true, "TF32"); });
  rows.each([] { times<Halving, float>(Shape{128, 28, 28}, 32, true, "TF32"); });
  rows.each([] { times<SelfAttention<Heads<12>>, BFloat16>(Shape{256, 3 * 768}, 32, false, "bfloat16"); });
  rows.each([] { times<SelfAttention<Heads<12>>, BFloat16>(Shape{1024, 3 * 768}, 8, false, "bfloat16"); });
  rows.each([] { times<SelfAttention<Heads<12>, Causal>, BFloat16>(Shape{1024, 3 * 768}, 8, false, "bfloat16"); });
  std::printf("\ncudnn: %d rows wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
