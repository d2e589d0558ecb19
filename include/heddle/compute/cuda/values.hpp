// SPDX-License-Identifier: MIT
// Room: compute. Values as a card keeps them, float32 or bfloat16, and as a kernel computes with them: floats.
// Sees: compute/cuda/block, core/bfloat16.  Does not see: tensors, layers, streams.
// In: pointers of a card.  Out: values_at, load_four, store_four, NumbersOfThread, neighbours_at, launch_values_in_runs.
#pragma once

#include <cstdint>
#include <type_traits>

#include "heddle/compute/cuda/block.hpp"
#include "heddle/compute/cuda/launch.hpp"
#include "heddle/core/bfloat16.hpp"

namespace heddle::compute_room {

/// A pointer of a call, whose values are of another type: a kernel that takes bfloat16 says values_at<Value>(call.input).
template <class Value> [[nodiscard]] const Value* values_at(const float* p) { return reinterpret_cast<const Value*>(p); }
template <class Value> [[nodiscard]] Value* values_at(float* p) { return reinterpret_cast<Value*>(p); }

// ---- one value
[[nodiscard]] HEDDLE_DEVICE inline float as_float(float x) { return x; }
[[nodiscard]] HEDDLE_DEVICE inline float as_float(BFloat16 x) { return core_room::widened(x); }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
/// One instruction of a card. The bits are those of core_room::rounded, but for a NaN, which becomes another NaN.
[[nodiscard]] HEDDLE_DEVICE inline BFloat16 as_bfloat16(float x) {
  BFloat16 made;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(made.bits) : "f"(x));
  return made;
}
#else
[[nodiscard]] HEDDLE_DEVICE inline BFloat16 as_bfloat16(float x) { return core_room::rounded(x); }
#endif
/// Rounded where Value is BFloat16.
template <class Value> [[nodiscard]] HEDDLE_DEVICE Value as_value(float x) {
  if constexpr (std::is_same_v<Value, float>)
    return x;
  else
    return as_bfloat16(x);
}

/// So many values that lie on a multiple of their bytes, one load or store of a card: of 4 the floats are 16 bytes and the bfloat16 8.
template <class Value, int count> struct alignas(static_cast<std::size_t>(count) * sizeof(Value)) ValuesTogether {
  static_assert(count * sizeof(Value) <= 16);
  Value values[static_cast<std::size_t>(count)];
};

/// What lies there by one load: elements that are read one by one where they lie would be as many loads.
template <class Value> [[nodiscard]] HEDDLE_DEVICE ValuesTogether<Value, 4> lying_four(const Value* from) {
  const auto lie = *as_one<const ValuesTogether<Value, 4>>(from);
  return lie;
}
template <class Value> [[nodiscard]] HEDDLE_DEVICE Pack<float> as_floats(ValuesTogether<Value, 4> lie) {
  Pack<float> four;
  for (int e = 0; e < 4; ++e) four.values[e] = as_float(lie.values[e]);
  return four;
}
/// Rounded where Value is BFloat16.
template <class Value> [[nodiscard]] HEDDLE_DEVICE ValuesTogether<Value, 4> as_values(const Pack<float>& four) {
  ValuesTogether<Value, 4> lie;
  for (int e = 0; e < 4; ++e) lie.values[e] = as_value<Value>(four.values[e]);
  return lie;
}
/// Four values at once, which lie on a multiple of their bytes, as floats.
template <class Value> [[nodiscard]] HEDDLE_DEVICE Pack<float> load_four(const Value* from) { return as_floats(lying_four(from)); }
/// Rounded where Value is BFloat16.
template <class Value> HEDDLE_DEVICE void store_four(Value* to, const Pack<float>& four) {
  *as_one<ValuesTogether<Value, 4>>(to) = as_values<Value>(four);
}

/// The numbers of one thread, as floats: 1, or as many as one load or store of the card has, which it makes where the place is a multiple of so many
/// bytes. Of 5 values the second thread of four each takes one; its others repeat that one, so that every element has the same code.
///
/// Law     numbers in bfloat16 are those of the same values in float32, and are rounded once when they are stored
/// Tested  compute/cuda/values_test
template <int each> struct NumbersOfThread {
  float values[each];

  template <class Value> HEDDLE_DEVICE void load(const Value* from, std::int64_t count = each) {
    if (lies_together(from, count)) {
      const auto lie = *reinterpret_cast<const ValuesTogether<Value, each>*>(from);
      for (int k = 0; k < each; ++k) values[k] = as_float(lie.values[k]);
    } else {
      for (int k = 0; k < each; ++k) values[k] = as_float(from[k < count ? k : 0]);
    }
  }
  template <class Value> HEDDLE_DEVICE void store(Value* to, std::int64_t count = each) const {
    if (lies_together(to, count)) {
      ValuesTogether<Value, each> lie;
      for (int k = 0; k < each; ++k) lie.values[k] = as_value<Value>(values[k]);
      *reinterpret_cast<ValuesTogether<Value, each>*>(to) = lie;
    } else {
      for (int k = 0; k < each; ++k)
        if (k < count) to[k] = as_value<Value>(values[k]);
    }
  }
  HEDDLE_DEVICE void fill(float with) {
    for (float& value : values) value = with;
  }
  HEDDLE_DEVICE void add(const NumbersOfThread& other) {
    for (int k = 0; k < each; ++k) values[k] += other.values[k];
  }

 private:
  template <class Value> HEDDLE_DEVICE static bool lies_together(const Value* at, std::int64_t count) {
    return each > 1 && count >= each && reinterpret_cast<std::uintptr_t>(at) % sizeof(ValuesTogether<Value, each>) == 0;
  }
};

/// Neighbours that are one load of a card, as floats: four lie on a multiple of their bytes. No branch stands before the load, so that those of
/// several rows are on their way at once.
template <int Width, class Value> [[nodiscard]] HEDDLE_DEVICE NumbersOfThread<Width> neighbours_at(const Value* from) {
  static_assert(Width == 1 || Width == Pack<float>::count);
  NumbersOfThread<Width> read;
  if constexpr (Width == 1) {
    read.values[0] = as_float(*from);
  } else {
    const Pack<float> four = load_four(from);
    for (int k = 0; k < Width; ++k) read.values[k] = four.values[k];
  }
  return read;
}

/// Queues K<Value, so many> for n elements in runs that are whole packs each, else K<Value, 1>: 96 elements in bfloat16 in runs of 32 take 12
/// threads, in runs of 3 they take 96. Runs of 12 elements are three packs of floats, and no whole packs of 8.
template <template <class, int> class K, class Value, class... A>
void launch_values_in_runs(cudaStream_t stream, std::int64_t run, std::int64_t n, A... arguments) {
  constexpr int each = Pack<Value>::count;
  if (run % each == 0)
    launch<K<Value, each>>(stream, extents_of(n, each), n, arguments...);
  else
    launch<K<Value, 1>>(stream, extents_of(n), n, arguments...);
}

}  // namespace heddle::compute_room
