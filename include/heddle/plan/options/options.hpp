// SPDX-License-Identifier: MIT
// Room: plan. Options of a plan that are no policy: memory budget, bucket size, clipping, loss scaling, what runs again in the backward.
// Sees: core, plan/options/plan_part.  Does not see: policies, processes.
// In: quantities, layers.  Out: Memory<...>, Bucket<...>, Clip<...>, LossScaling, Recompute<...>.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "heddle/core/bfloat16.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/core/text.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/core/units.hpp"
#include "heddle/plan/options/plan_part.hpp"

namespace heddle::plan_room {

/// What Memory and Bucket name: bytes, or a number without a unit, which is refused. Memory<10_MiB> names 10,485,760.
struct NamedBytes {
  std::int64_t bytes = 0;
  bool has_unit = true;
  // NOLINTNEXTLINE(google-explicit-constructor): Memory<10_MiB> names bytes.
  constexpr NamedBytes(Bytes named) : bytes(named.value) {}
  // NOLINTNEXTLINE(google-explicit-constructor): Memory<10> is told what it lacks.
  constexpr NamedBytes(int number) : bytes(number), has_unit(false) {}
  constexpr NamedBytes(std::int64_t count, bool unit) : bytes(count), has_unit(unit) {}  // nvcc writes out template arguments with all members
};
/// C04, where a part of a plan names a number without a unit.
[[nodiscard]] constexpr Diagnosis check_unit(std::string_view part, NamedBytes named) {
  if (named.has_unit) return {};
  return Diagnosis{Code{'C', 4}, part} << '<' << named.bytes << "> names no unit. Fix: write " << part << '<' << named.bytes
                                       << "_MiB>, or _KiB or _GB.";
}

/// What options name wrongly: the first refusal.
[[nodiscard]] constexpr Diagnosis first_of(const Diagnosis& a, const Diagnosis& b, const Diagnosis& c) { return !a.ok() ? a : !b.ok() ? b : c; }

/// The memory that one device may need, for example Memory<80_GB>. Balanced<S> with one chunk a device cuts so that every stage fits.
///
/// Errors  C04 of a number without a unit; C01 at build if a device needs more; the sentence names the stage and the largest contributors
/// Tested  plan/options/options_test, plan/lower/fitted_cut_test, fail/C01_over_budget
template <NamedBytes Most> struct Memory {
  static constexpr PlanPart plan_part = PlanPart::memory;
  static constexpr Bytes memory_budget{Most.bytes};
  static constexpr Diagnosis named = check_unit("Memory", Most);
};

/// Gradients are reduced in buckets of at least this size, started as soon as their last layer's backward has run. They end with a layer; where
/// parameters are gathered, or slices clipped, each unit is one. Bucket<1_B> makes a bucket of each layer under DataParallel<2>.
///
/// Errors  C04 of a number without a unit; C03 at build if it has no bytes
/// Source  sources.md#pytorch-ddp
/// Tested  plan/options/options_test, fail/C03_bucket_of_nothing
template <NamedBytes AtLeast> struct Bucket {
  static constexpr PlanPart plan_part = PlanPart::bucket;
  static constexpr Bytes bucket_bytes{AtLeast.bytes};
  static constexpr Diagnosis named = check_unit("Bucket", AtLeast);
};

[[nodiscard]] constexpr Diagnosis check_bucket(Bytes named) {
  if (named.value > 0) return {};
  return Diagnosis{Code{'C', 3}, ""} << "a Bucket of " << named.value
                                     << " bytes holds no gradient. Fix: name Bucket<1_MiB> or another size, or leave Bucket out.";
}

/// L23 of what is no type that values can be kept in.
template <class Type> [[nodiscard]] constexpr Diagnosis check_mixed() {
  if constexpr (std::is_same_v<Type, BFloat16>)
    return {};
  else
    return Diagnosis{Code{'L', 23}, ""} << "Mixed<" << type_name<Type>().view()
                                        << "> names no type that values are kept in. Fix: write Mixed<BFloat16>, or leave Mixed out for float32.";
}

/// The Euclidean norm of all gradients of the model, for Clip<GlobalNorm>.
struct GlobalNorm {};

/// Each element of a gradient by itself, for Clip<EachValue>.
struct EachValue {};

/// Before the step gradients are multiplied by min(1, max_norm / (norm + 1e-6)). The threshold is Trainer::clip().max_norm.
/// The norm is summed over fixed parts of the units, so it has the same bits under every layout that cuts no unit.
/// Clip<EachValue> takes each element to the nearest number from -max_value to max_value, as torch.nn.utils.clip_grad_value_; the threshold is
/// Trainer::clip().max_value. Ranks tell each other nothing for it.
///
/// Moves   one float a unit along every axis on which parameters are split                      [bytes]
/// Errors  L03 for a norm that is not known; B09 if sums are to be reproducible and a cut goes through a unit; R02 for a norm that is not finite
/// Source  sources.md#clip-grad-norm
/// Tested  plan/check/clipping_test, equivalence/clip_test, equivalence/clip_values_test
template <class NormSuchAsGlobalNorm> struct Clip {};
template <> struct Clip<GlobalNorm> {
  static constexpr PlanPart plan_part = PlanPart::clip;
  static constexpr bool clips = true;
};
template <> struct Clip<EachValue> {
  static constexpr PlanPart plan_part = PlanPart::clip;
  static constexpr bool clips = false;  // by a norm
};

/// Every block of the outermost Repeat and every OneUnit, for Recompute<EveryBlock>.
struct EveryBlock {};

/// Layers by their names in the state_dict, for Recompute<Only<"gelu">>; the name of a part of the model means all layers in it.
template <Name... Labels> struct Only {};

/// What these layers give is not kept for the backward: they run again just before it. Numbers stay as they are, to the last bit.
/// Recompute<EveryBlock> keeps what goes into each block, as torch.utils.checkpoint around it; Recompute<GELU> runs layers of a type again,
/// Recompute<Only<"gelu">> layers of a name; several may be named. A layer whose output is kept anyway, or read by no backward, is not run again.
///
/// Shape   what is run again lives aside, from just before the backward of its first reader to that of its last
/// Moves   sums over axis tensor inside what is run again are taken again; units are gathered no more often than without
/// Errors  L05 if nothing is named, or something that the model does not have
/// Source  sources.md#activation-checkpointing
/// Tested  plan/lower/recompute_test, equivalence/recompute_test, fail/L05_no_blocks
template <class... What> struct Recompute { static constexpr PlanPart plan_part = PlanPart::recompute; };

/// The gradient of the loss is multiplied by Trainer::loss_scale().scale(), so that small gradients do not vanish. Reduced gradients are divided by
/// it; if any rank finds one that is Inf or NaN, all ranks skip the step: parameters, optimizer states and the count of steps stay, the scale backs
/// off.
///
/// Moves   one float along every axis on which ranks hold different gradients, with the norm if the plan clips      [bytes]
/// Errors  S13 in a Program made by hand; O01 for a value of the scale out of range; R02 for gradients that overflow though the scale is 1 or below
/// Source  sources.md#grad-scaler
/// Tested  plan/check/loss_scaling_test, run/loss_scale_test, equivalence/loss_scaling_test
struct LossScaling {
  static constexpr PlanPart plan_part = PlanPart::loss_scaling;
  static constexpr bool scales_loss = true;
};

/// A step whose loss is not finite in a row of any rank changes no parameter and no optimizer state, also on cards, where the host hears of it after
/// the step: R02 is thrown, and the trainer goes on. Bits stay as they are without the option. On hosts a loss is looked at when it is made, so such
/// a step is refused with the option or without.
///
/// Moves   one float along every axis that splits the batch, and between stages, with the norm and the flag of LossScaling if they go there   [bytes]
/// Errors  S21 in a Program made by hand; R02 for a loss that is not finite
/// Source  sources.md#grad-scaler
/// Tested  plan/check/guarding_test, backend/cuda_one_card_test, equivalence/guarded_test
struct Guarded {
  static constexpr PlanPart plan_part = PlanPart::guarded;
};

/// Values between layers and their gradients are kept and sent as bfloat16, in half of the memory, and layers read their parameters rounded to it, as
/// under FSDP with param_dtype bfloat16. Parameters, their gradients, optimizer states, statistics and all sums over ranks stay float32: what is
/// stepped, saved and hashed are the unrounded parameters. Kernels compute in float32 and what they give is rounded once. A plan has the bits of one
/// device where it has them without Mixed, if that rounds too.
///
/// Moves   half of the bytes between stages and in gathers of values; sums of values travel as float32      [bytes]
/// Errors  L23 of another type; L24 where prove is asked of it
/// Source  sources.md#mixed-precision
/// Tested  plan/options/options_test, equivalence/mixed_test, fail/L23_mixed_with_float
template <class Type> struct Mixed {
  static constexpr PlanPart plan_part = PlanPart::mixed;
  static constexpr Diagnosis named = check_mixed<Type>();
  static constexpr ElementType values = ElementType::bfloat16;
};

/// The bucket of a plan that names none.
///
/// Source  sources.md#pytorch-ddp (bucket_cap_mb)
inline constexpr Bytes default_bucket = Bytes{25 * 1024 * 1024};

}  // namespace heddle::plan_room

namespace heddle {
using plan_room::Bucket, plan_room::Clip, plan_room::EachValue, plan_room::EveryBlock, plan_room::GlobalNorm, plan_room::Guarded,
    plan_room::LossScaling, plan_room::Memory, plan_room::Mixed;
using plan_room::Only, plan_room::Recompute;
}  // namespace heddle
