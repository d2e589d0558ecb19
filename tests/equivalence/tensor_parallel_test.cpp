// SPDX-License-Identifier: MIT
#include <map>
#include <mutex>

#include "equivalence/equal.hpp"
#include "heddle/plan/check/check.hpp"
#include "plan/gain.hpp"

using namespace equivalence;
using tests::Gain;

namespace heddle {
template <> struct Kernel<Gain, EigenCompute> {
  static void forward(const ForwardCall& call) {
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i) call.output[i] = call.parameters[0][0] * call.input[i];
  }
  static void backward(const BackwardCall& call) {
    float sum = 0;
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i) {
      sum += call.input[i] * call.output_gradient[i];
      if (call.input_gradient != nullptr) call.input_gradient[i] = call.parameters[0][0] * call.output_gradient[i];
    }
    call.parameter_gradients[0][0] = call.add ? call.parameter_gradients[0][0] + sum : sum;
  }
};
}  // namespace heddle

// A split product adds its terms in another order than one device. On integers every order gives the same bits, so there equality is demanded;
// elsewhere the differential oracle holds each tensor of one step within a share of its largest element.
namespace {

// ---- exact data. Inputs and weights are integers of at most 2 bits, targets of 4; 16 rows and 8 outputs are powers of two. A hidden value is a sum
// of 8 products: at most 8 * 3 * 2 = 48. An output: at most 16 * 48 * 2 = 1536. The gradient of the mean is (output - target) 2 / (16 * 8): 11 bits
// above 2^-6. A weight's gradient sums 16 rows of 11 + 6 bits; the gradient of a hidden value sums 8 products of 11 + 2 bits: 16 bits, the first
// weight's sums 16 rows of 16 + 2 bits: 22 bits. Every sum fits into the 24 bits of a float, in every order; the update has a rate of 2^-4.
struct Whole : Sequential<Linear<8, 16>, ReLU, Linear<16, 8>> {};
struct Deep : Sequential<Residual<Linear<8, 16, NoBias>, ReLU, Linear<16, 8>>> {};
// Sequences: 4 rows of 4 x 8 inputs in {0, 1}, weights in {-1, 0, 1}. Values are at most 8, 64, 1032; a weight's gradient sums 16 terms of 11 + 7
// bits, the gradient of the first hidden value 16 of 14 bits, the first weight's 16 of 18 + 1 bits: 23.
struct Steps : Sequential<Input<4, 8>, Linear<8, 8, NoBias>, Residual<Linear<8, 16, NoBias>, ReLU, Linear<16, 8, NoBias>>> {};
// A gain: the same data; its gradient sums 64 terms of 13 + 4 bits: 23.
struct Gained : Sequential<Linear<8, 16, NoBias>, Gain, ReLU, Linear<16, 8, NoBias>> {};
template <class Model> inline constexpr bool is_small = std::is_same_v<Model, Steps> || std::is_same_v<Model, Gained>;
template <class Model, class... Parts> using Exact = Plan<Model, MeanSquaredError, SGD, Batch<is_small<Model> ? 4 : 16>, Grain<2>, Parts...>;

struct Outcome {
  std::vector<std::vector<float>> gradients, parameters;
  std::vector<float> outputs;
  float loss = 0;
};

/// One step from integer weights; `weight` is the largest.
template <class AnyTrainer> Outcome exact_step(AnyTrainer& trainer, const Graph& graph, const Program& training, int weight, int levels) {
  const int batch = training.batch.batch;
  Rows<float> rows{batch, graph.input.elements(), graph.output().elements()};
  for (std::size_t i = 0; i < rows.inputs.size(); ++i) rows.inputs[i] = static_cast<float>(static_cast<int>(i * 5 + i / 8) % levels);
  for (std::size_t i = 0; i < rows.targets.size(); ++i) rows.targets[i] = static_cast<float>(static_cast<int>(i * 7 + i / 8) % 15 - 7);
  int p = 0;
  for (const std::string& name : trainer.parameter_names()) {
    const ParameterPlace& place = training.parameters[p++];
    std::vector<float> values(static_cast<std::size_t>(graph.leaf(place.node).parameters[place.index].shape.elements()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(static_cast<int>(i * 3 + i / 7 + static_cast<std::size_t>(p)) % (2 * weight + 1) - weight);
    trainer.set_parameter(name, values);
    REQUIRE(equal_bits(trainer.parameter(name), values));  // handed out and put together again
  }
  Outcome out;
  out.outputs = trainer.predict(rows.inputs);
  trainer.on_step([&](const StepResult& r) { out.loss = r.loss.value(); });
  trainer.step(rows.batch(0, batch));
  for (const std::string& name : trainer.parameter_names()) {
    out.gradients.push_back(trainer.gradient(name));
    out.parameters.push_back(trainer.parameter(name));
  }
  return out;
}

template <class Model> inline constexpr int weight_of = std::is_same_v<Model, Whole> ? 2 : 1;
template <class Model> inline constexpr int levels_of = is_small<Model> ? 2 : 4;
template <class ThePlan> Outcome exact_outcome() {
  using Model = typename ThePlan::Request::Model;
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 0.0625}, Seed{1}};
  return exact_step(trainer, ThePlan::Request::graph, ThePlan::training, weight_of<Model>, levels_of<Model>);
}
template <class Model> const Outcome& exact_alone() {
  static const Outcome made = exact_outcome<Exact<Model, Single>>();
  return made;
}

void check_same_outcome(const Outcome& got, const Outcome& wanted) {
  for (const float v : wanted.gradients[0]) REQUIRE(std::isfinite(v));
  CHECK(equal_bits(got.outputs, wanted.outputs));
  CHECK(got.loss == wanted.loss);
  for (std::size_t p = 0; p < wanted.gradients.size(); ++p) {
    CAPTURE(p);
    CHECK(equal_bits(got.gradients[p], wanted.gradients[p]));
    CHECK(equal_bits(got.parameters[p], wanted.parameters[p]));
  }
}

template <class Model, class... Parts> void check_exact() { check_same_outcome(exact_outcome<Exact<Model, Parts...>>(), exact_alone<Model>()); }
template <class OfPlan> void check_exact_data(const PlanAsData& plan, const Outcome& wanted) {
  using Model = typename OfPlan::Model;
  CAPTURE(plan.training().mesh.ranks());
  DataTrainer<OfPlan> trainer{plan, {.learning_rate = 0.0625}, Seed{1}};
  check_same_outcome(exact_step(trainer, plan.graph(), plan.training(), weight_of<Model>, levels_of<Model>), wanted);
}
/// The same of a plan that the test lowers while it runs.
template <class Model, class... Parts> void check_exact_as_data() {
  using P = Exact<Model, Parts...>;
  check_exact_data<TypesOf<P>>(as_data<P>(), exact_alone<Model>());
}

// ---- any data
struct Block : Residual<Linear<16, 24>, GELU, Linear<24, 16, NoBias>, Tanh> {};
struct Blocks : Sequential<Linear<23, 16>, Repeat<2, Block>, Linear<16, 12>, Sigmoid, Linear<12, 10>> {};
struct Layer : Sequential<Residual<Linear<12, 24>, GELU, Linear<24, 12>>, Residual<Linear<12, 12>, Tanh, Linear<12, 12, NoBias>>> {};
struct Stack : Sequential<Input<6, 23>, Linear<23, 12>, Repeat<2, Layer>, Tanh, Flatten, Linear<72, 10>> {};
template <class... Parts> using StackOf = Plan<Stack, CrossEntropy, Adam, Batch<48, KeepLast>, Parts...>;
template <class... Parts> using Of = Plan<Blocks, CrossEntropy, Adam, Batch<48, KeepLast>, Parts...>;

template <class ThePlan> void check_plan(std::int64_t rows = 48) {
  const auto data = rows_of<ThePlan>(48);
  // Terms of one product: at most 48. Each of the few sums between two tensors moves by at most 48 x 2^-24 = 3e-6 of its largest term.
  const Verification found = verify<ThePlan, CpuThreads>(data.batch(0, rows), Seed{3}, 2e-5);
  CHECK(found.text == "");
  CHECK(found.tensors > 20);
}
template <class... Parts> void check_verified(std::int64_t rows = 48) { check_plan<Of<Parts...>>(rows); }

/// Parameters that are whole on several ranks, and all copies of parts, after some steps: the same bits wherever the same is kept.
template <class ThePlan> void check_copies() {
  const auto data = rows_of<ThePlan>(48);
  Trainer<ThePlan, CpuThreads> trainer{settings<typename ThePlan::Request::Optimizer>(), Seed{3}};
  for (int step = 0; step < steps; ++step) trainer.step(data.batch(0, 48));
  const Program& p = ThePlan::training;
  int copies = 0;
  for (int k = 0; k < p.graph->parameter_count; ++k) {
    const ParameterPlace& place = p.parameters[k];
    std::map<int, std::vector<float>> first;  // by part
    for (int rank = 0; rank < devices<ThePlan>; ++rank) {
      auto& executor = trainer.executor(Rank{rank});
      if (executor.role() != place.role) continue;
      const float* const from = executor.held_parameter(k).values;
      const std::vector<float> here(from, from + place.elements);
      const int part = !place.split.sharded() ? 0 : p.mesh.coordinate(Rank{rank}, Axis::tensor);
      if (!first.count(part)) {
        first[part] = here;
        continue;
      }
      ++copies;
      CHECK(equal_bits(here, first[part]));
    }
  }
  CHECK(copies > 0);
}

/// Lines of one step by rank, as they ran.
class Lines : public Observer {
 public:
  void started(const Observation& seen) override {
    const std::lock_guard lock{mutex_};
    lines[seen.rank.value].push_back({seen.instruction, seen.entry});
  }
  std::map<int, std::vector<std::pair<int, int>>> lines;

