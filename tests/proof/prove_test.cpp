// SPDX-License-Identifier: MIT
#include "heddle/proof/prove.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>

#include "heddle/backend/field_threads.hpp"
#include "proof/mutable_program.hpp"

using namespace proof_test;

namespace {

struct Block : Residual<Linear<6, 8>, GELU, Linear<8, 6>> {};
struct Net : Sequential<Linear<5, 6>, Tanh, Repeat<2, Block>, Linear<6, 4>> {};
template <class... Options> using Of = Plan<Net, CrossEntropy, Adam, Batch<8, KeepLast>, Options...>;
struct Words : Sequential<Input<4>, Named<"in", Embedding<8, 6>>, Repeat<2, Block>, Tied<"out", Linear<6, 8, NoBias>, To<"in">>> {};
template <class... Options> using OfWords = Plan<Words, CrossEntropy, SGD, Batch<8>, Options...>;

/// What prove says of a plan whose training Program was changed; of what the mutant throws, its words.
template <class ThePlan> std::string said_of(MutableProgram& mutant, const FieldWork* other = nullptr) {
  using Request = typename ThePlan::Request;
  using Plain = Plan<typename Request::Model, typename Request::Loss, typename Request::Optimizer, typename Request::Rows, Single>;
  using Clipped =
      Plan<typename Request::Model, typename Request::Loss, typename Request::Optimizer, typename Request::Rows, Single, Clip<GlobalNorm>>;
  using Alone = std::conditional_t<Request::clips, Clipped, Plain>;
  const FieldWork work = field_work<typename Request::Model, typename Request::Loss, typename Request::Optimizer>();
  OneDevice<FieldThreads::Session> alone{
      work, {&Alone::training, &Alone::evaluation}, steps_of(ThePlan::training.batch), {Seed{1}, std::chrono::seconds{2}, 2}};
  if (other == nullptr) return prove_programs<FieldThreads::Session>({&mutant.program(), &ThePlan::evaluation}, alone, "mutant").text;
  const DrawnField drawn{Seed{1}, 0, FieldMode::values};
  FieldRun<FieldThreads::Session> planned{*other, {&mutant.program(), &ThePlan::evaluation}, std::chrono::seconds{2}};
  return first_difference(planned.outcome(alone.steps()), alone.draw(0), "mutant");
}
template <class ThePlan> std::string said_without(const MutableProgram::Lines& gone) {
  MutableProgram mutant{ThePlan::training};
  REQUIRE(mutant.drop(gone) > 0);
  return said_of<ThePlan>(mutant);
}
template <class ThePlan> std::string said_without_entry(const MutableProgram::Entries& gone, int number) {
  MutableProgram mutant{ThePlan::training};
  REQUIRE(mutant.drop_entries(gone, number) == 1);
  return said_of<ThePlan>(mutant);
}
bool tells(const std::string& text, const std::string& what) {
  CAPTURE(text);
  CAPTURE(what);
  const bool told = text.find("[heddle.R31]") == 0 && text.find(what) != std::string::npos;
  CHECK(told);
  return told;
}
auto entry_of(BodyOp what) {
  return [what](const Entry& entry) { return entry.what == what; };
}

}  // namespace

TEST_CASE("a plan has the hash of one device, and says how likely a wrong one would pass") {
  const Proof alone = prove<Of<Single>>();
  const Proof planned = prove<Of<DataParallel<4>>>();
  for (const Proof& proof : {alone, planned}) {
    CAPTURE(proof.line());
    CHECK(proof.ok());
    CHECK(proof.bounded());
    CHECK(proof.log2_of_bound < -40);
    CHECK(proof.draws >= Draws::least);
    CHECK(proof.steps == 3);
    CHECK(proof.hash == proof.hash_alone);
    CHECK(proof.compared > 1000);
  }
  CHECK(planned.hash == alone.hash);
  CHECK(planned.devices == 4);
  CHECK(planned.plan == "DataParallel<4>");
  ProofOptions other;
  other.seed = Seed{2};
  CHECK(prove<Of<DataParallel<4>>>(other).hash != alone.hash);
}

