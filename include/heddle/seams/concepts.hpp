// SPDX-License-Identifier: MIT
// Room: seams. The two seams: what a compute backend and what a transport must offer.
// Sees: graph descriptions, core, seams/endpoint.  Does not see: policies, programs, any backend.
// In: pointers and run-time extents.  Out: Kernel, LossKernel, OptimizerKernel, Compute.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/core/host_device.hpp"
#include "heddle/core/units.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/seams/endpoint.hpp"

namespace heddle::seams_room {

/// Where a call stands in the training, for what a layer draws at random: an element has one number in the whole batch, whichever rank has it, and
/// whether it is made for the first time or again. Element 2 of row 3 of a value of 8, of which this rank has the second half, is 3 * 16 + 8 + 2.
struct CallContext {
  Seed seed{0};                // of the trainer
  std::int64_t step = 0;       // counted from 1
  std::int64_t node = 0;       // the layer, counted in the order of the model
  bool trains = true;          // false: an evaluation, or a prediction
  std::int64_t first_row = 0;  // of the grain, in the batch of the step
  std::int64_t runs = 1;       // of consecutive elements that one row has of a part
  int parts = 1;               // of the output along its split dimension
  int part = 0;
  std::int64_t rows_together = 0;  // of a leaf in phases: rows of the micro-batch over all ranks that split the batch

