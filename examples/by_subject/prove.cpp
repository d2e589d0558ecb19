// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_subject/prove.cpp -pthread -o prove && ./prove
// Twelve plans of one small network in exact arithmetic: no order of sums matters there, so all of them must end with one hash, and a plan that
// computes anything else is told. The last plan splits a layer that states a split which it does not keep.
#include <cstdio>
#include <heddle/backend/field_threads.hpp>
#include <heddle/heddle.hpp>
#include <string>
using namespace heddle;
using namespace heddle::extending;

struct Block : Residual<Linear<6, 12>, GELU, Linear<12, 6>> {};
struct Words : Sequential<Input<2>, Named<"in", Embedding<12, 6>>, Repeat<2, Block>, Tied<"out", Linear<6, 12, NoBias>, To<"in">>> {};
template <class... Parts> using Of = Plan<Words, CrossEntropy, AdamW, Batch<8, KeepLast>, Clip<GlobalNorm>, Parts...>;

/// Adds a function of its sum to each row. It says that any part of a row may be computed alone, which is wrong.
struct Centre {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = elementwise("Centre", in, 2);
    leaf.elementwise = false;
    return leaf;
  }
};
template <> struct heddle::FieldKernel<Centre> {
  static std::uint64_t sum(const float* row, std::int64_t n) {
    std::uint64_t all = 0;
    for (std::int64_t i = 0; i < n; ++i) all = Field::plus(all, Field::read(row[i]));
    return all;
  }
  static void forward(const ForwardCall& call) {
    const std::int64_t n = call.leaf->in.shape.last();
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i) {
      const std::uint64_t mean = Field::hash(symbol_of<Centre>("mean"), {sum(call.input + i / n * n, n)});
      call.output[i] = Field::write(Field::plus(Field::read(call.input[i]), mean));
    }
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient != nullptr) FieldCompute::copy(call.input_gradient, call.output_gradient, call.rows * call.leaf->in.elements());
  }
};
struct Centred : Sequential<Linear<6, 8>, Centre, Linear<8, 4>> {};

template <class ThePlan> void row(const char* name) {
  const auto proof = prove<ThePlan>();
  const std::string odds = proof.bounded() ? "2^" + std::to_string(static_cast<int>(proof.log2_of_bound)) : "-";
  std::printf("%-56s %7d   %016llx   %s\n", name, proof.devices, static_cast<unsigned long long>(proof.hash), odds.c_str());
  if (!proof) std::printf("%s\n", (proof.ok() ? proof.line() : proof.text).c_str());
}

int main() {
  return run_main([] {
    std::printf("%-56s %7s   %-16s   %s\n", "plan", "devices", "hash", "a wrong plan passes with");
    row<Of<Single>>("Single");
    row<Of<Single, Accumulate<4>>>("Single, Accumulate<4>");
    row<Of<DataParallel<4>>>("DataParallel<4>");
    row<Of<WeightedDataParallel<3, 1>>>("WeightedDataParallel<3, 1>");
    row<Of<Sharded<4, OptimizerState>>>("Sharded<4, OptimizerState>");
    row<Of<Sharded<4>>>("Sharded<4>");
    row<Of<TensorParallel<3>>>("TensorParallel<3>");
    row<Of<TensorParallel<2, SequenceParallel>>>("TensorParallel<2, SequenceParallel>");
    row<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>("Pipeline, 2 stages, ZeroBubbleH1");
    row<Of<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>, LossScaling>>("Pipeline, 2 stages, Interleaved<2>, LossScaling");
    row<Of<Hybrid<TensorParallel<2>, DataParallel<2>>, Recompute<EveryBlock>>>("TensorParallel<2> x DataParallel<2>, Recompute");
    row<Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>>(
        "TensorParallel<2> x Pipeline, 2 stages x Sharded<2>");
    std::printf("\n");
    row<Plan<Centred, MeanSquaredError, SGD, Batch<4>, TensorParallel<2>>>("TensorParallel<2> of a layer that states a wrong split");
  });
}
