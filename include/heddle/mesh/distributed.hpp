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
#include "heddle/mesh/placement_rules.hpp"

namespace heddle::inline mesh_room {

// One holder a rule, because fired<> takes a type. What was refused before is not judged again, so that one fault is one error.
template <Placements P> struct IsSound { static constexpr Diagnosis found = placements_are_sound(P); };
template <Placements A, Placements B> struct Adding {
  static constexpr Diagnosis found = was_refused(A) || was_refused(B) ? Diagnosis{} : may_add(A, B);
  static constexpr Placements result = !found.ok() || was_refused(A) || was_refused(B) ? after_a_refusal : added(A, B);
};
template <Placements A, Placements B> struct Multiplying {
  static constexpr Diagnosis found = was_refused(A) || was_refused(B) ? Diagnosis{} : may_multiply(A, B);
  static constexpr Placements result = !found.ok() || was_refused(A) || was_refused(B) ? after_a_refusal : multiplied(A, B);
};
template <Placements A, Placements B> struct Dividing {
  static constexpr Diagnosis found = was_refused(A) || was_refused(B) ? Diagnosis{} : may_divide(A, B);
  static constexpr Placements result = !found.ok() || was_refused(A) || was_refused(B) ? after_a_refusal : divided(A, B);
};
template <Placements A, Placements B> struct Comparing {
  static constexpr Diagnosis found = was_refused(A) || was_refused(B) ? Diagnosis{} : may_compare(A, B);
};
template <Placements Is, Placements Asked> struct Giving {
  static constexpr Diagnosis found = was_refused(Is) || was_refused(Asked) ? Diagnosis{} : may_be_given(Is, Asked);
};
template <Placements P> struct Reading { static constexpr Diagnosis found = is_whole("value()", P); };
template <Name Operation, Placements P> struct Applying { static constexpr Diagnosis found = sums_are_taken(Operation.view(), P); };

/// What one rank holds of a value. Distributed<T, ...> is the spelling for users; an order of axes is no other type.
template <class T, Placements P> class DistributedValue {
  static_assert(sizeof(fired<IsSound<P>>) > 0);

 public:
  using Value = T;
  static constexpr Placements placements = P;

  /// The claim that what this rank holds lies as the type says. A Replicate must be equal on all ranks; nobody compares it.
  constexpr explicit DistributedValue(T held) : held_(std::move(held)) {}

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
  [[nodiscard]] constexpr const T& value() const {
    static_assert(sizeof(fired<Reading<P>>) > 0);
    return held_;
  }
  /// What this rank holds of a value that is split or whole.
  ///
  /// Errors  P11 at build if it is a term of a sum that is not yet taken
  [[nodiscard]] constexpr const T& part() const {
    static_assert(sizeof(fired<Applying<"part()", P>>) > 0);
    return held_;
  }
  /// For code that changes placements, as collectives do: whatever this rank holds, a term of a sum as well. Long, so that it is found.
  [[nodiscard]] constexpr const T& held_by_this_rank() const { return held_; }

 private:
  T held_;
};

/// A value of user code and how it lies along each axis of the mesh: Replicate (or nothing), Shard<axis, dimension>, Partial<axes...>: a sum that is
/// not yet taken, Sum<axes...> and Mean<axes...>: whole, and known to be taken over these axes.
///
/// Shape   T on every rank: float, or anything with operators of its own; collectives move float and what has data() and size() of float
/// Errors  P11 an operation that is not linear on a Partial; P12 placements that do not add; P14 a value that is not whole where one is taken;
///         P15 a sum taken for a mean; P19 placements that contradict each other
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

}  // namespace heddle::inline mesh_room
