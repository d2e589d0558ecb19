// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <vector>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

struct Model : Sequential<Named<"first", Linear<6, 8>>, GELU, Named<"middle", Residual<Linear<8, 8>, Tanh>>, Named<"last", Linear<8, 3>>> {};
using Pipelined = Plan<Model, CrossEntropy, Adam, Batch<8, KeepLast>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Reproducible>;
using Spread = Plan<Model, CrossEntropy, SGD, Batch<8>, DataParallel<2>>;

/// Kernels with one wrong number each, specialised below.
struct BrokenForward : EigenCompute {};
struct BrokenBackward : EigenCompute {};
struct BrokenStep : EigenCompute {};
template <class Broken> struct On_ : CpuThreads { using Compute = Broken; };

struct Rows {
  std::vector<float> inputs = std::vector<float>(8 * 6);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(8);
  Rows() {
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = uniform(Seed{7}, 0, i, -1.0F, 1.0F);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 3);
  }
  [[nodiscard]] Examples<std::int32_t> all() const { return examples(inputs, labels, 6); }
};

}  // namespace

namespace heddle {
template <> struct Kernel<Linear<8, 8>, BrokenForward> : Kernel<Linear<8, 8>, EigenCompute> {
  static void forward(const ForwardCall& call) {
    Kernel<Linear<8, 8>, EigenCompute>::forward(call);
    if (call.rows > 0) call.output[call.rows * 8 - 1] += 0.5F;
  }
};
template <> struct Kernel<Linear<8, 8>, BrokenBackward> : Kernel<Linear<8, 8>, EigenCompute> {
  static void backward(const BackwardCall& call) {
    Kernel<Linear<8, 8>, EigenCompute>::backward(call);
    call.parameter_gradients[1][2] *= 2;
  }
};
template <> struct OptimizerKernel<SGD, BrokenStep> {
  static void step(const SGD::Constants& constants, std::int64_t elements, float* parameters, const float* gradients, float* const* states) {
    OptimizerKernel<SGD, EigenCompute>::step(constants, elements, parameters, gradients, states);
    parameters[0] += 1;
  }
};
}  // namespace heddle

TEST_CASE("plans on threads agree with one device on the reference kernels") {
  const Rows rows;
  const Verification pipelined = verify<Pipelined, CpuThreads>(rows.all());
  CHECK(pipelined.text == "");
  CHECK(pipelined.tensors == 6 + 5 + 2 * 6);  // outputs of 6 nodes, gradients of all but the sum, 6 parameters and their gradients
  CHECK(verify<Spread, CpuThreads>(rows.all()).text == "");
  CHECK(verify<Plan<Model, CrossEntropy, Adam, Batch<8>, Sharded<2>, LossScaling>, CpuThreads>(rows.all()).text == "");
  CHECK(verify<Pipelined, CpuThreads>(rows.all().slice(0, 5)).text == "");
}

TEST_CASE("plans that clip agree with one device that clips by the same norm") {
  Rows rows;
  for (float& x : rows.inputs) x *= 16;  // the norm is then far above the threshold of 1
  using Clipped = Plan<Model, CrossEntropy, Adam, Batch<8>, Sharded<2>, Clip<GlobalNorm>>;
  Trainer<Clipped, CpuThreads> trainer{{}, Seed{1}};
  REQUIRE(trainer.step(rows.all()).norm.value() > 2);
  CHECK(verify<Clipped, CpuThreads>(rows.all()).text == "");
  CHECK(verify<Plan<Model, CrossEntropy, SGD, Batch<8>, DataParallel<2>, Clip<GlobalNorm>, LossScaling>, CpuThreads>(rows.all()).text == "");
}

TEST_CASE("a kernel with a wrong forward is named by the tensor that it spoils first") {
  const Rows rows;
  CHECK(verify<Spread, On_<BrokenForward>>(rows.all())
            .text.find("[heddle.R06] the output of layer 2 'middle.0' Linear<8, 8> differs at row 3, column 7") == 0);
}

TEST_CASE("a kernel with a wrong backward is named by the tensor that it spoils first") {
  const Rows rows;
  CHECK(verify<Spread, On_<BrokenBackward>>(rows.all())
            .text.find("[heddle.R06] the gradient of parameter 'middle.0.bias' differs at row 0, column 2") == 0);
}

TEST_CASE("an optimizer that steps wrongly is named by its parameter") {
  const Rows rows;
  CHECK(verify<Spread, On_<BrokenStep>>(rows.all()).text.find("[heddle.R06] parameter 'first.weight' after the step differs at row 0") == 0);
}

TEST_CASE("rows that a plan leaves out or repeats are left out or repeated on the reference too") {
  const Rows rows;
  using Drops = Plan<Model, CrossEntropy, SGD, Batch<7, DropLast>, DataParallel<2>>;
  using Pads = Plan<Model, CrossEntropy, SGD, Batch<7, PadLast>, DataParallel<2>>;
  CHECK(verify<Drops, CpuThreads>(rows.all().slice(0, 7)).text == "");
  CHECK(verify<Pads, CpuThreads>(rows.all().slice(0, 7)).text == "");
  const auto verify_few = [&] { return verify<Drops, CpuThreads>(rows.all().slice(0, 3)); };
  CHECK_THROWS_AS((void)verify_few(), const Error&);
}

TEST_CASE("gradients that only rounding tells from zero are no false alarm under Adam") {
  const Rows rows;
  using Adams = Plan<Model, CrossEntropy, Adam, Batch<8>, DataParallel<4>>;
  for (std::uint64_t seed = 0; seed < 8; ++seed) CHECK(verify<Adams, CpuThreads>(rows.all(), Seed{seed}).text == "");
}

TEST_CASE("numbers that differ are told apart, however small they are") {
  CHECK(difference({1, 1e-9F}, {1, 2e-9F}, 1, 1e-12) ==
        " differs at row 1, column 0: 9.99999972e-10 under the plan, 1.99999994e-09 on one device with the reference kernels");
}
