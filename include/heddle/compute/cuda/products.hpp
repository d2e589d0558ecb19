// SPDX-License-Identifier: MIT
// Room: compute. Products of row-major matrices by cuBLASLt, each planned once.
// Sees: compute/cuda.  Does not see: layers, policies, programs.
// In: a ProductShape, then pointers of a card.  Out: CudaProducts, product.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/lt_products.hpp"
#include "heddle/compute/cuda/product_shape.hpp"
#include "heddle/compute/cuda/resources.hpp"
#include "heddle/compute/cuda/step_kernels.hpp"
#include "heddle/compute/cuda/tuning.hpp"
#include "heddle/core/bfloat16.hpp"
#include "heddle/core/units.hpp"

namespace heddle::compute_room {

/// The products of one stream: a handle, a workspace on the card, and a plan for each ProductShape, made when it is first run: descriptors and an
/// algorithm. A run of what has a plan creates nothing, allocates nothing and asks no heuristic; a capture of its stream may be the first.
///
/// What keeps its bits. The heuristic chooses another algorithm for 8 rows than for 64, and then the bits of a row depend on the rows beside it. So
/// products that differ only in the rows that `grows` names share the algorithm of `usual` rows: replicas with 8 of 64 rows, or a smaller last batch,
/// take that of 64 rows if cublasLtMatmulAlgoCheck accepts it for them. plans_of_their_own() counts those where it does not. Of those tried on a card
/// (docs/gpu-results.md, Bits) all of float32 then keep the bits of a row, and all but one of TF32. Sums over rows depend on them in any case.
///
/// What is tuned. With CudaProductOptions::autotunes kernels prepare() the products of a grain before the first step: of the algorithms that the
/// heuristic offers the fastest is taken, and an epilogue where it is faster than the kernel in whose place it stands. Bits depend on what was found.
///
/// Errors  R36 if a call fails, or if cuBLASLt has no algorithm; R14 if the card has no room for the workspace; R43 of choices that are not of it
/// Tested  compute/cuda/products_test, compute/cuda/tuned_products_test
class CudaProducts {
 public:
  CudaProducts(cudaStream_t stream, const CudaProductOptions& options) : options_(options), lt_(stream, options.workspace_bytes, options.tf32) {}
  /// For a few products, as of a test of one layer: with a workspace of 1 MiB, which is made sooner.
  explicit CudaProducts(cudaStream_t stream) : CudaProducts(stream, {.workspace_bytes = std::size_t{1} << 20U}) {}

  /// Queues the product. `bias` has n numbers if shape.bias says so. Nothing is queued if m, n or batch is 0.
  template <class In, class Made>
  void run(const ProductShape& shape, const In* a, const In* b, Made* c, const std::type_identity_t<Made>* bias = nullptr, float scale = 1) {
    static_cast<void>(run_if_planned(shape, a, b, c, BesideProduct<Made>{.bias = bias}, scale));
  }
  /// A product with an epilogue, where that was found faster than what it takes the place of. Else false, and nothing is queued.
  template <class In, class Made>
  [[nodiscard]] bool run_together(const ProductShape& shape, const In* a, const In* b, Made* c, const BesideProduct<Made>& beside) {
    if (together_.empty() || shape.m == 0 || shape.n == 0 || shape.k == 0) return false;
    if (reinterpret_cast<std::uintptr_t>(beside.kept) % most_even != 0) return false;
    const auto found = together_.find(key_of(with_rows(typed<In, Made>(shape), 1), alignments(shape, a, b, c, beside.bias)));
    return found != together_.end() && found->second && run_if_planned(shape, a, b, c, beside, 1);
  }

