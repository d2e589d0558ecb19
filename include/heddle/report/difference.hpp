// SPDX-License-Identifier: MIT
// Room: report. Two plans side by side: what one costs more or less than the other, as constants and as a table.
// Sees: plan, report/table.  Does not see: threads, kernels.
// In: two Plans.  Out: difference<A, B>(), a Difference; of a refused plan one of which every word compares as true.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>

#include "heddle/core/as_written.hpp"
#include "heddle/core/not_included.hpp"
#include "heddle/core/refused.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/plan/read/work.hpp"
#include "heddle/plan/same_bits.hpp"
#include "heddle/report/table.hpp"

namespace heddle::core_room {

template <class... Given> inline constexpr bool is_included<DifferenceHeader, Given...> = true;

}  // namespace heddle::core_room

namespace heddle::report_room {

/// The policy of a plan and the parts that the other one does not have: "Single, Batch<128>" beside "Single, Batch<64>, Accumulate<2>".
template <class Own, class Other> struct OwnParts;
template <template <class...> class Kind, class... Own, template <class...> class OtherKind, class... Other>
struct OwnParts<Kind<Own...>, OtherKind<Other...>> {
  using Policy = typename RequestOf<Kind<Own...>>::ThePolicy;
  template <class Part> static constexpr bool is_told = !std::is_same_v<Part, Policy> && !(std::is_same_v<Part, Other> || ...);
  static std::string words() {
    std::string out = as_written(long_type_name<Policy>().view());
    ((out += is_told<Own> ? ", " + as_written(long_type_name<Own>().view()) : std::string{}), ...);
    return out;
  }
};
template <class ThePlan> using PlanBehind = typename decltype(plan_behind(static_cast<ThePlan*>(nullptr)))::type;

/// What one plan costs, from its Program alone. DataParallel<2> of 4,736 parameters has devices 2 and moved 37,888 bytes.
struct PlanCosts {
  const Program* program = nullptr;
  std::string (*parts)() = nullptr;  ///< the spelling of its policy and of what it has beside the other plan
  Text<240> (*policy)() = nullptr;   ///< its spelling
  std::int64_t devices = 0;
  Bytes memory;                   ///< of the device that needs most
  Bytes moved;                    ///< in one step over all devices, without padding
  std::int64_t messages = 0;      ///< of one step
  std::int64_t idle_percent = 0;  ///< of a step, for stages, if only work takes time
  std::int64_t instructions = 0;  ///< of the device with the longest list
};

template <class ThePlan, class Other> [[nodiscard]] constexpr PlanCosts costs_of() {
  const Program& p = ThePlan::training;
  PlanCosts costs{&ThePlan::training,
                  &OwnParts<PlanBehind<ThePlan>, PlanBehind<Other>>::words,
                  &long_type_name<typename ThePlan::Request::ThePolicy>,
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
      grid.add({what, said(a), said(b), (b > a ? "+" : "") + said(b - a), ratio});
    };
    const auto idle = [](const PlanCosts& of) { return 100 * simulate(*of.program, Machine{}).bubble(); };
    const auto tenths = [](double number, const char* format) {
      char words[32];
      std::snprintf(words, sizeof words, format, number);
      return std::string{words};
    };
    row("devices", first.devices, second.devices);
    row("bytes of memory, largest device", first.memory.value, second.memory.value);
    row("bytes a step moves", first.moved.value, second.moved.value);
    row("messages of a step", first.messages, second.messages);
    const double a = idle(first), b = idle(second);
    grid.add(
        {"idle % of the stages", tenths(a, "%.1f"), tenths(b, "%.1f"), tenths(b - a, b > a ? "+%.1f" : "%.1f"), a > 0 ? tenths(b / a, "%.2f") : "-"});
    row("instructions, longest list", first.instructions, second.instructions);
    return wrapped("A", first.parts(), 3) + wrapped("B", second.parts(), 3) + grid.text() +
           (same_bits ? std::string{"both end with the same parameters, to the last bit\n"} : wrapped("", std::string{same_bits.text.view()}, 0));
  }
};

/// In place of PlanCosts and of a Difference where a plan is refused.
struct RefusedCosts : RefusedAnswer {
  const Program* program = nullptr;
  RefusedWord<Text<240>> policy;
  RefusedWord<std::string> parts;
  RefusedNumber devices, messages, idle_percent, instructions;
  RefusedBytes memory, moved;
};
/// Answers in place of the Difference of a broken plan: each number compares as true, so that the fault of the plan stays the only error.
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
    return Difference{costs_of<A, B>(), costs_of<B, A>(), same_bits<A, B>()};
  } else {
    heard(Refusal<A>{});
    heard(Refusal<B>{});
    return RefusedDifference{};
  }
}

}  // namespace heddle::report_room

namespace heddle {
using report_room::difference;
}  // namespace heddle