TEST_CASE("fewer draws than the promise needs find no difference and prove nothing") {
  const Proof proof = prove<Of<Single>>(ProofOptions{.most_draws = 1});
  CHECK(proof.ok());
  CHECK(proof.bounded());
  CHECK_FALSE(proof);
  CHECK(proof.line().find("but 2^-40 is promised") != std::string::npos);
}

TEST_CASE("an unchanged copy of a Program passes") {
  MutableProgram copy{Of<Hybrid<TensorParallel<2>, DataParallel<2>>>::training};
  CHECK(said_of<Of<Hybrid<TensorParallel<2>, DataParallel<2>>>>(copy).empty());
}

TEST_CASE("a gradient that is not reduced is named") {
  using Spread = Of<DataParallel<2>>;
  MutableProgram mutant{Spread::training};
  const auto reduces = [](const auto& line, auto start, auto wait, auto what) { return (what == start || what == wait) && line.bucket == 0; };
  const int lines = mutant.drop([&](const Instruction& line) { return reduces(line, ListOp::reduce_start, ListOp::reduce_wait, line.op); });
  const int entries = mutant.drop_entries([&](const Entry& entry) { return reduces(entry, BodyOp::reduce_start, BodyOp::reduce_wait, entry.what); });
  REQUIRE(lines + entries == 2);
  tells(said_of<Spread>(mutant), "the gradient of '0.weight' after step 1 differs at element 0.");
}

TEST_CASE("a loss that is not reduced is named") {
  tells(said_without<Of<DataParallel<2>>>([](const Instruction& line) { return Of<DataParallel<2>>::training.moves(line, Purpose::loss); }),
        "the loss after step 1");
}

TEST_CASE("a mean over the rows of one rank instead of all is named") {
  FieldWork work = field_work<Net, CrossEntropy, Adam>();
  work.kernels.loss = [](const LossCall& call) {
    LossCall own = call;
    own.total_rows = call.rows;
    return FieldLoss<CrossEntropy>::sum(own);
  };
  MutableProgram same{Of<DataParallel<2>>::training};
  tells(said_of<Of<DataParallel<2>>>(same, &work), "the gradient of ");
}

TEST_CASE("parameters that are not gathered again after a step are named, one step later") {
  const auto gathers = [](const Instruction& line) { return line.op == ListOp::gather_start || line.op == ListOp::gather_wait; };
  tells(said_without<Of<Sharded<2, OptimizerState>>>(gathers), "after step 1");
}

TEST_CASE("a slice that is stepped twice, and one that is not, are named") {
  tells(said_without<Of<Sharded<2>>>([](const Instruction& line) { return line.op == ListOp::step && line.bucket == 1; }), "parameter '");
  MutableProgram mutant{Of<Sharded<2>>::training};
  for (Instruction& line : mutant.instructions)
    if (line.op == ListOp::step && line.bucket == 1) line.bucket = 0;
  tells(said_of<Of<Sharded<2>>>(mutant), "parameter '");
}

TEST_CASE("a sum of values over axis tensor that is left out is named, forward and backward") {
  using Split = Of<TensorParallel<2>>;
  MutableProgram all{Split::training};
  const int sums = all.drop_entries(entry_of(BodyOp::reduce_value));
  CHECK(sums >= 4);
  for (int n = 0; n < sums; ++n) tells(said_without_entry<Split>(entry_of(BodyOp::reduce_value), n), "after step 1");
}

TEST_CASE("every kind of entry that computes counts: without one of it the result is another") {
  using Split = OfWords<TensorParallel<2>>;
  for (const BodyOp what : {BodyOp::load_targets, BodyOp::leaf_forward, BodyOp::add, BodyOp::leaf_backward, BodyOp::loss_terms, BodyOp::loss,
                            BodyOp::gather_value, BodyOp::reduce_parameter}) {
    CAPTURE(static_cast<int>(what));
    MutableProgram there{Split::training};
    if (there.drop_entries(entry_of(what), 0) == 0) continue;
    tells(said_without_entry<Split>(entry_of(what), 0), "after step 1");
  }
}

namespace {

/// What prove says if one kind of entry applies only where the loss is reported: in the second step of a proof it does not.
template <class ThePlan> std::string said_if_left_out_of_step_2(BodyOp what) {
  MutableProgram mutant{ThePlan::training};
  int changed = 0;
  for (Entry& entry : mutant.entries)
    if (entry.what == what) {
      entry.when = When::reporting;
      ++changed;
    }
  REQUIRE(changed > 0);
  return said_of<ThePlan>(mutant);
}

}  // namespace

