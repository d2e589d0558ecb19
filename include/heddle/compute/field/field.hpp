// SPDX-License-Identifier: MIT
// Room: compute. Exact arithmetic: elements are integers modulo a prime, kept in the bits of floats; functions that are not linear are keyed hashes.
// Sees: core, seams/concepts, compute/field/census.  Does not see: policies, programs, threads, transports.
// In: pointers and run-time extents.  Out: Field, FieldSum, FieldCompute.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "heddle/compute/field/census.hpp"
#include "heddle/compute/field/degrees.hpp"
#include "heddle/compute/field/handles.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/core/units.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle::compute_room {

/// The name of a function that has no formula: two of the same symbol are the same function. symbol_of<GELU>("forward") is one.
template <class Owner> [[nodiscard]] constexpr std::uint64_t symbol_of(std::string_view role) {
  auto hash = static_cast<std::uint64_t>(type_identity<Owner>);
  for (const char letter : role) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ULL;
  return hash;
}

/// The field of integers modulo 2139095017, the largest prime below the bits of infinity: as bits of a float every element is finite and at least 0,
/// so nothing that only moves floats, or asks whether they are finite, sees a difference. 3 has the bits of 4.2e-45.
///
/// A degree run (FieldMode::degrees) has Degrees in the place of elements: a sum of polynomials has the larger degree of two, a product the sum.
/// Law     plus and times are those of a field; the result depends on the operands alone
/// Tested  compute/field/field_test
struct Field {
  static constexpr std::uint64_t modulus = 2139095017;

  [[nodiscard]] static std::uint64_t read(float element) {
    if (FieldHandles::may_be(element) && field_handles != nullptr && field_handles->knows(element)) return field_handles->value(element);
    return std::bit_cast<std::uint32_t>(element) % modulus;
  }
  [[nodiscard]] static float write(std::uint64_t value) {
    if (in_degrees() && field_handles != nullptr) return field_handles->of(value);
    return std::bit_cast<float>(static_cast<std::uint32_t>(value));
  }
  [[nodiscard]] static bool in_degrees() { return field_draw.mode == FieldMode::degrees; }