 private:
  std::mutex mutex_;
};

template <class ThePlan> void check_trace() {
  const Program& p = ThePlan::training;
  const auto data = rows_of<ThePlan>(48);
  Trainer<ThePlan, CpuThreads> trainer{{}, Seed{3}};
  Lines seen;
  trainer.on_step({}, Every::never());
  trainer.observe(&seen);
  trainer.step(data.batch(0, 48));
  const int last = p.batch.total_micro_batches() - 1;
  for (int rank = 0; rank < devices<ThePlan>; ++rank) {
    std::vector<std::pair<int, int>> wanted;
    const IndexRange list = p.lists[p.mesh.coordinate(Rank{rank}, Axis::stage)];
    for (int i = list.begin; i < list.end; ++i) {
      const Instruction& line = p.instructions[i];
      if (line.when == When::reporting) continue;
      wanted.push_back({i, -1});
      if (line.op != ListOp::forward && line.op != ListOp::backward) continue;
      const IndexRange body = (line.op == ListOp::forward ? p.forward_bodies : p.backward_bodies)[line.chunk];
      for (int e = body.begin; e < body.end; ++e)
        if (p.entries[e].when == When::always || line.micro_batch == last) wanted.push_back({i, e});
    }
    CHECK(seen.lines[rank] == wanted);
  }
}

}  // namespace