TEST_CASE("a step on the rows or labels of the step before is named, whether the steps have as many rows or not") {
  using Whole = Plan<Net, CrossEntropy, Adam, Batch<8>, Single>;
  using Halves = Plan<Net, CrossEntropy, Adam, Batch<8>, DataParallel<2>>;
  for (const BodyOp what : {BodyOp::load_targets, BodyOp::load_input}) {
    CAPTURE(static_cast<int>(what));
    tells(said_if_left_out_of_step_2<Of<Single>>(what), "after step 2");
    tells(said_if_left_out_of_step_2<Of<DataParallel<2>>>(what), "after step 2");
    tells(said_if_left_out_of_step_2<Whole>(what), "after step 2");
    tells(said_if_left_out_of_step_2<Halves>(what), "after step 2");
    tells(said_if_left_out_of_step_2<OfWords<Single>>(what), "after step 2");
  }
}

TEST_CASE("an evaluation on the rows of the last step, and a prediction on those of an evaluation, are named") {
  const FieldWork work = field_work<Net, CrossEntropy, Adam>();
  using Alone = Of<Single>;
  OneDevice<FieldThreads::Session> alone{work, {&Alone::training, &Alone::evaluation}, steps_of(Alone::training.batch), {Seed{1}}};
  const auto said = [&](const MutableProgram::Entries& gone) {
    MutableProgram mutant{Alone::evaluation};
    REQUIRE(mutant.drop_entries(gone) == 1);
    return prove_programs<FieldThreads::Session>({&Alone::training, &mutant.program()}, alone, "mutant").text;
  };
  tells(said(entry_of(BodyOp::load_input)), "the outputs of an evaluation");
  tells(said(entry_of(BodyOp::load_targets)), "the loss of an evaluation");
  MutableProgram mutant{Alone::evaluation};
  for (Entry& entry : mutant.entries)
    if (entry.what == BodyOp::load_input) entry.when = When::reporting;
  tells(prove_programs<FieldThreads::Session>({&Alone::training, &mutant.program()}, alone, "mutant").text, "the outputs of a prediction");
}

TEST_CASE("tied gradients that are not added are named") {
  using Staged = OfWords<Pipeline<Balanced<2>, Microbatches<2>>>;
  tells(said_without<Staged>([](const Instruction& line) { return line.op == ListOp::tie; }), "'in.weight' after step 1");
}

TEST_CASE("a copy that one rank alone does not step is named with the rank") {
  using Staged = OfWords<Pipeline<Balanced<2>, Microbatches<2>>>;
  const FlatBucket* const buckets = Staged::training.buckets;
  const std::string text = said_without<Staged>(
      [&](const Instruction& line) { return line.op == ListOp::step && buckets[line.bucket].shared && buckets[line.bucket].role == 1; });
  tells(text, "parameter 'in.weight' after step 1 differs at element ");
  tells(text, " on rank 1.");
}

TEST_CASE("a norm that is not reduced, and gradients that are not unscaled, are named") {
  using Clipped = Of<Pipeline<Balanced<2>>, Clip<GlobalNorm>>;
  tells(said_without<Clipped>([](const Instruction& line) { return Clipped::training.moves(line, Purpose::norm); }),
        "the norm of the gradients after step 1");
  tells(said_without<Of<Single, LossScaling>>([](const Instruction& line) { return line.op == ListOp::unscale; }), "the gradient of ");
}

TEST_CASE("a backward that reads another value than its forward has saved is named") {
  MutableProgram mutant{Of<Single>::training};
  std::vector<Entry*> linears;
  for (Entry& entry : mutant.entries)
    if (entry.what == BodyOp::leaf_backward && entry.a.set()) linears.push_back(&entry);
  REQUIRE(linears.size() > 2);
  std::swap(linears[1]->a, linears[2]->a);
  tells(said_of<Of<Single>>(mutant), "after step 1");
}

