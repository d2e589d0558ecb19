// SPDX-License-Identifier: MIT
// Room: report. Two plans side by side: what one costs more or less than the other, as constants and as a table.
// Sees: plan, report/table.  Does not see: threads, kernels.
// In: two Plans.  Out: difference<A, B>(), a Difference; of a refused plan one of which every word compares as true.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "heddle/core/not_included.hpp"
#include "heddle/core/refused.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/plan/same_bits.hpp"
#include "heddle/plan/work.hpp"
#include "heddle/report/table.hpp"

namespace heddle::inline core_room {

template <class... Given> inline constexpr bool is_included<DifferenceHeader, Given...> = true;

}  // namespace heddle::inline core_room

namespace heddle::inline report_room {

/// What one plan costs, from its Program alone.
struct PlanCosts {
  Text<240> (*policy)() = nullptr;  ///< its spelling
  std::int64_t devices = 0;
  Bytes memory;                   ///< of the device that needs most
  Bytes moved;                    ///< in one step over all devices, without padding
  std::int64_t messages = 0;      ///< of one step
  std::int64_t idle_percent = 0;  ///< of a step, for stages, if only work takes time
  std::int64_t instructions = 0;  ///< of the device with the longest list
};

template <class ThePlan> [[nodiscard]] constexpr PlanCosts costs_of() {
  const Program& p = ThePlan::training;
  PlanCosts costs{&long_type_name<typename ThePlan::Request::ThePolicy>,
                  p.mesh.ranks(),
                  Answers<ThePlan>::largest_memory(),
                  Traffic{&p}.total(),
                  Traffic{&p}.messages(),
                  bubble_percent(p)};
  for (int r = 0; r < p.roles; ++r)
    if (p.lists[r].count() > costs.instructions) costs.instructions = p.lists[r].count();
  return costs;
}

/// Two plans side by side. Each word is that of the second less that of the first: below 0 where the second needs less.
///
/// DataParallel<2> instead of Single, of a model whose parameters need most: devices() is 1, memory() is below 0_B, moved() above.
struct Difference {
  PlanCosts first;
  PlanCosts second;
  SameBits same_bits;  ///< whether both end with the same parameters, to the last bit; .text is the reason why not

  [[nodiscard]] constexpr std::int64_t devices() const { return second.devices - first.devices; }
  [[nodiscard]] constexpr Bytes memory() const { return second.memory - first.memory; }
  [[nodiscard]] constexpr Bytes moved() const { return second.moved - first.moved; }
  [[nodiscard]] constexpr std::int64_t messages() const { return second.messages - first.messages; }
  [[nodiscard]] constexpr std::int64_t idle_percent() const { return second.idle_percent - first.idle_percent; }
  [[nodiscard]] constexpr std::int64_t instructions() const { return second.instructions - first.instructions; }

  /// A table with a column for each plan, one for the difference and one for the ratio, in at most 100 columns.
  [[nodiscard]] std::string text() const {
    Grid grid{"lrrrr"};
    grid.add({"", "A", "B", "B - A", "B / A"});
    const auto row = [&](const char* what, std::int64_t a, std::int64_t b) {
      char ratio[32] = "-";
      if (a != 0) std::snprintf(ratio, sizeof ratio, "%.2f", static_cast<double>(b) / static_cast<double>(a));
      grid.add({what, std::to_string(a), std::to_string(b), (b > a ? "+" : "") + std::to_string(b - a), ratio});
    };
    row("devices", first.devices, second.devices);
    row("bytes of memory, largest device", first.memory.value, second.memory.value);
    row("bytes a step moves", first.moved.value, second.moved.value);
    row("messages of a step", first.messages, second.messages);
    row("idle % of the stages", first.idle_percent, second.idle_percent);
    row("instructions, longest list", first.instructions, second.instructions);
    return wrapped("A", std::string{first.policy().view()}, 3) + wrapped("B", std::string{second.policy().view()}, 3) + grid.text() +
           (same_bits ? std::string{"both end with the same parameters, to the last bit\n"} : wrapped("", std::string{same_bits.text.view()}, 0));
  }
};

/// In place of PlanCosts and of a Difference where a plan is refused.
struct RefusedCosts : RefusedAnswer {
  RefusedWord<Text<240>> policy;
  RefusedNumber devices, messages, idle_percent, instructions;
  RefusedBytes memory, moved;
};
struct RefusedDifference : RefusedAnswer {
  RefusedCosts first, second;
  SameBits same_bits;
  RefusedWord<RefusedNumber> devices, messages, idle_percent, instructions;
  RefusedWord<RefusedBytes> memory, moved;
  [[nodiscard]] std::string text() const { return {}; }
};

/// static_assert(difference<Alone, Spread>().memory() < 0_B); std::puts(difference<Alone, Spread>().text().c_str());
///
/// Errors  L06, and the refusals of the plans
/// Tested  report/difference_test
template <class A, class B> [[nodiscard]] constexpr auto difference() {
  if constexpr (Verdict<A>::found.ok() && Verdict<B>::found.ok()) {
    return Difference{costs_of<A>(), costs_of<B>(), same_bits<A, B>()};
  } else {
    heard(Refusal<A>{});
    heard(Refusal<B>{});
    return RefusedDifference{};
  }
}

}  // namespace heddle::inline report_room