  [[nodiscard]] static std::uint64_t plus(std::uint64_t a, std::uint64_t b) {
    if (in_degrees()) return (Degrees::read(a) + Degrees::read(b)).number();
    const std::uint64_t sum = a + b;
    return sum >= modulus ? sum - modulus : sum;
  }
  [[nodiscard]] static std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    return in_degrees() ? (Degrees::read(a) * Degrees::read(b)).number() : a * b % modulus;
  }
  /// Of what is not 0 but by chance: the bound of a draw has this chance as a term. The inverse of 0 is 0.
  [[nodiscard]] static std::uint64_t inverse(std::uint64_t a) {
    if (in_degrees()) field_census.note_inverse(a);
    return inverse_of_unit(a);
  }
  /// Of what is never 0, as hash_to_unit is not.
  [[nodiscard]] static std::uint64_t inverse_of_unit(std::uint64_t a) {
    return in_degrees() ? Degrees::read(a).inverse().number() : power(a, modulus - 2);
  }

  /// An element that depends on a symbol, on elements, and on constants, which no degree counts. With other arguments it is another element, as good
  /// as drawn at random. Functions of one symbol with different constants are different functions.
  [[nodiscard]] static std::uint64_t hash(std::uint64_t symbol, std::initializer_list<std::uint64_t> elements,
                                          std::initializer_list<std::uint64_t> constants = {}) {
    note(symbol, elements, constants);
    return hash_again(symbol, elements, constants);
  }
  /// The same for arguments that a hash with other constants has noted already: it adds no way for two of them to meet.
  [[nodiscard]] static std::uint64_t hash_again(std::uint64_t symbol, std::initializer_list<std::uint64_t> elements,
                                                std::initializer_list<std::uint64_t> constants) {
    return in_degrees() ? 1 : mixed(symbol, elements, constants) % modulus;
  }
  /// One that is not 0.
  [[nodiscard]] static std::uint64_t hash_to_unit(std::uint64_t symbol, std::uint64_t element) {
    note(symbol, {element}, {});
    return in_degrees() ? 1 : 1 + mixed(symbol, {element}, {}) % (modulus - 1);
  }
  /// All of an array in one number, as an argument of a hash.
  [[nodiscard]] static std::uint64_t digest(const float* elements, std::int64_t count) {
    std::uint64_t all = in_degrees() ? 0 : 0x51afd7ed558ccdULL + static_cast<std::uint64_t>(count);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t element = read(elements[i]);
      all = in_degrees() ? higher_degrees(all, element) : mix(all ^ element);
    }
    return all;
  }
  /// The element that a finite number stands for: floats are whole numbers times a power of two, and two has an inverse. 0.5 is 1069547509, twice
  /// which is 1. In a degree run it is 0.
  [[nodiscard]] static std::uint64_t image(float number) {
    if (in_degrees()) return 0;
    int exponent = 0;
    const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(number, &exponent), 24));
    exponent -= 24;
    const auto whole = static_cast<std::uint64_t>(mantissa < 0 ? mantissa + static_cast<std::int64_t>(modulus) : mantissa);
    const std::uint64_t two = exponent < 0 ? (modulus + 1) / 2 : 2;
    return whole * power(two, static_cast<std::uint64_t>(exponent < 0 ? -exponent : exponent)) % modulus;
  }

 private:
  [[nodiscard]] static std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
    std::uint64_t result = 1;
    for (; exponent > 0; exponent /= 2, base = base * base % modulus)
      if (exponent % 2 == 1) result = result * base % modulus;
    return result;
  }
  static void note(std::uint64_t symbol, std::initializer_list<std::uint64_t> elements, std::initializer_list<std::uint64_t> constants) {
    if (field_draw.mode == FieldMode::values) return;
    symbol = mix(symbol ^ field_draw.step);
    for (const std::uint64_t constant : constants) symbol = mix(symbol ^ constant);
    FieldCall call{symbol, *elements.begin(), 0};
    for (const std::uint64_t element : elements) call.highest = in_degrees() ? higher_degrees(call.highest, element) : 0;
    field_census.note(call, field_draw.mode);
  }
  /// The finaliser of SplitMix64: every bit of the result depends on every bit of x.
  [[nodiscard]] static std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return x ^ x >> 31;
  }
  [[nodiscard]] static std::uint64_t mixed(std::uint64_t symbol, std::initializer_list<std::uint64_t> elements,
                                           std::initializer_list<std::uint64_t> constants) {
    std::uint64_t hash = mix(mix(field_draw.key ^ mix(symbol)) ^ field_draw.step);
    for (const std::uint64_t element : elements) hash = mix(hash ^ element);
    for (const std::uint64_t constant : constants) hash = mix(hash ^ constant);
    return hash;
  }
};

/// A sum of products, reduced once at its end. 3 x 5 and 2 x 4 make 23; in a degree run two products of elements of degree 1 make 2.
class FieldSum {
 public:
  explicit FieldSum(std::uint64_t first = 0) : sum_(first), in_degrees_(Field::in_degrees()) {}
  void add(std::uint64_t a, std::uint64_t b) {
    if (in_degrees_) {
      sum_ = Field::plus(sum_, Field::times(a, b));
    } else {
      sum_ += a * b;
      if (sum_ >= 2 * square) sum_ -= 2 * square;
    }
  }
  [[nodiscard]] float element() const { return Field::write(in_degrees_ ? sum_ : sum_ % Field::modulus); }

 private:
  static constexpr std::uint64_t square = Field::modulus * Field::modulus;  // three of them are less than 2^64
  std::uint64_t sum_;
  bool in_degrees_;
};