TEST_CASE("targets of another place are named") {
  MutableProgram mutant{Of<DataParallel<2>>::training};
  FieldWork work = field_work<Net, CrossEntropy, Adam>();
  work.kernels.loss = [](const LossCall& call) {
    std::vector<std::int32_t> shifted(static_cast<const std::int32_t*>(call.targets), static_cast<const std::int32_t*>(call.targets) + call.rows);
    for (std::size_t i = 1; i < shifted.size(); ++i) std::swap(shifted[i - 1], shifted[i]);
    LossCall other = call;
    other.targets = shifted.data();
    return FieldLoss<CrossEntropy>::sum(other);
  };
  tells(said_of<Of<DataParallel<2>>>(mutant, &work), "the loss after step 1");
}

TEST_CASE("a label of another row is equal in half of the draws where there are two classes: as many draws are made as tell it") {
  struct TwoClasses : Sequential<Linear<3, 2>> {};
  using Rounds = Plan<TwoClasses, CrossEntropy, SGD, Batch<2>, Single, Accumulate<2>>;
  MutableProgram mutant{Rounds::training};
  for (Entry& entry : mutant.entries)
    if (entry.what == BodyOp::load_targets) entry.when = When::first_micro_batch;  // the second round has the label of the first
  const FieldWork work = field_work<TwoClasses, CrossEntropy, SGD>();
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    OneDevice<FieldThreads::Session> alone{work, {&Rounds::training, &Rounds::evaluation}, steps_of(Rounds::training.batch), {Seed{seed}}};
    tells(prove_programs<FieldThreads::Session>({&mutant.program(), &Rounds::evaluation}, alone, "mutant").text, " after step ");
    if (seed > 1) continue;
    const Proof whole = prove_programs<FieldThreads::Session>({&Rounds::training, &Rounds::evaluation}, alone, "whole");
    CHECK(whole.draws > 40);
    CHECK(whole.log2_of_bound < -40);
  }
}

namespace {

/// Four sums of the inverses of a row of 64 features.
struct Harmonic {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Harmonic";
    leaf.spelled << "Harmonic";
    leaf.in = leaf.out = in;
    leaf.out.shape = Shape{4};
    return leaf;
  }
};

}  // namespace

template <> struct heddle::FieldKernel<Harmonic> {
  static constexpr bool backward_in_parts = true;
  static void forward(const ForwardCall& call) {
    for (std::int64_t r = 0; r < call.rows; ++r)
      for (std::int64_t o = 0; o < 4; ++o) {
        std::uint64_t sum = 0;
        for (std::int64_t i = 0; i < 64; ++i)
          sum = Field::plus(sum, Field::inverse(Field::times(Field::read(call.input[r * 64 + i]), Field::image(static_cast<float>(o + 1)))));
        call.output[r * 4 + o] = Field::write(sum);
      }
  }
  static void backward(const BackwardCall& call) {
    for (std::int64_t i = 0; i < call.rows * 64 && call.input_gradient != nullptr; ++i) call.input_gradient[i] = call.output_gradient[i / 64 * 4];
  }
};

TEST_CASE("the bound counts 64 quotients that a layer adds with the degree that their sum has") {
  struct Quotients : Sequential<Linear<5, 64>, Harmonic, ReLU, Linear<4, 3>> {};
  const Proof proof = prove<Plan<Quotients, MeanSquaredError, SGD, Batch<32>, DataParallel<2>>>();
  REQUIRE(proof);
  CAPTURE(proof.log2_of_bound);
  CAPTURE(proof.draws);
  const double calls = 2 * 32 * 4 + 1;                    // of ReLU in a step: one device, the plan, and a zero
  const double ways = 3 * calls * (calls - 1) / 2 * 254;  // 64 elements of degree 2: a numerator of degree 126, a denominator of 128
  CHECK(proof.log2_of_bound / proof.draws >= std::log2(ways / static_cast<double>(Field::modulus - 1)));
}

namespace {

/// A layer whose kernel proves another plan, if it is told to.
struct Asking {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Asking";
    leaf.spelled << "Asking";
    leaf.in = leaf.out = in;
    return leaf;
  }
  static inline std::atomic<bool> asks = false;
};
struct Asked : Sequential<Linear<4, 6>, Asking, Linear<6, 4>> {};
template <class Policy> using OfAsked = Plan<Asked, MeanSquaredError, SGD, Batch<4>, Policy>;

}  // namespace