TEST_CASE("on integers a split pair of products gives the bits of one device, alone and in every product") {
  check_exact<Whole, TensorParallel<2>>();
  check_exact_as_data<Whole, TensorParallel<4>>();
  check_exact_as_data<Whole, TensorParallel<2>, Accumulate<2>>();
  check_exact_as_data<Whole, Hybrid<TensorParallel<2>, DataParallel<2>>>();
  check_exact_as_data<Whole, Hybrid<DataParallel<2>, TensorParallel<2>>>();
  check_exact_as_data<Whole, Hybrid<DataParallel<2>, TensorParallel<4>>, Accumulate<2>>();
  check_exact_as_data<Whole, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>();
  check_exact_as_data<Whole, Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, TensorParallel<4>>>();
  check_exact_as_data<Whole, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>();
  check_exact_as_data<Whole, TensorParallel<1>>();
}

TEST_CASE("on integers a split pair under every kind of sharding and every order of a pipeline gives the bits of one device") {
  check_exact<Whole, Hybrid<TensorParallel<2>, Sharded<2, OptimizerState>>>();
  check_exact_as_data<Whole, Hybrid<TensorParallel<2>, Sharded<2, Gradients>>, Accumulate<2>>();
  check_exact_as_data<Whole, Hybrid<TensorParallel<4>, Sharded<2>>>();
  check_exact_as_data<Whole, Hybrid<Sharded<2>, TensorParallel<2>, DataParallel<2>>>();
  check_exact_as_data<Whole, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  check_exact_as_data<Whole, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Sharded<2>>>();
  check_exact_as_data<Gained, Hybrid<TensorParallel<2>, Sharded<2>>>();
  check_exact_as_data<Gained, Hybrid<TensorParallel<2>, Sharded<2, Gradients>>>();
  check_exact_as_data<Steps, Hybrid<TensorParallel<2, SequenceParallel>, Sharded<2>>>();
  check_exact_as_data<Steps, Hybrid<TensorParallel<2, SequenceParallel>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>>>();
}

TEST_CASE("on integers a split residual gives the bits of one device") {
  check_exact<Deep, TensorParallel<2>>();
  check_exact_as_data<Deep, TensorParallel<8>>();
  check_exact_as_data<Deep, Hybrid<DataParallel<2>, TensorParallel<2>>, Accumulate<2>>();
}

TEST_CASE("on integers a whole parameter of split features has the gradient and the bits of one device") {
  static_assert(traffic<Exact<Gained, TensorParallel<2>>>().value_collectives(0, BodyOp::reduce_parameter) == 1);
  check_exact<Gained, TensorParallel<2>>();
  check_exact_as_data<Gained, TensorParallel<4>>();
  check_exact_as_data<Gained, Hybrid<TensorParallel<2>, DataParallel<2>>>();
  check_exact_as_data<Gained, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, TensorParallel<2>>>();
}