  // ---- before the first step, and nothing unless products are tuned
  [[nodiscard]] bool autotunes() const { return options_.autotunes; }
  /// Until it is null again plans are chosen by time, for grains of so many rows.
  void tune(CudaTuning* tuning, std::int64_t rows = 0) {
    tuning_ = tuning;
    if (tuning != nullptr) options_.usual_rows = rows;
  }
  [[nodiscard]] bool is_tuning() const { return tuning_ != nullptr; }
  /// Plans a product of values at even addresses.
  template <class In, class Made> void prepare(const ProductShape& shape) {
    if (tuning_ != nullptr && shape.m > 0 && shape.n > 0 && shape.batch > 0) static_cast<void>(plan_of(typed<In, Made>(shape), even));
  }
  /// Plans a product with an epilogue, and finds whether it is faster than the product without and apart(at, room), which queues the kernel in whose
  /// place the epilogue stands: on c, or on a for its sums, with so many bytes of `scratch` at `room`. One that loses a NaN is not taken: a loss
  /// would be finite that is not.
  template <class In, class Made, class Apart> void prepare_together(const ProductShape& shape, Bytes scratch, const Apart& apart) {
    prepare<In, Made>(without_epilogue(shape));
    if (tuning_ == nullptr || shape.m == 0 || shape.n == 0) return;
    const TypedProduct s = typed<In, Made>(shape);
    const ProductKey key = key_of(with_rows(s, 1), even);
    if (together_.contains(key)) return;
    const auto known = tuning_->known().together.find(in_numbers(s));
    const bool taken =
        known != tuning_->known().together.end() ? known->second && plan_of(s, even) != nullptr : is_faster_together(s, scratch, apart);
    together_[key] = tuning_->found().together[in_numbers(s)] = taken;
  }

  [[nodiscard]] bool tf32() const { return options_.tf32; }
  [[nodiscard]] std::int64_t plans() const { return static_cast<std::int64_t>(plans_.size()); }
  /// Plans for which the algorithm of the usual rows was refused: bits of their rows may be others.
  [[nodiscard]] std::int64_t plans_of_their_own() const { return of_their_own_; }

 private:
  static constexpr std::uint32_t most_even = 16;
  static constexpr ProductAlignments even{most_even, most_even, most_even, most_even};

  template <class Value> static std::uint32_t alignment(const Value* p, const ProductShape& s, std::int64_t stride) {
    const bool each = s.batch == 1 || stride % Pack<Value>::count == 0;
    return each && reinterpret_cast<std::uintptr_t>(p) % most_even == 0 ? most_even : std::uint32_t{sizeof(Value)};
  }
  template <class In, class Made>
  static ProductAlignments alignments(const ProductShape& s, const In* a, const In* b, const Made* c, const Made* bias) {
    return ProductAlignments{alignment(a, s, s.a_stride), alignment(b, s, s.b_stride), alignment(c, s, s.c_stride), alignment(bias, s, 0)};
  }
  template <class In, class Made> static TypedProduct typed(const ProductShape& shape) {
    static_assert(std::is_same_v<Made, float> || std::is_same_v<Made, In>);
    return TypedProduct{shape, ProductTypes{type_of_values<In>, type_of_values<Made>}};
  }
  static ProductShape without_epilogue(ProductShape shape) {
    shape.epilogue = Epilogue::nothing;
    return shape;
  }
  /// False if it has an epilogue, and no algorithm makes both.
  template <class In, class Made>
  bool run_if_planned(const ProductShape& shape, const In* a, const In* b, Made* c, const BesideProduct<Made>& beside, float scale) {
    if (shape.m == 0 || shape.n == 0 || shape.batch == 0) return true;
    const ProductPlan* const plan = plan_of(typed<In, Made>(shape), alignments(shape, a, b, c, beside.bias));
    if (plan == nullptr) return false;
    const ProductAddresses at{a, b, c, beside.bias, beside.kept, beside.sums};  // a name: nvcc 13 drops the braces of an argument
    lt_.multiply(*plan, plan->algorithm, shape, at, scale);
    if (plan->bias_behind)
      launch_each<AddBias>(lt_.stream(), shape.batch * shape.m * shape.n, shape.m, shape.n, shape.row_pitch(), shape.c_stride, beside.bias, c);
    return true;
  }