template <> struct heddle::FieldKernel<Asking> {
  static void forward(const ForwardCall& call) {
    if (Asking::asks) (void)prove<Of<Single>>();
    std::copy_n(call.input, call.rows * call.leaf->in.elements(), call.output);
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient != nullptr) std::copy_n(call.output_gradient, call.rows * call.leaf->in.elements(), call.input_gradient);
  }
};

TEST_CASE("a proof in the middle of another one, in its kernel, is refused, and both plans can be proved afterwards") {
  const auto said = [](auto proof) -> std::string {
    try {
      (void)proof();
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  Asking::asks = true;
  const std::string wanted =
      "[heddle.R11] prove() was called by a kernel in the middle of another proof. Fix: call it after the other proof has returned.";
  CHECK(said([] { return prove<OfAsked<Single>>(); }) == wanted);
  CHECK(said([] { return prove<OfAsked<DataParallel<2>>>(); }) == wanted);  // rank 1 has a thread of its own
  Asking::asks = false;
  CHECK(prove<OfAsked<DataParallel<2>>>());
  CHECK(prove<Of<Single>>());
}

TEST_CASE("two threads prove at once: their runs take turns") {
  std::atomic<int> held = 0;
  const auto prove_some = [&held] {
    for (int i = 0; i < 5; ++i) held += prove<Of<DataParallel<2>>, FieldThreads>({.seed = Seed{static_cast<std::uint64_t>(i + 1)}}).ok() ? 1 : 0;
  };
  std::thread one{prove_some};
  std::thread other{prove_some};
  one.join();
  other.join();
  CHECK(held == 10);
}

TEST_CASE("an accumulation that forgets one round is named") {
  using Rounds = Of<Single, Accumulate<2>>;
  MutableProgram mutant{Rounds::training};
  for (Instruction& line : mutant.instructions)
    if (line.op == ListOp::backward && line.micro_batch == 1) line.micro_batch = 0;
  tells(said_of<Rounds>(mutant), "after step 1");
}

namespace {

/// A layer of a user, split by its features without a law for the field.
struct Gain {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gain";
    leaf.spelled << "Gain";
    leaf.in = leaf.out = in;
    leaf.with({"weight", Shape{in.shape.last()}, Initial::ones});
    leaf.splits(Signature{laid::shard(0), laid::shard(0), laid::shard(0), laid::shard(0), {}, {}}.with(0, laid::shard(0), laid::shard(0)));
    return leaf;
  }
};
struct Gained : Sequential<Linear<4, 6>, Gain, Linear<6, 4>> {};
template <class Policy> using OfGained = Plan<Gained, MeanSquaredError, SGD, Batch<4>, Policy>;

}  // namespace

namespace {

/// As Gain, with kernels in the field that are wrong in one way each.
enum class Fault { none, floats, empty, one_as_gradient };
template <Fault> struct Faulty : Gain {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = Gain::describe(in);
    leaf.saves = Saves::input;
    return leaf;
  }
  static constexpr Spec takes() { return Spec{Shape{6}}; }
};
/// Adds a function of its sum to each row, in floats, though it states that parts of a row may be computed alone.
struct Shift {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = elementwise("Shift", in, 2);
    leaf.elementwise = false;
    return leaf;
  }
};
template <Fault Wrong> struct FaultyGained : Sequential<Linear<4, 6>, Faulty<Wrong>, Linear<6, 4>> {};
struct Shifted : Sequential<Linear<4, 64>, Shift, Linear<64, 4>> {};

}  // namespace

