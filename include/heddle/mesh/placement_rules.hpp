// SPDX-License-Identifier: MIT
// Room: mesh. What may be done with values of given placements: the rules P11 to P18 as functions of values.
// Sees: core/rule, mesh/placements.  Does not see: values, ranks, processes.
// In: Placements of the operands.  Out: ok, or a Diagnosis that names the axes.
#pragma once

#include "heddle/core/rule.hpp"
#include "heddle/mesh/placements.hpp"

namespace heddle::mesh_room {

/// "all_reduce<axis::data, axis::shard>": what takes the sums that are not yet taken.
[[nodiscard]] constexpr Text<120> missing_reduction(const Placements& p) {
  Text<120> call{"all_reduce<"};
  bool first = true;
  for (const Axis a : every_axis) {
    if (p.at(a) != Placement::partial) continue;
    call << (first ? "axis::" : ", axis::") << name_of(a);
    first = false;
  }
  return call << '>';
}

/// Errors  P19 an axis named twice, a dimension below 0, something that is no placement
[[nodiscard]] constexpr Diagnosis placements_are_sound(const Placements& p) {
  const auto broken = [] { return Diagnosis{Code{'P', 19}, ""}; };
  if (p.fault() == PlacementFault::axis_named_twice)
    return broken() << "two placements of one value name axis " << name_of(p.fault_axis()) << ". Fix: say once how it lies along "
                    << name_of(p.fault_axis()) << '.';
  if (p.fault() == PlacementFault::dimension_out_of_range)
    return broken() << "Shard over " << name_of(p.fault_axis()) << " splits a dimension that is none of 0 to " << Placements::most_dimension
                    << ". Fix: count dimensions from 0.";
  if (p.fault() == PlacementFault::no_placement)
    return broken() << "Distributed is given something that is no placement. Fix: use Replicate, Partial, Shard, Sum or Mean with axes.";
  return {};
}

/// Errors  P11 an operation that is not linear sees a sum that is not yet taken
[[nodiscard]] constexpr Diagnosis sums_are_taken(std::string_view operation, const Placements& p) {
  if (!p.any(Placement::partial)) return {};
  return Diagnosis{Code{'P', 11}, operation} << " is not linear, but its operand is a sum over " << axes_with(p, Placement::partial).view()
                                             << " that is not yet taken: each rank would work on its own term. Fix: call "
                                             << missing_reduction(p).view() << " first.";
}

/// Errors  P12 placements differ, P15 a sum and a mean
[[nodiscard]] constexpr Diagnosis may_add(const Placements& a, const Placements& b) {
  for (const Axis i : every_axis) {
    const std::string_view axis = name_of(i);
    if (a.at(i) != b.at(i) || a.dimension(i) != b.dimension(i)) {
      Diagnosis found{Code{'P', 12}, ""};
      found << spelled(a).view() << " and " << spelled(b).view() << " cannot be added: ";
      if (a.at(i) != Placement::shard && b.at(i) != Placement::shard)
        return found << "every rank of " << axis
                     << " would add the one that is whole to its own term, so the sum would have it once a rank. Fix: call "
                     << missing_reduction(a.at(i) == Placement::partial ? a : b).view() << " before adding.";
      return found << "along " << axis << " they hold other parts. Fix: call all_gather<axis::" << axis << "> on the one that is split.";
    }
    if (a.taken(i) != b.taken(i) && a.taken(i) != Taken::unknown && b.taken(i) != Taken::unknown)
      return Diagnosis{Code{'P', 15}, ""} << "a sum and a mean over " << axis << " cannot be added: they have other divisors. Fix: divide the sum by "
                                          << "its count, itself a Sum over " << axis << ", first.";
  }
  return {};
}
[[nodiscard]] constexpr Placements added(const Placements& a, const Placements& b) {
  Placements sum = a;
  for (const Axis i : every_axis)
    if (a.taken(i) == Taken::unknown) sum = sum.marked(i, b.taken(i));
  return sum;
}

/// Errors  P11 both are sums not yet taken, P12 one is split where the other is not
[[nodiscard]] constexpr Diagnosis may_multiply(const Placements& a, const Placements& b) {
  if (a.any(Placement::partial) && b.any(Placement::partial))
    return Diagnosis{Code{'P', 11}, ""} << "the product of " << spelled(a).view() << " and " << spelled(b).view()
                                        << " is not linear: the products of the terms do not sum up to the product of the sums. Fix: call "
                                        << missing_reduction(a).view() << " on one of them first.";
  for (const Axis i : every_axis)
    if ((a.at(i) == Placement::shard || b.at(i) == Placement::shard) && (a.at(i) != b.at(i) || a.dimension(i) != b.dimension(i)))
      return Diagnosis{Code{'P', 12}, ""} << spelled(a).view() << " and " << spelled(b).view() << " cannot be multiplied: along " << name_of(i)
                                          << " they hold other parts. Fix: split both alike, or call all_gather<axis::" << name_of(i) << ">.";
  return {};
}
[[nodiscard]] constexpr Placements multiplied(const Placements& a, const Placements& b) {
  Placements product = a;
  for (const Axis i : every_axis) {
    if (b.at(i) == Placement::partial) product = product.with(i, Placement::partial);
    if (product.at(i) == Placement::partial) continue;
    if (a.taken(i) == Taken::unknown || b.taken(i) == Taken::unknown)
      product = product.marked(i, a.taken(i) == Taken::unknown ? b.taken(i) : a.taken(i));
    else
      product = product.marked(i, Taken::unknown);
  }
  return product;
}

/// Errors  P11 the divisor is a sum not yet taken, P12 as for a product, P15 the divisor counts over other axes than the sum, or a mean is divided
[[nodiscard]] constexpr Diagnosis may_divide(const Placements& a, const Placements& b) {
  if (const Diagnosis found = sums_are_taken("a divisor", b); !found.ok()) return found;
  if (b.any(Taken::sum) && (a.any(Taken::sum) || a.any(Taken::mean)))
    for (const Axis i : every_axis)
      if (a.taken(i) != b.taken(i))
        return Diagnosis{Code{'P', 15}, ""} << spelled(a).view() << " is divided by " << spelled(b).view() << ": along " << name_of(i)
                                            << " that is the wrong divisor. Fix: divide a Sum by a count that is a Sum over the same axes.";
  return may_multiply(a, b);
}
[[nodiscard]] constexpr Placements divided(const Placements& a, const Placements& b) {
  Placements quotient = a;
  for (const Axis i : every_axis)
    if (a.taken(i) == Taken::sum) quotient = quotient.marked(i, b.taken(i) == Taken::sum ? Taken::mean : Taken::unknown);
  return quotient;
}

/// Errors  P14 the value is not whole on every rank
[[nodiscard]] constexpr Diagnosis is_whole(std::string_view use, const Placements& p) {
  if (p.any(Placement::partial))
    return Diagnosis{Code{'P', 14}, use} << " takes a whole value, but this one is a sum over " << axes_with(p, Placement::partial).view()
                                         << " that is not yet taken. Fix: call " << missing_reduction(p).view() << " first.";
  if (p.any(Placement::shard))
    return Diagnosis{Code{'P', 14}, use} << " takes a whole value, but each rank of " << axes_with(p, Placement::shard).view()
                                         << " holds a part of this one. Fix: call all_gather<axis::"
                                         << axes_with(p, Placement::shard, ">, then <axis::").view()
                                         << "> first, or part() for what this rank holds.";
  return {};
}

/// Errors  P11 a sum not yet taken is compared, P14 ranks would get other answers
[[nodiscard]] constexpr Diagnosis may_compare(const Placements& a, const Placements& b) {
  for (const Placements* p : {&a, &b})
    if (const Diagnosis found = sums_are_taken("a comparison", *p); !found.ok()) return found;
  for (const Placements* p : {&a, &b})
    if (const Diagnosis found = is_whole("a comparison", *p); !found.ok()) return found;
  return {};
}

/// Errors  P14 the placement is not the one asked for, P15 a sum where a mean is asked for or the other way round
[[nodiscard]] constexpr Diagnosis may_be_given(const Placements& is, const Placements& asked) {
  for (const Axis i : every_axis)
    if (is.at(i) != asked.at(i) || is.dimension(i) != asked.dimension(i)) {
      const std::string_view taking = asked.taken(i) == Taken::mean ? "mean_over" : asked.taken(i) == Taken::sum ? "sum_over" : "all_reduce";
      const std::string_view fix = is.at(i) == Placement::partial ? taking
                                   : is.at(i) == Placement::shard ? "all_gather"
                                                                  : "the collective that makes it so";
      return Diagnosis{Code{'P', 14}, ""} << spelled(is).view() << " is given where " << spelled(asked).view() << " is asked for: they differ along "
                                          << name_of(i) << ". Fix: call " << fix << " over " << name_of(i) << " first.";
    }
  for (const Axis i : every_axis)
    if (asked.taken(i) != Taken::unknown && is.taken(i) != asked.taken(i))
      return Diagnosis{Code{'P', 15}, ""} << spelled(is).view() << " is given where " << spelled(asked).view() << " is asked for: along "
                                          << name_of(i) << " the divisor is another. Fix: use sum_over or mean_over, which say what they took.";
  return {};
}

}  // namespace heddle::mesh_room
