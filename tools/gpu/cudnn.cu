// SPDX-License-Identifier: MIT
// Conv2d and SelfAttention by cuDNN on this card: the laws of every Compute with it, what it says of layers, and times beside Heddle's own kernels.
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include "rooms.hpp"  // names of all rooms, as tests see them
// clang-format off: they come first
#include "card.hpp"
#include "conformance/bfloat16.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "conformance/layers.hpp"
#include "heddle/backend/cuda.hpp"
#include "heddle/compute/cuda/cudnn.hpp"
#include "heddle/core/type_name.hpp"
#include "rows.hpp"

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

/// One layer of so many rows, forward and backward; its tensors are zeros, which cost what other numbers do.
template <class L, class Value> class Timed {
 public:
  Timed(const Shape& in, std::int64_t rows, bool tf32) : leaf_(L::describe(Spec{in})), rows_(rows), tf32_(tf32) {}
  void rows(const char* arithmetic) {
    const std::string name{leaf_.spelled.view()};
    const auto by = [&](const char* who, CudaLibrary* library) {
      queue_ = {stream_, &products_, nullptr, tf32_, library};
      if (library != nullptr) prepare();
      const float forward = gpu_check::microseconds(stream_, 10, [&](cudaStream_t) { run_forward(); });
      const float backward = gpu_check::microseconds(stream_, 10, [&](cudaStream_t) { run_backward(); });
      std::printf("| %s, %lld rows | %s | %s | %.0f | %.0f |\n", name.c_str(), static_cast<long long>(rows_), arithmetic, who, forward, backward);
    };
    by("Heddle", nullptr);
    by("cuDNN", library_.get());
    for (const std::string& said : library_->notes()) std::printf("| %s | | | | |\n", said.c_str());
    std::fflush(stdout);
  }

 private:
  using K = Kernel<L, CudaCompute>;
  static constexpr bool halves = !std::is_same_v<Value, float>;
  void prepare() {
    if constexpr (halves)
      K::template prepare<Value>(leaf_, rows_, {&queue_});
    else
      K::prepare(leaf_, rows_, {&queue_});
  }
  void run_forward() {
    ForwardCallIn<CudaMemory> call{&leaf_, rows_, floats(x_), floats(y_), parameters_, scratch_.get()};
    call.statistics = statistics_.get();
    call.space = {&queue_};
    if constexpr (halves)
      K::template forward<Value>(call);
    else
      K::forward(call);
  }
  void run_backward() {
    BackwardCallIn<CudaMemory> call{&leaf_, rows_, floats(x_), floats(y_), floats(y_), floats(dx_), parameters_, gradients_, false, scratch_.get()};
    call.statistics = statistics_.get();
    call.space = {&queue_};
    if constexpr (halves)
      K::template backward<Value>(call);
    else
      K::backward(call);
  }
  static float* floats(const CardMemory<Value>& values) { return reinterpret_cast<float*>(values.get()); }
  template <class T> CardMemory<T> zeros(std::int64_t n) const {
    CardMemory<T> made = card_memory<T>(static_cast<std::size_t>(n > 0 ? n : 1), "a tensor");
    check_cuda(cudaMemsetAsync(made.get(), 0, static_cast<std::size_t>(n > 0 ? n : 1) * sizeof(T), stream_), "cudaMemsetAsync");
    return made;
  }
  [[nodiscard]] std::int64_t of(int parameter) const { return parameter < leaf_.parameter_count ? leaf_.parameters[parameter].shape.elements() : 0; }

  Leaf leaf_;
  std::int64_t rows_;
  bool tf32_;
  cudaStream_t stream_ = gpu_check::new_stream();
  CudaProducts products_{stream_, {.tf32 = tf32_, .usual_rows = rows_}};
  std::unique_ptr<CudaLibrary> library_ = make_cudnn({stream_, tf32_, rows_});
  CudaQueue queue_;
  CardMemory<Value> x_ = zeros<Value>(rows_ * leaf_.in.elements()), y_ = zeros<Value>(rows_ * leaf_.out.elements());
  CardMemory<Value> dx_ = zeros<Value>(rows_ * leaf_.in.elements());
  CardMemory<float> statistics_ = zeros<float>(rows_ * leaf_.statistics_elements());
  CardMemory<float> weight_ = zeros<float>(of(0)), bias_ = zeros<float>(of(1)), dweight_ = zeros<float>(of(0)), dbias_ = zeros<float>(of(1));
  const float* parameters_[2] = {weight_.get(), bias_.get()};
  float* gradients_[2] = {dweight_.get(), dbias_.get()};
  CardMemory<std::byte> scratch_ = zeros<std::byte>(run_room::scratch_of<L, CudaCompute>(leaf_).value);
};

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
  rows.each([] { Timed<Wide, float>{Shape{64, 56, 56}, 32, false}.rows("float32"); });
  rows.each([] { Timed<Wide, float>{Shape{64, 56, 56}, 32, true}.rows("TF32"); });
  rows.each([] { Timed<Deep, float>{Shape{256, 14, 14}, 32, true}.rows("TF32"); });
  rows.each([] { Timed<Halving, float>{Shape{128, 28, 28}, 32, true}.rows("TF32"); });
  rows.each([] { Timed<SelfAttention<Heads<12>>, BFloat16>{Shape{256, 3 * 768}, 32, false}.rows("bfloat16"); });
  rows.each([] { Timed<SelfAttention<Heads<12>>, BFloat16>{Shape{1024, 3 * 768}, 8, false}.rows("bfloat16"); });
  rows.each([] { Timed<SelfAttention<Heads<12>, Causal>, BFloat16>{Shape{1024, 3 * 768}, 8, false}.rows("bfloat16"); });
  std::printf("\ncudnn: %d rows wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