TEST_CASE("on integers sequences split in parts give the bits of one device") {
  static_assert(traffic<Exact<Steps, TensorParallel<2, SequenceParallel>>>().value_collectives(0, BodyOp::gather_value) > 0);
  static_assert(traffic<Exact<Steps, TensorParallel<2, SequenceParallel>>>().value_collectives(0, BodyOp::scatter_value) > 0);
  check_exact<Steps, TensorParallel<2>>();
  check_exact_as_data<Steps, TensorParallel<2, SequenceParallel>>();
  check_exact_as_data<Steps, TensorParallel<4, SequenceParallel>>();
  check_exact_as_data<Steps, Hybrid<TensorParallel<2, SequenceParallel>, DataParallel<2>>>();
  check_exact_as_data<Steps, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, TensorParallel<4, SequenceParallel>>>();
}

TEST_CASE("on any data every tensor of a step is that of one device but for the order of sums") {
  check_verified<TensorParallel<2>>();
  check_verified<TensorParallel<4>, Grain<4>>();
  check_verified<TensorParallel<3>>();  // 24 and 12 divide by 3
  check_verified<Hybrid<TensorParallel<2>, DataParallel<2>>>();
  check_verified<Hybrid<DataParallel<3>, TensorParallel<2>>, Accumulate<2>>(31);
  check_verified<Hybrid<TensorParallel<4>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>();
  check_verified<Hybrid<Pipeline<Balanced<3>, GPipe, Microbatches<3>>, TensorParallel<2>>>(40);
}

TEST_CASE("on any data sequences split in parts give the tensors of one device but for the order of sums") {
  check_plan<StackOf<TensorParallel<2, SequenceParallel>>>();
  check_plan<StackOf<TensorParallel<3, SequenceParallel>>>(29);
  check_plan<StackOf<TensorParallel<4>>>();
  check_plan<StackOf<Hybrid<TensorParallel<2, SequenceParallel>, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, DataParallel<2>>>>();
  check_plan<StackOf<Hybrid<DataParallel<2>, TensorParallel<6, SequenceParallel>>, Accumulate<2>, Grain<6>>>();
}

TEST_CASE("after many steps all copies of a parameter still have the same bits") {
  check_copies<Of<TensorParallel<4>>>();
  check_copies<StackOf<TensorParallel<2, SequenceParallel>>>();
  check_copies<Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>>();
}

TEST_CASE("parameters start as those of one device, whatever the split") {
  Trainer<Of<Single>, CpuThreads> one{{}, Seed{9}};
  Trainer<Of<TensorParallel<4>>, CpuThreads> four{{}, Seed{9}};
  CHECK(one.parameter_hash() == four.parameter_hash());
  for (const std::string& name : one.parameter_names()) CHECK(equal_bits(one.parameter(name), four.parameter(name)));
}

TEST_CASE("what runs is what was checked, line by line") {
  check_trace<Of<TensorParallel<2>>>();
  check_trace<StackOf<TensorParallel<2, SequenceParallel>>>();
  check_trace<Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>>();
}

TEST_CASE("a lone Row takes its part of a whole input, forward and backward, first in the model and behind any layer") {
  struct Lone : Sequential<Row<Linear<24, 16>>, GELU, Linear<16, 15>, Tanh, Linear<15, 16>, Residual<Row<Linear<16, 16>>>, Linear<16, 10>> {};
  using Staged = Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>>;
  check_plan<Plan<Lone, CrossEntropy, Adam, Batch<48, KeepLast>, TensorParallel<2>>>();
  check_plan<Plan<Lone, CrossEntropy, Adam, Batch<48, KeepLast>, Staged>>();
}

TEST_CASE("plans that split layers alike, and sum in equal grains, end with the same bits whatever their other axes") {
  using One = Of<TensorParallel<2>, Grain<6>>;
  using Spread = Of<Hybrid<TensorParallel<2>, DataParallel<2>>, Grain<6>>;
  using Staged = Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, Grain<6>>;
  static_assert(heddle::same_bits<One, Spread>() && heddle::same_bits<One, Staged>() && !is_reproducible<One>);
  const Run wanted = train<One>(&whole_batch<One>);
  const Run spread = train<Spread>(&whole_batch<One>);
  const Run staged = train<Staged>(&whole_batch<One>);
  for (std::size_t p = 0; p < wanted.before.size(); ++p) {
    CAPTURE(p);
    CHECK_FALSE(equal_bits(wanted.before[p], wanted.parameters[0][p]));
    CHECK(equal_bits(spread.parameters[0][p], wanted.parameters[0][p]));
    CHECK(equal_bits(staged.parameters[0][p], wanted.parameters[0][p]));
  }
}