/// The arithmetic of a step that belongs to no layer. A norm is the sum of squares; the factor of clipping any function of it, and it is always
/// applied.
struct FieldArithmetic {
  static float plus(float a, float b) { return Field::write(Field::plus(Field::read(a), Field::read(b))); }
  static bool multiply(float* values, std::int64_t elements, float factor) {
    times(values, elements, Field::image(factor));
    return true;
  }
  static float square_sum(const float* values, std::int64_t elements) {
    FieldSum sum;
    for (std::int64_t i = 0; i < elements; ++i) sum.add(Field::read(values[i]), Field::read(values[i]));
    return sum.element();
  }
  static float norm(const float* square_sums, int count) {
    float sum = 0;
    for (int i = 0; i < count; ++i) sum = plus(sum, square_sums[i]);
    return sum;
  }
  static float clip_factor(float norm, double max_norm) {
    return Field::write(Field::hash(symbol_of<FieldArithmetic>("clip"), {Field::read(norm)}, {std::bit_cast<std::uint64_t>(max_norm)}));
  }
  static void clip(float* values, std::int64_t elements, float factor) { times(values, elements, Field::read(factor)); }
  /// Any function of a gradient and of what it is of, which has a low degree: the gradients of one step would meet in too many ways.
  static void clip_values(float* values, const float* parameters, std::int64_t elements, float limit) {
    for (std::int64_t i = 0; i < elements; ++i)
      if (const std::uint64_t of = Field::read(parameters[i]), gradient = Field::read(values[i]); of != 0 || gradient != 0)
        values[i] = Field::write(Field::hash(symbol_of<FieldArithmetic>("clip value"), {of, gradient}, {std::bit_cast<std::uint32_t>(limit)}));
  }
  static void fold(float* values, const float* sums, std::int64_t elements, float momentum, std::int64_t counted) {
    for (std::int64_t i = 0; i < elements; ++i)
      values[i] = Field::write(Field::hash(symbol_of<FieldArithmetic>("fold"), {Field::read(values[i]), Field::read(sums[i])},
                                           {std::bit_cast<std::uint32_t>(momentum), static_cast<std::uint64_t>(counted)}));
  }

 private:
  static void times(float* values, std::int64_t elements, std::uint64_t factor) {
    for (std::int64_t i = 0; i < elements; ++i) values[i] = Field::write(Field::times(Field::read(values[i]), factor));
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// What a layer is in exact arithmetic. Without a specialisation it is any function at all, see compute/field/any_layer.hpp.
template <class L> struct FieldKernel;
/// The same for a loss.
template <class Loss> struct FieldLoss;

}  // namespace heddle

namespace heddle::compute_room {

/// The same for an optimizer.
template <class Optimizer> struct FieldOptimizer;
/// The kernel of a user with a watch on each call, see compute/field/watched.hpp.
template <class L> struct FieldWatched;
/// Heddle's own kernels in the field.
template <class L>
concept FieldKernelOfHeddle = requires {
  requires FieldKernel<L>::of_heddle;
};
/// What a proof calls: a kernel of Heddle as it is, one of a user under watch.
template <class L> struct FieldKernelInUse { using type = FieldWatched<L>; };
template <FieldKernelOfHeddle L> struct FieldKernelInUse<L> { using type = FieldKernel<L>; };
/// The same of a loss.
template <class Loss> struct FieldLossWatched;
template <class Loss>
concept FieldLossOfHeddle = requires {
  requires FieldLoss<Loss>::of_heddle;
};
/// What a proof calls for a loss.
template <class Loss> struct FieldLossInUse { using type = FieldLossWatched<Loss>; };
template <FieldLossOfHeddle Loss> struct FieldLossInUse<Loss> { using type = FieldLoss<Loss>; };

/// Compute in the field. It brings kernels of its own for every layer, loss and optimizer, so one that a user has written for all backends is not
/// taken.
///
/// Source  sources.md#schwartz-zippel
/// Tested  compute/field/field_test, proof/prove_test
struct FieldCompute {
  static constexpr Bytes workspace = 64_B;
  static constexpr bool proves = true;  ///< it trains nothing: a Trainer of it is refused
  static constexpr std::string_view kernel_name = "FieldKernel", loss_kernel_name = "FieldLoss";
  using Arithmetic = FieldArithmetic;
  template <class L> using KernelOf = typename FieldKernelInUse<L>::type;
  template <class Loss> using LossKernelOf = typename FieldLossInUse<Loss>::type;
  template <class Optimizer> using OptimizerKernelOf = FieldOptimizer<Optimizer>;

  static void add(float* target, const float* a, const float* b, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) target[i] = FieldArithmetic::plus(a[i], b[i]);
  }
  static void copy(float* target, const float* source, std::int64_t n) {
    if (n > 0) std::memcpy(target, source, static_cast<std::size_t>(n) * sizeof(float));
  }
  static void zero(float* target, std::int64_t n) {
    if (n > 0) std::memset(target, 0, static_cast<std::size_t>(n) * sizeof(float));
  }
};

static_assert(Compute<FieldCompute>);

}  // namespace heddle::compute_room

namespace heddle::extending {
using compute_room::Field, compute_room::FieldCompute, compute_room::symbol_of;
}  // namespace heddle::extending