  /// For draws of this layer in this step.
  [[nodiscard]] HEDDLE_HOST_DEVICE constexpr std::uint64_t stream() const {
    return static_cast<std::uint64_t>(node) << 40U | (static_cast<std::uint64_t>(step) & ((std::uint64_t{1} << 40U) - 1));
  }
  /// The first element of run `run` of row `row`, of `elements` that one row has here.
  [[nodiscard]] HEDDLE_HOST_DEVICE constexpr std::uint64_t first_of_run(std::int64_t row, std::int64_t run, std::int64_t elements) const {
    return static_cast<std::uint64_t>((first_row + row) * elements * parts + (run * parts + part) * (elements / runs));
  }
  /// The number in the whole batch of element `at` of this call.
  [[nodiscard]] HEDDLE_HOST_DEVICE constexpr std::uint64_t number_of(std::int64_t at, std::int64_t elements) const {
    const std::int64_t length = elements / runs;
    return first_of_run(at / elements, at % elements / length, elements) + static_cast<std::uint64_t>(at % length);
  }
};

/// Memory that the host reads and writes. A compute backend whose tensors lie elsewhere names that memory, `using Space = CardMemory;`, and calls of
/// its kernels carry the name: a kernel that is written for the host takes no such call, so it is refused at build and reads nothing that is not
/// there.
///
/// Of a call on a card `space` says where it is queued. A backend names what it needs; HostMemory needs nothing and takes no room.
struct HostMemory {};

/// Where the tensors of a compute backend lie: its Space, or HostMemory.
template <class Compute> struct SpaceOfCompute { using type = HostMemory; };
template <class Compute>
requires requires { typename Compute::Space; }
struct SpaceOfCompute<Compute> {
  using type = typename Compute::Space;
};
template <class Compute> using SpaceOf = typename SpaceOfCompute<Compute>::type;

/// One forward of a leaf over one grain. All tensors are row-major and 64-byte aligned; rows may be 0. ForwardCall is that of the host's memory.
template <class Space> struct ForwardCallIn {
  const Leaf* leaf = nullptr;
  std::int64_t rows = 0;
  const float* input = nullptr;              // (rows, In)
  float* output = nullptr;                   // (rows, Out); may equal input if the leaf is elementwise
  const float* const* parameters = nullptr;  // one per leaf->parameters
  void* workspace = nullptr;                 // Compute::workspace bytes and those of Kernel::scratch, 64-byte aligned, this rank's alone
  int part = 0;                              // of a leaf that is split: which one, counted along the axis
  float* statistics = nullptr;               // (rows, Leaf::statistics), written for the backward; null if there is none to come
  const std::int32_t* ids = nullptr;         // (rows, In) of a leaf that takes int32: input is null then
  CallContext context{};
  const float* second = nullptr;        // (rows, Leaf::other) of a leaf of two operands
  const std::uint8_t* bytes = nullptr;  // (rows, In) of a leaf that takes uint8: input is null then
  // Of a phase; `told` is null where the leaf runs again: all that was told is in `statistics`, which are there then.
  float* tells = nullptr;              // what this grain tells, Leaf::forward_phases.sums of this phase; null in the last
  const float* const* told = nullptr;  // by earlier phase: the sum of what all grains of all ranks told
  [[no_unique_address]] Space space{};
};
using ForwardCall = ForwardCallIn<HostMemory>;

/// One backward of a leaf over one grain: both gradients, or one of them, with the same bits.
/// Linear<4, 3> on 8 rows has 32 floats of input, 24 of output_gradient, and parameter_gradients of 12 and 3.
template <class Space> struct BackwardCallIn {
  const Leaf* leaf = nullptr;
  std::int64_t rows = 0;
  const float* input = nullptr;            // (rows, In), null unless saved
  const float* output = nullptr;           // (rows, Out), null unless saved
  const float* output_gradient = nullptr;  // (rows, Out)
  float* input_gradient = nullptr;         // (rows, In), overwritten; null if nobody needs it; may equal output_gradient if elementwise
  const float* const* parameters = nullptr;
  float* const* parameter_gradients = nullptr;  // one per leaf->parameters; null: not in this call, if the kernel says backward_in_parts
  bool add = false;                             // parameter gradients: added to what is there (true) or overwritten (false)
  void* workspace = nullptr;
  int part = 0;                       // as of ForwardCall
  const float* statistics = nullptr;  // (rows, Leaf::statistics), as the forward left them; null where nothing that is saved is read
  const std::int32_t* ids = nullptr;  // (rows, In), if saved, of a leaf that takes int32: input and input_gradient are null then
  CallContext context{};
  // A leaf of two operands is called once for each whose gradient is needed.
  std::int8_t operand = 0;              // whose gradient is made: input_gradient is (rows, Leaf::other) of operand 1
  const float* second = nullptr;        // (rows, Leaf::other), null unless saved
  const std::uint8_t* bytes = nullptr;  // as ids, of a leaf that takes uint8
  // Of a phase, as of ForwardCall. The first is given parameter_gradients, and tells nothing if nobody needs the gradient of the input.
  float* tells = nullptr;
  const float* const* told = nullptr;
  [[no_unique_address]] Space space{};
};
using BackwardCall = BackwardCallIn<HostMemory>;
/// One phase of a leaf: an element of Kernel<L, Compute>::forward_phases or backward_phases.
template <class Space> using ForwardPhaseIn = void (*)(const ForwardCallIn<Space>&);
template <class Space> using BackwardPhaseIn = void (*)(const BackwardCallIn<Space>&);
using ForwardPhase = ForwardPhaseIn<HostMemory>;
using BackwardPhase = BackwardPhaseIn<HostMemory>;

/// Functions of one number that libraries know by name, and can run in the tail of a product of theirs. `gelu_tanh` is that of GELUTanh.
enum class KnownFunction : std::uint8_t { none, relu, gelu_tanh };

/// An elementwise layer that runs in the tail of a kernel, where a Program has fused two entries: on what the kernel makes, while that is near. Of 8
/// rows of Linear<4, 3> and then ReLU it takes the elements from 0 to 24: in pieces, in any order, each once, when it is made.
template <class Space> struct TailIn {
  const Leaf* leaf = nullptr;    // the layer
  const float* made = nullptr;   // what the kernel makes: the output of a forward, the input_gradient of a backward
  float* output = nullptr;       // what the layer makes of it; may equal made
  const float* saved = nullptr;  // of a backward: the input of the layer, or its output, as leaf->saves says; null if neither
  void (*run)(const TailIn&, std::int64_t begin, std::int64_t end) = nullptr;
  bool* runs = nullptr;  // true while it does, if anybody asks: what is thrown then is of this layer
  KnownFunction known = KnownFunction::none;
  [[no_unique_address]] Space space{};

  void operator()(std::int64_t begin, std::int64_t end) const {
    if (runs != nullptr) *runs = true;
    run(*this, begin, end);
    if (runs != nullptr) *runs = false;
  }
};
using Tail = TailIn<HostMemory>;
/// The sum that a kernel makes itself, row by row, before it reads it as its input; `sum` is that input.
/// Of 8 rows of 64 elements all three have 512.
template <class Space> struct AddendsIn {
  const float* a = nullptr;
  const float* b = nullptr;
  float* sum = nullptr;
};
using Addends = AddendsIn<HostMemory>;

/// Gives a call the input of its leaf: floats, or what lies in their place. Null stays null.
template <class Call> void set_input(Call& call, const float* lies) {
  switch (call.leaf->in.type) {
    case ElementType::float32:
    case ElementType::bfloat16: call.input = lies; return;  // kernels read floats, widened
    case ElementType::int32: call.ids = reinterpret_cast<const std::int32_t*>(lies); return;
    case ElementType::uint8: call.bytes = reinterpret_cast<const std::uint8_t*>(lies); return;
  }
}

/// Kernel<L, Compute> has   static void forward(const ForwardCall&);   static void backward(const BackwardCall&);
/// A compute room specialises it for the leaves it knows, a user for an own layer with parameters. Extents are those of call.leaf: where layers are
/// split it is smaller than the type says. One with parameters that also says
/// static constexpr bool backward_in_parts = true   may be called for either gradient alone, as an order that splits the backward does.
/// That of a leaf with phases also has   static constexpr ForwardPhase forward_phases[] = {...};   with one function for each, and backward_phases
/// alike, which train; forward and backward are then all phases in one call whose rows are all rows, and what does not train.
/// Entries that a Program has fused run at once if their kernels can; else one after another, with the same bits. A kernel says what it can by a type
/// of its own name, so that one which derives from it and has another forward does not say so too:
///   using TakesTail = Kernel;   static void forward_with_tail(const ForwardCall&, const Tail&), backward_with_tail(const BackwardCall&, const Tail&)
///   using RunsInTail = Kernel;  static void forward_in_tail(const Tail&, begin, end), backward_in_tail alike: elements of an elementwise layer;
///                               and, if libraries know it, static constexpr KnownFunction known
///   using TakesSum = Kernel;    static void forward_of_sum(const ForwardCall&, const Addends&)
///
/// A kernel for another memory than the host's is given float32 copies where a plan keeps values as bfloat16, and what it makes is rounded, unless it
/// says that it takes values as they lie. Its functions are templates then, and those of bfloat16 are compiled for plans with Mixed alone:
///   using TakesBFloat16 = Kernel;   template <class Value = float> static void forward(const ForwardCall&), backward(const BackwardCall&)
/// Those of tails are such templates then as well. One that takes sums may have a template of forward_of_sum alike; without it a sum in bfloat16 runs
/// by itself.
/// Where Value is BFloat16, so is what these pointers of a call point at: input, second, output, output_gradient, input_gradient, and parameters but
/// for those that are tracked. Of parameters the call has rounded copies. Statistics, gradients of parameters and the workspace have the types that
/// they have in float32. What such a kernel makes is what it makes of the same values as floats, rounded once.
}  // namespace heddle::seams_room
namespace heddle {
template <class L, class Compute> struct Kernel;
}  // namespace heddle
namespace heddle::seams_room {

/// What of the targets of a step, over all ranks, counts for one loss. Of 8 targets of which 3 are ignored 3 are left out.
struct CountedTargets {
  std::int64_t left_out = 0;  ///< targets that count nothing
  double sum_of_weights = 0;  ///< with class weights, of those that count

