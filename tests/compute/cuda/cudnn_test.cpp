// SPDX-License-Identifier: MIT
// cuDNN as the library of a queue, which the emulator stands for: captured, and with every call made to fail once.
#include "heddle/compute/cuda/cudnn.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compute/cuda/cudnn_cases.hpp"
#include "heddle/compute/cuda/attention.hpp"
#include "heddle/compute/cuda/convolution.hpp"

using namespace heddle;
using cuda_emulator::tests::OneCard;
using on_card::Card;

namespace {

using Windows = Conv2d<2, 4, KernelSize<3>, Padding<1>>;
using Heads2 = SelfAttention<Heads<2>>;

/// A convolution and an attention, whose forward and backward one call queues.
class Layers {
 public:
  static constexpr std::int64_t rows = 2;
  explicit Layers(const OneCard& card)
      : card_(&card), library_(make_cudnn({card.stream(), false, 8})), queue_{card.stream(), nullptr, nullptr, false, library_.get()} {
    Kernel<Windows, CudaCompute>::prepare(conv_, rows, {&queue_});
    Kernel<Heads2, CudaCompute>::prepare<BFloat16>(heads_, rows, {&queue_});
  }
  void queue() {
    const float* const parameters[] = {weight_.get(), bias_.get()};
    float* const gradients[] = {weight_gradient_.get(), bias_gradient_.get()};
    ForwardCallIn<CudaMemory> forward{&conv_, rows, x_.get(), y_.get(), parameters, scratch_.get()};
    forward.space = {&queue_};
    Kernel<Windows, CudaCompute>::forward(forward);
    BackwardCallIn<CudaMemory> backward{&conv_, rows, x_.get(), nullptr, y_.get(), dx_.get(), parameters, gradients, false, scratch_.get()};
    backward.space = {&queue_};
    Kernel<Windows, CudaCompute>::backward(backward);
    ForwardCallIn<CudaMemory> attend{&heads_, rows, floats(packed_), floats(out_)};
    attend.statistics = sums_.get();
    attend.space = {&queue_};
    Kernel<Heads2, CudaCompute>::forward<BFloat16>(attend);
    BackwardCallIn<CudaMemory> back{&heads_, rows, floats(packed_), floats(out_), floats(out_), floats(gradient_)};
    back.statistics = sums_.get();
    back.space = {&queue_};
    Kernel<Heads2, CudaCompute>::backward<BFloat16>(back);
  }
  /// The sum of all gradients.
  [[nodiscard]] double sum() const {
    double all = 0;
    for (const float x : card_->down(dx_, rows * 2 * 25)) all += static_cast<double>(x);
    for (const float x : card_->down(weight_gradient_, 4 * 2 * 9)) all += static_cast<double>(x);
    for (const float x : card_->down(bias_gradient_, 4)) all += static_cast<double>(x);
    for (const BFloat16 x : card_->down(gradient_, rows * 6 * 48)) all += static_cast<double>(core_room::widened(x));
    return all;
  }
  [[nodiscard]] const std::vector<std::string>& notes() const { return library_->notes(); }

 private:
  static float* floats(const CardMemory<BFloat16>& values) { return reinterpret_cast<float*>(values.get()); }
  static std::vector<BFloat16> drawn(std::int64_t n) {
    std::vector<BFloat16> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(core_room::rounded(static_cast<float>(i * 37 % 101) / 64.0F - 0.75F));
    return all;
  }
  static std::vector<float> numbers(std::int64_t n) {
    std::vector<float> all;
    for (std::int64_t i = 0; i < n; ++i) all.push_back(static_cast<float>(i * 41 % 97) / 64.0F - 0.7F);
    return all;
  }

