// SPDX-License-Identifier: MIT
// A value whose elements have one byte each: it is an input, lies in arenas, goes from stage to stage, is kept for a backward and is counted, under
// every policy with the bits of one device.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"
#include "equivalence/sent_by_axis.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/io/idx.hpp"
#include "heddle/run/runner.hpp"

using namespace heddle;

/// Bytes times a weight for each feature: its backward reads the bytes again.
struct Toned {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Toned";
    leaf.spelled << "Toned";
    leaf.in = Spec{in.shape, ElementType::uint8};
    leaf.out = Spec{in.shape};
    leaf.saves = Saves::input;
    leaf.weights_read = leaf.input_part_reads_saved = false;
    leaf.with({"weight", Shape{in.shape.last()}, Initial::ones});
    return leaf;
  }
};
template <> struct heddle::Kernel<Toned, EigenCompute> {
  static constexpr bool backward_in_parts = true;
  static void forward(const ForwardCall& call) {
    const std::int64_t features = call.leaf->in.shape.last();
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i)
      call.output[i] = static_cast<float>(call.bytes[i]) / 256 * call.parameters[0][i % features];
  }
  static void backward(const BackwardCall& call) {
    const std::int64_t features = call.leaf->in.shape.last();
    if (call.input_gradient != nullptr) throw Error(Code{'G', 11}, "bytes have no gradient, but one is asked for");
    if (call.parameter_gradients == nullptr) return;
    float* const sums = call.parameter_gradients[0];
    if (!call.add) std::fill_n(sums, features, 0.0F);
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i)
      sums[i % features] += call.output_gradient[i] * (static_cast<float>(call.bytes[i]) / 256);
  }
};

namespace {

struct Inner : Residual<LayerNorm<16>, Linear<16, 19>, GELU, Linear<19, 16, NoBias>> {};
struct Deep : Sequential<Input<23>, Toned, Linear<23, 16>, Repeat<3, Inner>, Linear<16, 10>> {};
template <class Model, class... Parts> using OfModel = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;

/// The first stage has no arithmetic; the second begins with a reshape of what it is sent.
using Whole = Sequential<Input<3, 5>, Flatten>;
using Rest = Sequential<Unflatten<5, 3>, Toned, Flatten, Linear<15, 9>, Tanh, Linear<9, 10>>;
struct Cut : Sequential<Whole, Rest> {};
using Stages = OfModel<Cut, Pipeline<Stage<Whole>, Stage<Rest>, OneFOneB, Microbatches<4>>>;

static_assert(graph_of<Deep>.input.type == ElementType::uint8 && graph_of<Deep>.first_backward == 1);
static_assert(Stages::training.transfer_count == 1 && Stages::training.type_of(Stages::training.transfers[0]) == ElementType::uint8);
// A grain of 2 rows has 30 bytes, which lie on one line; a micro-batch has 4 grains.
static_assert(Stages::training.transfers[0].elements == 4 * 64 && Stages::training.transfers[0].payload == 8 * 15);
static_assert(traffic<Stages>().activations().total_payload == 32 * 15_B && traffic<Stages>().activations().total_with_padding == 4 * 4 * 64_B);
static_assert(traffic<Stages>().sent_to_peers(Rank{0}) == 4 * 4 * 64_B && traffic<Stages>().sent_to_peers(Rank{1}) == 0_B);

}  // namespace

TEST_CASE("every policy of a model that begins with bytes has the bits of one device") {
  equivalence::check_every_policy<OfModel, Deep>();
  equivalence::check_same_bits_as_data<OfModel<Deep, Single, Recompute<EveryBlock>>, OfModel<Deep, Single>>();
}

TEST_CASE("bytes go from a stage without arithmetic to the next, and what is sent is what is counted") {
  equivalence::check_same_bits<Stages, OfModel<Cut, Single>>();
  const auto rows = equivalence::rows_of<Stages>(32);
  Trainer<Stages, CpuThreads> trainer{{}, Seed{5}};
  trainer.session().transport().clear_traffic();
  trainer.step(rows.batch(0, 32));
  for (int r = 0; r < 2; ++r) {
    equivalence::check_sent(Stages::training, trainer.session().transport(), Rank{r}, false);
    CHECK(trainer.executor(Rank{r}).arena().high_water() <= trainer.executor(Rank{r}).arena().size());
    CHECK(trainer.executor(Rank{r}).arena().size() == peak_memory<Stages>(Rank{r}));
  }
}

TEST_CASE("Rescaling of bytes has the bits of floats that were divided before, under every policy") {
  struct Photo : Sequential<Input<5, 7>, Rescaling<>, Flatten, Linear<35, 16>, Repeat<3, Inner>, Linear<16, 10>> {};
  struct Same : Sequential<Linear<35, 16>, Repeat<3, Inner>, Linear<16, 10>> {};
  equivalence::check_every_policy<OfModel, Photo>();
  std::vector<std::uint8_t> bytes(32 * 35);
  std::vector<float> shades(bytes.size());
  std::vector<std::int32_t> labels(32);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(97 * i + i / 5), shades[i] = io_room::shade_of[bytes[i]];
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 10);
  using Split = Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>;
  Trainer<OfModel<Photo, Split>, CpuThreads> of_bytes{{}, Seed{5}};
  Trainer<OfModel<Same, Single>, CpuThreads> of_floats{{}, Seed{5}};
  for (int step = 0; step < 3; ++step) {
    of_bytes.step(examples(bytes, labels, 35));
    of_floats.step(examples(shades, labels, 35));
  }
  CHECK(of_bytes.predict(bytes) == of_floats.predict(shades));
}

TEST_CASE("two towers read bytes, each through a reshape of its own, under every policy") {
  struct Side : Sequential<Flatten, Rescaling<>, Linear<15, 16>> {};
  struct Towers : Sequential<Input<3, 5>, Branches<Add, Side, Sequential<Side, Tanh>, Sequential<Flatten, Rescaling<>, Linear<15, 16>>>,
                             Repeat<3, Inner>, Linear<16, 10>> {};
  static_assert(!graph_of<Towers>.nodes[4].needs_gradient && graph_of<Towers>.spec(5).type == ElementType::uint8);
  equivalence::check_every_policy<OfModel, Towers>();
  CHECK(prove<OfModel<Towers, Hybrid<DataParallel<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>>().ok());
}

TEST_CASE("a model that begins with bytes is applied, and proved in exact arithmetic") {
  const std::vector<std::uint8_t> bytes(7 * 15, 200);
  Trainer<Stages, CpuThreads> trainer{{}, Seed{4}};
  Runner<Inference<Cut, Batch<4>, DataParallel<2>>, CpuThreads> runner{Seed{4}};
  CHECK(runner.predict(bytes) == trainer.predict(bytes));
  const Proof stages = prove<Stages>();
  CAPTURE(stages.line());
  CHECK(stages.ok());
  const Proof split = prove<OfModel<Deep, Hybrid<DataParallel<2>, Pipeline<Balanced<2>, GPipe, Microbatches<4>>>>>();
  CAPTURE(split.line());
  CHECK(split.ok());
}
