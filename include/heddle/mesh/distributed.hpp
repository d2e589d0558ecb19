// SPDX-License-Identifier: MIT
// Room: mesh. A value of user code with its placement in its type: what is linear may be done with a sum that is not yet taken, and no more.
// Sees: core, mesh/placement_rules.  Does not see: ranks, processes, transports.
// In: Distributed<float, Partial<axis::data>>.  Out: arithmetic that compiles only where it means something.
#pragma once

#include <cmath>
#include <concepts>
#include <type_traits>
#include <utility>

#include "heddle/core/fire.hpp"
#include "heddle/core/not_printed.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/mesh/placement_rules.hpp"
#include "heddle/mesh/views.hpp"

namespace heddle::mesh_room {

// One holder a rule, because fired<> takes a type. What was refused before is not judged again, so that one fault is one error.
template <class T, Placements P> [[nodiscard]] constexpr Diagnosis value_is_sound() {
  if (const Diagnosis found = placements_are_sound(P); was_refused(P) || !found.ok()) return found;
  if constexpr (looks_at_others<T>)
    return Diagnosis{Code{'P', 21}, "Distributed is given "}
           << type_name<T>().view()
           << ", which holds no numbers but looks at those of others: a collective would change them, and the next would count them again. Fix: hold "
              "the numbers themselves, as in Distributed<std::vector<float>, Partial<axis::data>>.";
  else
    return {};
}
/// Holds what is wrong with a value and its placements, as P19 where one axis has two of them; or nothing.
template <class T, Placements P> struct IsSound { static constexpr Diagnosis found = value_is_sound<T, P>(); };
/// Says whether two values may be added, and how their sum lies: Partial and Partial give Partial, Partial and Replicate are P12.
template <Placements A, Placements B> struct Adding {
  static constexpr Diagnosis found = was_refused(A) || was_refused(B) ? Diagnosis{} : may_add(A, B);
  static constexpr Placements result = !found.ok() || was_refused(A) || was_refused(B) ? after_a_refusal : added(A, B);
};
/// Says whether two values may be multiplied, and how the product lies: Partial times Replicate is Partial, Partial times Partial is P11.
template <Placements A, Placements B> struct Multiplying {
  static constexpr Diagnosis found = was_refused(A) || was_refused(B) ? Diagnosis{} : may_multiply(A, B);
  static constexpr Placements result = !found.ok() || was_refused(A) || was_refused(B) ? after_a_refusal : multiplied(A, B);
};
/// Says whether two values may be divided, and how the quotient lies: a Sum divided by a Sum over the same axes is a Mean.
template <Placements A, Placements B> struct Dividing {
  static constexpr Diagnosis found = was_refused(A) || was_refused(B) ? Diagnosis{} : may_divide(A, B);
  static constexpr Placements result = !found.ok() || was_refused(A) || was_refused(B) ? after_a_refusal : divided(A, B);
};
/// Says whether two values may be compared: both are whole, or P14 names the axis over which one is not.
template <Placements A, Placements B> struct Comparing {
  static constexpr Diagnosis found = was_refused(A) || was_refused(B) ? Diagnosis{} : may_compare(A, B);
};
/// Says whether a value may be given where another placement is asked for: a Partial is no Replicate (P14), a Sum is no Mean (P15).
template <Placements Is, Placements Asked> struct Giving {
  static constexpr Diagnosis found = was_refused(Is) || was_refused(Asked) ? Diagnosis{} : may_be_given(Is, Asked);
};
/// Says whether value() may be called: P14 where a sum is not yet taken.
template <Placements P> struct Reading { static constexpr Diagnosis found = is_whole("value()", P); };
/// Says whether a value may stand where a plain number is taken: P14 where a sum is not yet taken, or each rank has a part.
template <Placements P> struct Converting { static constexpr Diagnosis found = is_whole("a function of plain numbers", P); };
/// Says whether a function that is not linear may see a value: P11 where a sum is not yet taken.
template <Name Operation, Placements P> struct Applying { static constexpr Diagnosis found = sums_are_taken(Operation.view(), P); };

/// Holds the refusal of printf with a distributed value: P14.
struct Printing {
  static constexpr Diagnosis found{Code{'P', 14}, "printf takes plain numbers, but one of its arguments is distributed. Fix: give x.value()."};
};

/// What one rank holds of a value. Distributed<T, ...> is the spelling for users; an order of axes is no other type.
template <class T, Placements P> class DistributedValue : NotForEllipses {
  static_assert(sizeof(fired<IsSound<T, P>>) > 0);

 public:
  using Value = std::decay_t<T>;
  using RuleOfPrinting = Printing;
  static constexpr Placements placements = IsSound<T, P>::found.ok() ? P : after_a_refusal;

  /// The claim that what this rank holds lies as the type says. A Replicate must be equal on all ranks; nobody compares it.
  constexpr explicit DistributedValue(Value held) : held_(std::move(held)) {}

  /// Forgets that a value is a Sum or a Mean; any other change of placement is an error with a sentence.
  template <Placements Other>
  requires(Other != P)
      // NOLINTNEXTLINE(google-explicit-constructor): an argument whose placement is another one must meet the rule, not a list of candidates.
      constexpr DistributedValue(const DistributedValue<T, Other>& other)
      : held_(other.held_by_this_rank()) {
    static_assert(sizeof(fired<Giving<Other, P>>) > 0);
  }

  /// The value, which is the same on every rank.
  ///
  /// Errors  P14 at build if it is a part, or a sum that is not yet taken
  [[nodiscard]] constexpr const Value& value() const {
    static_assert(sizeof(fired<Reading<placements>>) > 0);
    return held_;
  }
  /// A whole value is a number where functions take plain ones: std::log(x), float y = x.
  ///
  /// Errors  P14 at build if it is a part, or a sum that is not yet taken
  constexpr operator Value() const  // NOLINT(google-explicit-constructor): what cannot be read must meet the rule, not a list of candidates
      requires std::is_arithmetic_v<Value> {
    static_assert(sizeof(fired<Converting<placements>>) > 0);
    return held_;
  }
  /// What this rank holds of a value that is split or whole.
  ///
  /// Errors  P11 at build if it is a term of a sum that is not yet taken
  [[nodiscard]] constexpr const Value& part() const {
    static_assert(sizeof(fired<Applying<"part()", placements>>) > 0);
    return held_;
  }
  /// For code that changes placements, as collectives do: whatever this rank holds, a term of a sum as well. Long, so that it is found.
  [[nodiscard]] constexpr const Value& held_by_this_rank() const { return held_; }

 private:
  Value held_;
};

/// A value of user code and how it lies along each axis of the mesh: Replicate (or nothing), Shard<axis, dimension>, Partial<axes...>: a sum that is
/// not yet taken, Sum<axes...> and Mean<axes...>: whole, and known to be taken over these axes.
///
/// Shape   T on every rank: float, or anything that holds its own numbers and has operators; collectives move float and what has data() and size()
///         of float
/// Errors  P11 an operation that is not linear on a Partial; P12 placements that do not add; P14 a value that is not whole where one is taken;
///         P15 a sum taken for a mean; P19 placements that contradict each other; P21 a view, P22 at run time
/// Tested  mesh/distributed_test, fail/P11_log_of_a_partial
template <class T, class... Where> using Distributed = DistributedValue<T, placements_of<Where...>()>;

template <class X> inline constexpr bool is_distributed = false;
template <class T, Placements P> inline constexpr bool is_distributed<DistributedValue<T, P>> = true;

/// A plain number is a constant: the same on every rank.
template <class X, class Y>
concept Operands = (is_distributed<X> && (is_distributed<Y> || std::is_arithmetic_v<Y>)) || (is_distributed<Y> && std::is_arithmetic_v<X>);
template <class X>
concept IsDistributed = is_distributed<X>;

template <class X> [[nodiscard]] constexpr Placements placements_in() {
  if constexpr (is_distributed<X>)
    return X::placements;
  else
    return {};
}
/// The operand of a call that was an error.
template <class X> [[nodiscard]] constexpr auto refused(const X& x) {
  if constexpr (is_distributed<X>)
    return DistributedValue<typename X::Value, after_a_refusal>{x.held_by_this_rank()};
  else
    return DistributedValue<X, after_a_refusal>{x};
}
template <class X> [[nodiscard]] constexpr const auto& held_by(const X& x) {
  if constexpr (is_distributed<X>)
    return x.held_by_this_rank();
  else
    return x;
}
/// The type of a result: that of the distributed operand, so that 0.5 * x stays float.
template <class X, class Y> struct ResultOf { using Value = typename X::Value; };
template <class X, class Y>
requires(!is_distributed<X>) struct ResultOf<X, Y> {
  using Value = typename Y::Value;
};
template <class Rule, class X, class Y, class Held> [[nodiscard]] constexpr auto placed_result(Held&& held) {
  using Value = typename ResultOf<X, Y>::Value;
  return DistributedValue<Value, Rule::result>{static_cast<Value>(std::forward<Held>(held))};
}

template <class X, class Y>
requires Operands<X, Y>
[[nodiscard]] constexpr auto operator+(const X& x, const Y& y) {
  using Rule = Adding<placements_in<X>(), placements_in<Y>()>;
  static_assert(sizeof(fired<Rule>) > 0);
  return placed_result<Rule, X, Y>(held_by(x) + held_by(y));
}
template <class X, class Y>
requires Operands<X, Y>
[[nodiscard]] constexpr auto operator-(const X& x, const Y& y) {
  using Rule = Adding<placements_in<X>(), placements_in<Y>()>;
  static_assert(sizeof(fired<Rule>) > 0);
  return placed_result<Rule, X, Y>(held_by(x) - held_by(y));
}
template <class T, Placements P> [[nodiscard]] constexpr auto operator-(const DistributedValue<T, P>& x) {
  return DistributedValue<T, P>{static_cast<T>(-x.held_by_this_rank())};
}
template <class X, class Y>
requires Operands<X, Y>
[[nodiscard]] constexpr auto operator*(const X& x, const Y& y) {
  using Rule = Multiplying<placements_in<X>(), placements_in<Y>()>;
  static_assert(sizeof(fired<Rule>) > 0);
  return placed_result<Rule, X, Y>(held_by(x) * held_by(y));
}
/// Sum<axes...> / Sum<axes...> is a Mean<axes...>: the divisor counts what was summed.
template <class X, class Y>
requires Operands<X, Y>
[[nodiscard]] constexpr auto operator/(const X& x, const Y& y) {
  using Rule = Dividing<placements_in<X>(), placements_in<Y>()>;
  static_assert(sizeof(fired<Rule>) > 0);
  return placed_result<Rule, X, Y>(held_by(x) / held_by(y));
}

// A comparison gives one answer for all ranks, so both sides must be whole.
template <class X, class Y>
requires Operands<X, Y>
[[nodiscard]] constexpr bool operator==(const X& x, const Y& y) {
  static_assert(sizeof(fired<Comparing<placements_in<X>(), placements_in<Y>()>>) > 0);
  return held_by(x) == held_by(y);
}
template <class X, class Y>
requires Operands<X, Y>
[[nodiscard]] constexpr bool operator<(const X& x, const Y& y) {
  static_assert(sizeof(fired<Comparing<placements_in<X>(), placements_in<Y>()>>) > 0);
  return held_by(x) < held_by(y);
}
template <class X, class Y>
requires Operands<X, Y>
[[nodiscard]] constexpr bool operator>(const X& x, const Y& y) {
  static_assert(sizeof(fired<Comparing<placements_in<X>(), placements_in<Y>()>>) > 0);
  return held_by(x) > held_by(y);
}
template <class X, class Y>
requires Operands<X, Y>
[[nodiscard]] constexpr bool operator<=(const X& x, const Y& y) {
  static_assert(sizeof(fired<Comparing<placements_in<X>(), placements_in<Y>()>>) > 0);
  return held_by(x) <= held_by(y);
}
template <class X, class Y>
requires Operands<X, Y>
[[nodiscard]] constexpr bool operator>=(const X& x, const Y& y) {
  static_assert(sizeof(fired<Comparing<placements_in<X>(), placements_in<Y>()>>) > 0);
  return held_by(x) >= held_by(y);
}

template <class X> [[nodiscard]] constexpr auto forgetful(typename X::Value held) {
  constexpr Placements plain = X::placements.any(Placement::partial) ? after_a_refusal : [] {
    Placements p = X::placements;
    for (const Axis a : every_axis) p = p.marked(a, Taken::unknown);
    return p;
  }();
  return DistributedValue<typename X::Value, plain>{std::move(held)};
}
/// function(held) on every rank, for a function of single elements; placements stay, sums and means are forgotten.
///
/// Errors  P11 at build if the value is a sum that is not yet taken
template <IsDistributed X, class Function> [[nodiscard]] constexpr auto transform(const X& x, Function&& function) {
  static_assert(sizeof(fired<Applying<"transform", X::placements>>) > 0);
  return forgetful<X>(static_cast<typename X::Value>(function(x.held_by_this_rank())));
}
template <IsDistributed X> [[nodiscard]] auto log(const X& x) {
  static_assert(sizeof(fired<Applying<"log", X::placements>>) > 0);
  using std::log;
  return forgetful<X>(static_cast<typename X::Value>(log(x.held_by_this_rank())));
}
template <IsDistributed X> [[nodiscard]] auto exp(const X& x) {
  static_assert(sizeof(fired<Applying<"exp", X::placements>>) > 0);
  using std::exp;
  return forgetful<X>(static_cast<typename X::Value>(exp(x.held_by_this_rank())));
}
template <IsDistributed X> [[nodiscard]] auto sqrt(const X& x) {
  static_assert(sizeof(fired<Applying<"sqrt", X::placements>>) > 0);
  using std::sqrt;
  return forgetful<X>(static_cast<typename X::Value>(sqrt(x.held_by_this_rank())));
}

}  // namespace heddle::mesh_room

namespace heddle::extending {
using mesh_room::Distributed, mesh_room::transform;
}  // namespace heddle::extending