  const OneCard* card_;
  Leaf conv_ = Windows::describe(Spec{Shape{2, 5, 5}});
  Leaf heads_ = Heads2::describe(Spec{Shape{6, 48}});
  std::unique_ptr<CudaLibrary> library_;
  CudaQueue queue_;
  CardMemory<float> x_ = card_->up(numbers(rows * 2 * 25)), weight_ = card_->up(numbers(4 * 2 * 9)), bias_ = card_->up(numbers(4));
  CardMemory<float> y_ = OneCard::unset(rows * 4 * 25), dx_ = OneCard::unset(rows * 2 * 25), weight_gradient_ = OneCard::unset(4 * 2 * 9);
  CardMemory<float> bias_gradient_ = OneCard::unset(4), sums_ = OneCard::unset(rows * 6 * 2);
  CardMemory<BFloat16> packed_ = card_->up(drawn(rows * 6 * 48)), out_ = OneCard::unset<BFloat16>(rows * 6 * 16);
  CardMemory<BFloat16> gradient_ = OneCard::unset<BFloat16>(rows * 6 * 48);
  CardMemory<std::byte> scratch_ = OneCard::unset<std::byte>(static_cast<std::size_t>(Kernel<Windows, CudaCompute>::scratch(conv_).value));
};

/// Queued once, captured, and replayed twice.
double program() {
  const OneCard card;
  Layers layers{card};
  layers.queue();
  const RunnableGraph graph = captured(card.stream(), [&] { layers.queue(); });
  for (int replay = 0; replay < 2; ++replay) check_cuda(cudaGraphLaunch(graph.get(), card.stream()), "cudaGraphLaunch");
  check_cuda(card.synchronize(), "cudaStreamSynchronize");
  return layers.sum();
}

}  // namespace

TEST_CASE("what cuDNN takes is chosen before the first run: runs and captures make no memory, no tensor and no plan, and ask no heuristic") {
  const Card card;
  const OneCard own;
  Layers layers{own};
  REQUIRE(layers.notes().size() == 2);
  CHECK(layers.notes()[0].find("is computed by cuDNN: algorithms ") != std::string::npos);
  CHECK(layers.notes()[1].find("is computed by cuDNN.") != std::string::npos);
  const cuda_emulator::Counts before = cuda_emulator::counts();
  layers.queue();
  const RunnableGraph graph = captured(own.stream(), [&] { layers.queue(); });
  const cuda_emulator::Counts after = cuda_emulator::counts();
  CHECK(after.heuristics == before.heuristics);
  CHECK(after.allocations == before.allocations);
  CHECK(after.descriptors - before.descriptors == 4);  // the pointers of two forwards and two backwards of attention
  CHECK(own.synchronize() == cudaSuccess);
  const double once = layers.sum();
  CHECK(std::isfinite(once));
  check_cuda(cudaGraphLaunch(graph.get(), own.stream()), "cudaGraphLaunch");
  CHECK(own.synchronize() == cudaSuccess);
  CHECK(layers.sum() == once);
  CHECK(cuda_emulator::counts().convolutions == 6);
  CHECK(cuda_emulator::counts().attentions == 4);
  CHECK(cuda_emulator::counts().kernels == 0);
}

TEST_CASE("each call that fails is one sentence, and nothing is left alive") {
  cuda_emulator::reset({});
  const double right = program();
  cuda_emulator::tests::check_right();
  const long calls = cuda_emulator::counts().fallible_calls;
  CHECK(calls > 200);
  int of_cudnn = 0;
  for (long number = 1; number <= calls; ++number) {
    cuda_emulator::reset({});
    cuda_emulator::fail_call(number);
    std::string said;
    try {
      static_cast<void>(program());
    } catch (const Error& error) {
      said = error.what();
    }
    CAPTURE(cuda_emulator::failed_call());
    CHECK((said.find("[heddle.R36] ") == 0 || said.find("[heddle.R14] ") == 0));  // the second where memory is lacking
    CHECK(said.find("[heddle", 1) == std::string::npos);
    if (cuda_emulator::failed_call().find("cudnn") == 0) {
      ++of_cudnn;
      CHECK(said.find("[heddle.R36] cudnn") == 0);
      CHECK(said.find(" failed with CUDNN_STATUS_INTERNAL_ERROR") != std::string::npos);
    }
    cuda_emulator::tests::check_right();
  }
  CHECK(of_cudnn > 150);
  cuda_emulator::reset({});
  CHECK(program() == right);
}

TEST_CASE("orders of queued work change nothing") {
  cuda_emulator::reset({});
  const double right = program();
  for (std::uint64_t seed = 2; seed <= 20; ++seed) {
    cuda_emulator::reset({.seed = seed});
    CHECK(program() == right);
    cuda_emulator::tests::check_right();
  }
}