  /// Null if cuBLASLt has none that makes the epilogue as well.
  const ProductPlan* plan_of(const TypedProduct& s, const ProductAlignments& at) {
    const ProductKey key = key_of(s, at);
    auto known = plans_.find(key);
    if (known == plans_.end()) known = plans_.emplace(key, made_plan(s, at)).first;
    return known->second.there ? &known->second : nullptr;
  }
  ProductPlan made_plan(const TypedProduct& s, const ProductAlignments& at) {
    if (!LtProducts::can_be_described(s)) lt_.refuse(s);
    ProductPlan made = lt_.described(s, at);
    if (s.grows != GrowsIn::nothing) {
      if (const auto* const shared = shared_of(s, at); shared != nullptr && lt_.takes(made, *shared)) {
        made.algorithm = *shared;
        return made;
      }
    }
    made.there = choose(made, s, at);
    if (!made.there) return s.epilogue == Epilogue::nothing ? without_bias(s, at) : std::move(made);
    if (s.grows != GrowsIn::nothing) ++of_their_own_;
    return made;
  }
  ProductPlan without_bias(TypedProduct s, const ProductAlignments& at) {
    if (!s.bias) lt_.refuse(s);
    s.bias = false;
    ProductPlan made = made_plan(s, at);
    made.bias_behind = true;
    return made;
  }
  /// The algorithm of all products that differ in rows alone, that of the usual rows; null if there is none for so many.
  const cublasLtMatmulAlgo_t* shared_of(const TypedProduct& s, const ProductAlignments& at) {
    const ProductKey key = key_of(with_rows(s, 1), at);
    const auto known = shared_.find(key);
    if (known != shared_.end()) return &known->second;
    const std::int64_t usual = s.usual != 0 ? s.usual : options_.usual_rows != 0 ? options_.usual_rows : s.rows;
    const TypedProduct shape = with_rows(s, usual);
    if (!LtProducts::can_be_described(shape)) return nullptr;
    ProductPlan like = lt_.described(shape, at);
    if (!choose(like, shape, at)) return nullptr;
    return &shared_.emplace(key, like.algorithm).first->second;
  }
  static TypedProduct with_rows(TypedProduct s, std::int64_t rows) {
    if (s.grows == GrowsIn::nothing) return s;
    std::int64_t& extent = s.grows == GrowsIn::m ? s.m : s.grows == GrowsIn::n ? s.n : s.batch;
    extent = extent / s.rows * rows;
    s.rows = rows;
    return s;
  }

