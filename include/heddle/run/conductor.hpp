// SPDX-License-Identifier: MIT
// Room: run. One thread runs all ranks of a plan: each goes on by a line or an entry, in an order that is given, and stands still where it waits.
// Sees: run/locate, run/program_walk, seams, core/random.  Does not see: policies, tensors, any transport or backend by name.
// In: executors that have begun a step.  Out: the step on all of them, or what each of them threw.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/random.hpp"
#include "heddle/run/locate.hpp"
#include "heddle/run/program_walk.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Whose turn is next: a rank keeps it until it waits, then the next one has it. Of ranks 0, 1 and 3 that can go on, 3 follows 1, and 0 follows 3.
struct InTurn {
  [[nodiscard]] int operator()(std::span<const int> ready, int last) const {
    for (const int rank : ready)
      if (rank >= last) return rank;
    return ready.front();
  }
};

/// Turns that are drawn, the same from one seed: of the ranks that can go on each is as likely as the others. Three of four seeds let a rank keep its
/// turn for 2, 4 or 8 turns in a row on average, so that it runs far ahead of the others.
class Seeded {
 public:
  explicit Seeded(std::uint64_t seed) : seed_{seed} {}
  [[nodiscard]] int operator()(std::span<const int> ready, int last) {
    const std::uint64_t drawn = bits64(seed_, 0, turn_++);
    const std::uint64_t stays = (std::uint64_t{1} << seed_.value % 4) - 1;  // of stays + 1 turns
    if ((drawn >> 32 & stays) != 0 && std::find(ready.begin(), ready.end(), last) != ready.end()) return last;
    return ready[(drawn & 0xffffffffU) % ready.size()];
  }

 private:
  Seed seed_;
  std::uint64_t turn_ = 0;
};

/// "receive 2 from rank 1", "all-reduce 0 of group 3"
[[nodiscard]] HEDDLE_COLD inline std::string describe(const Ticket& ticket) {
  constexpr const char* names[] = {"send ", "receive ", "all-reduce ", "reduce-scatter ", "all-gather "};
  const char* const with = ticket.kind == Ticket::send ? " to rank " : ticket.kind == Ticket::receive ? " from rank " : " of group ";
  return names[ticket.kind] + std::to_string(ticket.k) + with + std::to_string(ticket.with);
}

/// R35: none of these ranks can go on. Four of them are named.
template <class Executors> [[nodiscard]] HEDDLE_COLD Error nobody_goes_on(const Executors& executors, const std::vector<int>& kept) {
  constexpr std::size_t most_named = 4;
  std::string who;
  for (std::size_t i = 0; i < std::min(kept.size(), most_named); ++i) {
    const auto& executor = *executors[static_cast<std::size_t>(kept[i])];
    who += (i > 0 ? "; rank " : "rank ") + std::to_string(kept[i]) + " waits for " + describe(executor.awaited()) + " at " +
           describe(*executor.walk().program(), executor.walk().line());
  }
  if (kept.size() > most_named) who += "; and " + std::to_string(kept.size() - most_named) + " more wait";
  return {Code{'R', 35},
          "no rank can go on: " + who + ". Fix: let each wait have its start in the list of the other side, before what waits for it."};
}

/// The step that the executors have begun, by rank; null where a rank lives elsewhere. errors[rank] is what it threw, R35 where none could go on;
/// give_up(rank) is called for one that throws, and from then on no other waits for it.
///
/// Errors  R35 as the error of each rank that waits for what nobody starts
/// Tested  run/conductor_test, equivalence/interleavings_test
template <class Executors, class Order, class GiveUp>
void conduct(Executors& executors, Order& order, std::vector<std::exception_ptr>& errors, GiveUp give_up) {
  errors.assign(executors.size(), nullptr);
  std::vector<int> ready, kept;
  for (std::size_t r = 0; r < executors.size(); ++r)
    if (executors[r] != nullptr) ready.push_back(static_cast<int>(r));
  int last = 0;
  while (!ready.empty()) {
    const int rank = last = order(std::span<const int>{ready}, last);
    Progress progress = Progress::done;
    try {
      progress = executors[static_cast<std::size_t>(rank)]->advance();
    } catch (...) {
      errors[static_cast<std::size_t>(rank)] = std::current_exception();
      give_up(rank);
    }
    if (progress != Progress::moved) ready.erase(std::find(ready.begin(), ready.end(), rank));
    if (progress == Progress::kept) {
      kept.push_back(rank);
    } else if (!kept.empty()) {  // what they wait for may be there now
      ready.insert(ready.end(), kept.begin(), kept.end());
      std::sort(ready.begin(), ready.end());
      kept.clear();
    }
  }
  if (kept.empty()) return;
  std::sort(kept.begin(), kept.end());
  const std::exception_ptr stuck = std::make_exception_ptr(nobody_goes_on(executors, kept));
  for (const int rank : kept) errors[static_cast<std::size_t>(rank)] = stuck;
}

/// A step of one rank: its session may do more than the executor, as capture what a card is given.
template <class Session, class RankExecutor> void step_of(Session& session, RankExecutor& executor, const StepInput& input) {
  if constexpr (requires { session.step(executor, input); })
    session.step(executor, input);
  else
    executor.run(input);
}

/// A step on all ranks: where a session conducts them it does, and where each has a thread or a process of its own, `by_themselves()` runs it there.
template <class Session, class Executors, class ByThemselves>
void step_on(Session& session, Executors& executors, const StepInput& input, ByThemselves by_themselves) {
  if constexpr (requires { session.conduct(executors); }) {
    for (auto& executor : executors) executor->begin(input);
    session.conduct(executors);
  } else {
    by_themselves();
  }
}

}  // namespace heddle::run_room