template <Fault Wrong> struct heddle::FieldKernel<Faulty<Wrong>> {
  static constexpr bool backward_in_parts = true;
  static float product(float a, float b) { return Wrong == Fault::floats ? a * b : Field::write(Field::times(Field::read(a), Field::read(b))); }
  static void forward(const ForwardCall& call) {
    const std::int64_t n = call.leaf->in.elements();
    for (std::int64_t i = 0; i < call.rows * n && Wrong != Fault::empty; ++i) call.output[i] = product(call.input[i], call.parameters[0][i % n]);
  }
  static void backward(const BackwardCall& call) {
    const std::int64_t n = call.leaf->in.elements();
    if (Wrong == Fault::empty) return;
    for (std::int64_t i = 0; i < n && call.parameter_gradients != nullptr; ++i) {
      float sum = call.add ? call.parameter_gradients[0][i] : 0;
      for (std::int64_t r = 0; r < call.rows; ++r) sum = FieldArithmetic::plus(sum, product(call.output_gradient[r * n + i], call.input[r * n + i]));
      call.parameter_gradients[0][i] = sum;
    }
    for (std::int64_t i = 0; i < call.rows * n && call.input_gradient != nullptr; ++i)
      call.input_gradient[i] = Wrong == Fault::one_as_gradient ? 1.0F : product(call.output_gradient[i], call.parameters[0][i % n]);
  }
};
template <> struct heddle::FieldKernel<Shift> {
  static void forward(const ForwardCall& call) {
    const std::int64_t n = call.leaf->in.shape.last();
    for (std::int64_t r = 0; r < call.rows; ++r) {
      float sum = 0;
      for (std::int64_t i = 0; i < n; ++i) sum += call.input[r * n + i];
      for (std::int64_t i = 0; i < n; ++i) call.output[r * n + i] = call.input[r * n + i] + std::tanh(sum);
    }
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient != nullptr) FieldCompute::copy(call.input_gradient, call.output_gradient, call.rows * call.leaf->in.elements());
  }
};

namespace {

/// What stops the proof of a plan that splits the model.
template <class Model> std::string stops() {
  try {
    const Proof proof = prove<Plan<Model, MeanSquaredError, SGD, Batch<4>, TensorParallel<2>>>();
    return proof ? "" : proof.line();
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("a kernel that does not compute in the field proves nothing: it computes with floats, writes nothing, or a float of its own") {
  CHECK(stops<FaultyGained<Fault::none>>() == "");
  CHECK(stops<FaultyGained<Fault::floats>>().find("[heddle.R34] heddle::FieldKernel<Faulty<") == 0);
  CHECK(stops<FaultyGained<Fault::floats>>().find("::forward computes with the floats that hold elements") != std::string::npos);
  CHECK(stops<FaultyGained<Fault::empty>>().find("::forward leaves element 0 of the output unwritten") != std::string::npos);
  CHECK(stops<FaultyGained<Fault::one_as_gradient>>().find("::backward writes at element 0 of the gradient of its input what") != std::string::npos);
  CHECK(stops<Shifted>().find("[heddle.R34] heddle::FieldKernel<Shift>::forward computes with the floats") == 0);
}

/// A policy of a user: replicas that keep slices along the axis that splits the batch, without an axis shard.
template <int Replicas, bool Parameters, bool Gradients> struct SlicedReplicas {
  static constexpr void answer(const Graph&, Layout& layout) {
    layout.claim(axis::data, Replicas);
    layout.splits_batch(axis::data);
    layout.keeps_slices(axis::data, {Parameters, Gradients, true, false});
  }
};

TEST_CASE("a user's policy may slice along axis data: norms and flags are reduced over it") {
  CHECK(prove<Of<SlicedReplicas<2, false, false>>>());
  CHECK(prove<Of<SlicedReplicas<2, false, false>, Clip<GlobalNorm>>>());
  CHECK(prove<Of<SlicedReplicas<2, false, true>, LossScaling>>());
  CHECK(prove<Of<SlicedReplicas<2, true, true>, Clip<GlobalNorm>, LossScaling>>());
  CHECK(prove<Of<SlicedReplicas<2, true, true>, Clip<GlobalNorm>, LossScaling, Guarded>>());
  CHECK(prove<Of<Hybrid<SlicedReplicas<2, true, true>, TensorParallel<2>, Pipeline<Balanced<2>>>, Clip<GlobalNorm>, LossScaling>>());
}

TEST_CASE("a user's layer needs nothing where it is whole, and is refused by name where ranks run parts of it") {
  CHECK(prove<OfGained<DataParallel<2>>>());
  CHECK(prove<OfGained<Pipeline<Balanced<2>>>>().hash == prove<OfGained<Single>>().hash);
  std::string said;
  try {
    (void)prove<OfGained<TensorParallel<2>>>();
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK(said ==
        "[heddle.R32] layer 1 '1' Gain is split, but in exact arithmetic nothing says how parts of Gain combine. Fix: specialise "
        "heddle::FieldKernel<Gain> with forward(ForwardCall) and backward(BackwardCall), or leave the layer whole.");
}