  /// The first choice of the heuristic, if it has one; while products are tuned, the fastest of its choices.
  [[nodiscard]] bool choose(ProductPlan& plan, const TypedProduct& s, const ProductAlignments& at) {
    if (tuning_ != nullptr) {
      const auto known = tuning_->known().algorithms.find(in_numbers(s));
      if (known != tuning_->known().algorithms.end()) return take(plan, s, known->second);
    }
    const OfferedAlgorithms offers = lt_.offered(plan, s.types.made, at);
    if (offers.count == 0) return false;
    plan.algorithm = offers.all[tuning_ == nullptr ? 0 : fastest(plan, s, offers)].algo;
    if (tuning_ != nullptr) std::memcpy(tuning_->found().algorithms[in_numbers(s)].data(), &plan.algorithm, sizeof plan.algorithm);
    return true;
  }
  // ---- while products are tuned
  bool take(ProductPlan& plan, const TypedProduct& s, const TunedChoices::Algorithm& known) {
    static_assert(sizeof plan.algorithm == sizeof known);
    std::memcpy(&plan.algorithm, known.data(), sizeof plan.algorithm);
    if (!lt_.takes(plan, plan.algorithm)) tuning_->refuse_known("an algorithm that cuBLASLt does not take for " + lt_.in_words(s));
    tuning_->found().algorithms[in_numbers(s)] = known;
    return true;
  }
  int fastest(const ProductPlan& plan, const TypedProduct& s, const OfferedAlgorithms& offers) {
    const std::optional<ProductAddresses> rooms = rooms_of(s);
    if (!rooms) return tuning_->note(lt_.in_words(s) + " was not timed: the card has no room for it beside the plan."), 0;
    const CudaTuning::Fastest best =
        tuning_->fastest(offers.count, [&](int way) { lt_.multiply(plan, offers.all[way].algo, without_adding(s), *rooms, 1); });
    tuning_->note(lt_.in_words(s) + words_of(s.epilogue) + ": choice " + std::to_string(best.way + 1) + " of " + std::to_string(offers.count) + ", " +
                  in_microseconds(best.microseconds) + (best.way == 0 ? "." : "; the first choice takes " + in_microseconds(best.first) + "."));
    return best.way;
  }
  template <class Apart> bool is_faster_together(const TypedProduct& s, Bytes scratch, const Apart& apart) {
    const ProductPlan* const both = plan_of(s, even);
    const std::optional<ProductAddresses> rooms = rooms_of(s);
    std::byte* const scratch_room = scratch.value == 0 ? nullptr : tuning_->room(6, static_cast<std::size_t>(scratch.value));
    if (both == nullptr || !rooms || (scratch.value > 0 && scratch_room == nullptr)) return false;
    const TypedProduct alone{without_epilogue(s), s.types};
    const ProductPlan& product = *plan_of(alone, even);
    const float apart_time = tuning_->microseconds([&] {
      lt_.multiply(product, product.algorithm, without_adding(alone), *rooms, 1);
      apart(*rooms, scratch_room);
    });
    const float time = tuning_->microseconds([&] { lt_.multiply(*both, both->algorithm, without_adding(s), *rooms, 1); });
    const bool faster = CudaTuning::is_faster(time, apart_time), taken = faster && keeps_nan(*both, s, *rooms);
    tuning_->note(lt_.in_words(s) + words_of(s.epilogue) + ": " + in_microseconds(time) + "; one behind the other " + in_microseconds(apart_time) +
                  (taken    ? ", so together."
                   : faster ? ", but it makes a number of NaN, so apart."
                            : ", so apart."));
    return taken;
  }
  /// Of a factor whose bytes are all 0xff every element is NaN; so is what is made of it, unless the epilogue loses it.
  bool keeps_nan(const ProductPlan& plan, const TypedProduct& s, const ProductAddresses& at) {
    const std::size_t bytes = static_cast<std::size_t>(s.elements_of_a() * bytes_of(s.types.factors));
    check_cuda(cudaMemsetAsync(const_cast<void*>(at.a), 0xff, bytes, lt_.stream()), "cudaMemsetAsync");
    lt_.multiply(plan, plan.algorithm, without_adding(s), at, 1);
    return tuning_->is_nan(at.c, s.types.made) && (s.epilogue != Epilogue::sums_of_a || tuning_->is_nan(at.sums, ElementType::float32));
  }
  std::optional<ProductAddresses> rooms_of(const TypedProduct& s) {
    const auto room = [&](std::size_t number, std::int64_t elements, ElementType type) {
      return tuning_->room(number, static_cast<std::size_t>(elements * bytes_of(type)));
    };
    const bool keeps = s.epilogue == Epilogue::gelu || s.epilogue == Epilogue::gelu_gradient, sums = s.epilogue == Epilogue::sums_of_a;
    const ProductAddresses at{room(0, s.elements_of_a(), s.types.factors),
                              room(1, s.elements_of_b(), s.types.factors),
                              room(2, s.elements_of_c(), s.types.made),
                              room(3, s.n, s.types.made),
                              keeps ? room(4, s.elements_of_c(), s.types.made) : nullptr,
                              sums ? room(5, s.m, ElementType::float32) : nullptr};
    if (at.a == nullptr || at.b == nullptr || at.c == nullptr || at.bias == nullptr) return std::nullopt;
    if ((keeps && at.kept == nullptr) || (sums && at.sums == nullptr)) return std::nullopt;
    return at;
  }
  static ProductShape without_adding(ProductShape shape) {
    shape.add = false;
    return shape;
  }
  static std::string in_numbers(const TypedProduct& s) {
    std::string numbers;
    for (const std::int64_t number : key_of(s, even)) numbers += (numbers.empty() ? "" : ",") + std::to_string(number);
    return numbers;
  }
  static const char* words_of(Epilogue e) {
    switch (e) {
      case Epilogue::relu: return " with ReLU";
      case Epilogue::gelu: return " with GELUTanh";
      case Epilogue::gelu_gradient: return " with the gradient of GELUTanh";
      case Epilogue::sums_of_a: return " with the gradient of the bias";
      default: return "";
    }
  }

  CudaProductOptions options_;
  LtProducts lt_;
  std::map<ProductKey, ProductPlan> plans_;
  std::map<ProductKey, cublasLtMatmulAlgo_t> shared_;
  std::map<ProductKey, bool> together_;
  CudaTuning* tuning_ = nullptr;
  std::int64_t of_their_own_ = 0;
};

/// Queues a product on the queue of a call: of floats, or of bfloat16 that make bfloat16 or floats.
template <class In, class Made>
void product(const CudaQueue& queue, const ProductShape& shape, const In* a, const In* b, Made* c, const std::type_identity_t<Made>* bias = nullptr,
             float scale = 1) {
  queue.products->run(shape, a, b, c, bias, scale);
}

}  // namespace heddle::compute_room