  /// By what the mean over `rows` of so many targets each divides, in rows: of 4 rows of 8 targets, 8 of which are left out, 3.
  [[nodiscard]] constexpr double rows(double rows, std::int64_t targets_of_a_row, bool weighs) const {
    if (targets_of_a_row == 0) return rows;
    return weighs ? sum_of_weights / static_cast<double>(targets_of_a_row)
                  : rows - static_cast<double>(left_out) / static_cast<double>(targets_of_a_row);
  }
};

/// The loss of one grain. `total_rows` is the number of rows of the whole step over all ranks: means divide by it.
/// 8 rows of 10 classes have an output and a gradient of 80 floats and 8 targets.
template <class Space> struct LossCallIn {
  std::int64_t rows = 0;
  std::int64_t features = 0;
  std::int64_t total_rows = 0;
  const float* output = nullptr;  // (rows, features): logits or predictions
  const void* targets = nullptr;  // (rows, target_features): class numbers in int32, or floats
  float* gradient = nullptr;      // (rows, features), d(mean loss over total_rows)/d(output); null in evaluation; may equal output
  std::int64_t positions = 1;     // of one row: features are those of all positions together
  // Where the output lies in parts: it, the gradient and features are those of part `part` of `parts`, targets are whole.
  int part = 0;
  int parts = 1;
  float* terms = nullptr;            // terms(): (rows, terms of a row), written; sum(): (rows, parts, terms of a row), read
  std::int64_t target_features = 0;  // targets of one row: Loss::target_features(output)
  std::int64_t left_out = 0;         // targets of the whole step, over all ranks, that count nothing

  // Of a loss that weighs classes: the weight of each class, and the sum of those of all targets of the step that count. Null: each has the weight 1.
  const float* class_weights = nullptr;
  double sum_of_weights = 0;
  const CountedTargets* each = nullptr;  // of Losses: what counts for each of them, in their order
  float* loss = nullptr;                 // of tensors that the host does not read: where the sum of the rows is written
  void* workspace = nullptr;             // of such tensors: the bytes of LossKernel::scratch, 64-byte aligned, this rank's alone
  [[no_unique_address]] Space space{};

  /// By what a mean over positions divides.
  [[nodiscard]] double counted() const { return class_weights != nullptr ? sum_of_weights : static_cast<double>(total_rows * positions - left_out); }
};
using LossCall = LossCallIn<HostMemory>;

/// LossKernel<Loss, Compute> has   static float sum(const LossCall&);   the sum over rows of the loss (not yet divided by total_rows). For tensors in
/// another memory it is   static void sum(const LossCallIn<Space>&);   which queues that the sum is written to call.loss. As one of
/// several losses it is called for one row at a time, which lies where it does in the output: output and gradient are aligned as floats. One that
/// says using TakesBFloat16 = LossKernel has   template <class Value = float>   before sum, and terms: output and gradient are of that type. That of
/// a SplitLossDescription also has   static void terms(const LossCall&);   what it leaves in gradient is there when sum is called.
}  // namespace heddle::seams_room
namespace heddle {
template <class Loss, class Compute> struct LossKernel;
}  // namespace heddle
namespace heddle::seams_room {

/// OptimizerKernel<Optimizer, Compute> has   static void step(const typename Optimizer::Constants&, std::int64_t elements, float* parameters,
/// const float* gradients, float* const* states);   all flat, 64-byte aligned; elements is a multiple of 16. For tensors in another memory it has
/// static void step(const typename Optimizer::Constants* there, const StepCallIn<Space>&);   the constants lie in that memory too, since they change
/// from step to step. `states` is read by the host. 16 elements of Adam have 2 states of 16.
template <class Space> struct StepCallIn {
  std::int64_t elements = 0;
  float* parameters = nullptr;
  const float* gradients = nullptr;
  float* const* states = nullptr;
  [[no_unique_address]] Space space{};
};
}  // namespace heddle::seams_room
namespace heddle {
template <class Optimizer, class Compute> struct OptimizerKernel;
}  // namespace heddle
namespace heddle::seams_room {

/// A compute backend: kernels take pointers and run-time extents, never types of sizes.
///   static constexpr Bytes workspace;                                       scratch per device that kernels may use
///   static void add(float* target, const float* a, const float* b, n);      target = a + b elementwise, target may equal a or b
///   static void copy(float* target, const float* source, n);  zero(float*, n)
template <class C>
concept Compute = requires(float* target, const float* a, const float* b, std::int64_t n) {
  { C::workspace } -> std::convertible_to<Bytes>;
  C::add(target, a, b, n);
  C::copy(target, a, n);
  C::zero(target, n);
};

}  // namespace heddle::seams_room

namespace heddle::extending {
using seams_room::Addends, seams_room::AddendsIn, seams_room::KnownFunction, seams_room::Tail, seams_room::TailIn;
using seams_room::BackwardCall, seams_room::BackwardPhase, seams_room::CallContext, seams_room::ForwardCall, seams_room::ForwardPhase,
    seams_room::LossCall;
using seams_room::BackwardCallIn, seams_room::ForwardCallIn, seams_room::HostMemory, seams_room::LossCallIn, seams_room::StepCallIn;
}  // namespace heddle::extending
