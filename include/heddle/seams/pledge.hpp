// SPDX-License-Identifier: MIT
// Room: seams. What ranks in different processes tell each other of a plan and of a call, so that none of them trains apart without a word.
// Sees: core, seams/error.  Does not see: memory, threads, any transport.
// In: what each rank says.  Out: one sentence where two say different things.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heddle/core/rule.hpp"
#include "heddle/core/text.hpp"
#include "heddle/core/version.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::seams_room {

/// What a process says of the plan that it is about to run, before the first step. Zero, and no text, where there is nothing to say.
/// In every version the first 16 bytes mean the same, and `most_bytes` hold all of it: what any version sends can be received and told.
/// A StartPledge has 1072 bytes; under DataParallel<4> ranks is 4.
///
/// Tested  seams/pledge_test
struct StartPledge {
  static constexpr std::uint64_t mark_of_all = 0x656c64646568;  ///< "heddle"
  static constexpr std::size_t most_bytes = 4096;
  std::uint64_t mark = mark_of_all;
  std::uint32_t version = HEDDLE_VERSION;
  std::uint32_t size = sizeof(StartPledge);
  std::uint64_t program = 0;
  std::int64_t ranks = 0;
  std::uint64_t seed = 0;
  std::uint32_t options = 0;  ///< hash of the optimizer's constants
  float learning_rate = 0;
  std::int64_t most_draws = 0;  ///< of a proof; 0 of a trainer
  Text<1000> build{};           ///< what bits depend on: "the compiler=g++ 12;AVX2=on;"
};
static_assert(sizeof(StartPledge) <= StartPledge::most_bytes && std::is_trivially_copyable_v<StartPledge>);

/// What a rank says of the call that it is in, with every message: the same on all of them.
/// A CallPledge has 28 bytes; step 7 of 64 rows has call 1, number 7 and rows 64.
///
/// Tested  seams/pledge_test
struct CallPledge {
  enum Call : std::uint16_t { none, step, evaluation, prediction };
  std::uint32_t options = 0;  ///< hash of the optimizer's constants, of max_norm and max_value, of the loss scale and of the weights of classes
  float learning_rate = 0;
  std::uint32_t order = 0;    ///< hash of the order of the rows
  std::uint32_t targets = 0;  ///< hash of how many count nothing, and of the sum of their weights
  std::int32_t rows = 0;
  std::int32_t number = 0;  ///< of the step
  std::uint16_t call = none;
  std::uint16_t reports = 0;  ///< whether the loss of the step is reduced
  friend bool operator==(const CallPledge&, const CallPledge&) = default;
};

/// FNV-1a over words of 32 bits.
[[nodiscard]] inline std::uint32_t hash_of_words(std::span<const std::uint32_t> words, std::uint32_t hash = 0x811c9dc5U) {
  for (const std::uint32_t word : words) hash = (hash ^ word) * 0x01000193U;
  return hash;
}
[[nodiscard]] inline std::uint32_t hash_of_number(double number, std::uint32_t hash) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  return hash_of_words(std::array{static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)}, hash);
}

/// Becomes a float and nothing else, so it tells which members of an aggregate are floats.
struct AnyFloat {
  template <class Number>
  requires std::is_same_v<Number, float>
  operator Number() const;  // NOLINT: the conversion is the point
};
/// Whether Constants are `count` floats and nothing beside: then their bytes are their values.
template <class Constants, std::size_t count> constexpr bool are_floats() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return requires { Constants{(static_cast<void>(I), AnyFloat{})...}; };
  }
  (std::make_index_sequence<count>{});
}
/// The hash of an optimizer's constants; 0 for those of a user's optimizer that are not floats, whose padding has no value.
template <class Constants> [[nodiscard]] std::uint32_t hash_of_constants(const Constants& constants) {
  constexpr std::size_t count = sizeof(Constants) / sizeof(float);
  if constexpr (std::is_aggregate_v<Constants> && std::is_trivially_copyable_v<Constants> && sizeof(Constants) % sizeof(float) == 0 && count <= 32) {
    if constexpr (are_floats<Constants, count>()) return hash_of_words(std::bit_cast<std::array<std::uint32_t, count>>(constants));
  }
  return 0;
}
template <class Options> [[nodiscard]] float learning_rate_of(const Options& options) {
  if constexpr (requires { static_cast<float>(options.learning_rate); })
    return static_cast<float>(options.learning_rate);
  else
    return 0;
}

/// The ranks in words: "rank 2", "ranks 0, 1 and 3".
[[nodiscard]] inline std::string ranks_in_words(const std::vector<int>& ranks) {
  std::string words = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) words += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return words;
}

/// The ranks whose value is not that of most; of several that are equally common the one of the lowest rank counts.
template <class Value> [[nodiscard]] std::vector<int> odd_ranks(const std::vector<Value>& values) {
  const auto number_of = [&](const Value& value) { return std::count(values.begin(), values.end(), value); };
  const auto common = std::max_element(values.begin(), values.end(), [&](const Value& a, const Value& b) { return number_of(a) < number_of(b); });
  std::vector<int> odd;
  for (std::size_t rank = 0; rank < values.size(); ++rank)
    if (values[rank] != *common) odd.push_back(static_cast<int>(rank));
  return odd;
}

/// Two ranks in words that differ in what `of` says, the first odd one and the first of the others: ": rank 1 with 3, rank 0 with 5".
template <class Of> [[nodiscard]] std::string for_example(const std::vector<StartPledge>& pledges, const std::vector<int>& odd, Of of) {
  int other = 0;
  while (std::find(odd.begin(), odd.end(), other) != odd.end()) ++other;
  return written({": rank ", odd[0], " with ", of(pledges[static_cast<std::size_t>(odd[0])]), ", rank ", other, " with ",
                  of(pledges[static_cast<std::size_t>(other)])});
}

/// "0.1.0", or what else is known of it.
[[nodiscard]] inline std::string version_in_words(const StartPledge& pledge) {
  if (pledge.mark != StartPledge::mark_of_all) return "an earlier one";
  return written({pledge.version / 1'000'000, ".", pledge.version / 1'000 % 1'000, ".", pledge.version % 1'000,
                  pledge.version == HEDDLE_VERSION && pledge.size != sizeof(StartPledge) ? " in another state" : ""});
}

/// "AVX2 is on in rank 1 and off in rank 0", of each flag that both say; empty if these agree.
[[nodiscard]] inline std::string builds_that_differ(const std::vector<StartPledge>& pledges, int first, int second) {
  const auto build = [&](int rank) { return pledges[static_cast<std::size_t>(rank)].build.view(); };
  std::string all;
  const std::string theirs = ';' + std::string{build(second)};
  for (std::string_view rest = build(first); !rest.empty();) {
    const std::string_view flag = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(rest.size(), flag.size() + 1));
    const std::string_view name = flag.substr(0, flag.find('=') + 1);
    const std::size_t at = theirs.find(';' + std::string{name});
    if (name.empty() || at == std::string::npos) continue;
    const std::size_t begin = at + 1 + name.size();
    const std::string_view value = flag.substr(name.size());
    const std::string other = theirs.substr(begin, theirs.find(';', begin) - begin);
    if (value != other)
      all +=
          written({all.empty() ? "" : ", ", name.substr(0, name.size() - 1), " is ", value, " in rank ", first, " and ", other, " in rank ", second});
  }
  return all;
}

/// Throws if the ranks, in their order, do not start the same.
///
/// Errors  R08 another version of Heddle, another program, or the same compiled otherwise, R18 another seed or most_draws, O02 other options
/// Tested  seams/pledge_test
inline void check_start(const std::vector<StartPledge>& pledges) {
  const auto odd_in = [&](auto of) {
    std::vector<decltype(of(pledges[0]))> values;
    for (const StartPledge& pledge : pledges) values.push_back(of(pledge));
    return odd_ranks(values);
  };
  const auto others = [&](const std::vector<int>& odd) {
    std::vector<int> rest;
    for (int rank = 0; rank < static_cast<int>(pledges.size()); ++rank)
      if (std::find(odd.begin(), odd.end(), rank) == odd.end()) rest.push_back(rank);
    return ranks_in_words(rest);
  };
  const auto verb = [](const std::vector<int>& odd, const char* word) { return ranks_in_words(odd) + ' ' + word + (odd.size() == 1 ? "s " : " "); };
  if (const auto odd = odd_in([](const StartPledge& p) { return std::array{p.mark, std::uint64_t{p.version}, std::uint64_t{p.size}}; }); !odd.empty())
    throw Error{Code{'R', 8}, written({verb(odd, "run"), "another version of Heddle than ", others(odd), for_example(pledges, odd, version_in_words),
                                       ". Fix: compile the program of every process with the same version of Heddle."})};
  if (const auto odd = odd_in([](const StartPledge& p) { return std::array{p.program, static_cast<std::uint64_t>(p.ranks)}; }); !odd.empty())
    throw Error{Code{'R', 8}, written({verb(odd, "run"), "another program than ", others(odd),
                                       ". Fix: start the same binary with the same plan in every process."})};
  const auto odd_builds = odd_in([](const StartPledge& p) { return p.build.view(); });
  const auto is_odd = [&](int rank) { return std::find(odd_builds.begin(), odd_builds.end(), rank) != odd_builds.end(); };
  int other = 0;
  while (is_odd(other)) ++other;
  for (const int rank : odd_builds)
    if (const std::string differences = builds_that_differ(pledges, rank, other); !differences.empty())
      throw Error{
          Code{'R', 8},
          written({ranks_in_words(odd_builds), odd_builds.size() == 1 ? " was" : " were", " compiled otherwise than ", others(odd_builds), ": ",
                   differences, ". Fix: start the same binary in every process, or compile each with the same compiler and the same flags."})};
  const bool proves = std::any_of(pledges.begin(), pledges.end(), [](const StartPledge& p) { return p.most_draws != 0; });
  const std::string remedy =
      proves ? ". Fix: give prove the same seed and most_draws in every process." : ". Fix: give the trainer the same Seed in every process.";
  if (const auto odd = odd_in([](const StartPledge& p) { return p.seed; }); !odd.empty())
    throw Error{Code{'R', 18}, written({verb(odd, "start"), "with another seed than ", others(odd),
                                        for_example(pledges, odd, [](const StartPledge& p) { return std::to_string(p.seed); }), remedy})};
  if (const auto odd = odd_in([](const StartPledge& p) { return p.most_draws; }); !odd.empty())
    throw Error{Code{'R', 18}, written({verb(odd, "start"), "with another most_draws than ", others(odd),
                                        for_example(pledges, odd, [](const StartPledge& p) { return std::to_string(p.most_draws); }), remedy})};
  if (const auto odd = odd_in([](const StartPledge& p) { return std::bit_cast<std::uint32_t>(p.learning_rate); }); !odd.empty())
    throw Error{Code{'O', 2},
                written({verb(odd, "start"), "with another learning_rate than ", others(odd),
                         for_example(pledges, odd, [](const StartPledge& p) { return short_number(static_cast<double>(p.learning_rate)); }),
                         ". Fix: set the same options in every process."})};
  if (const auto odd = odd_in([](const StartPledge& p) { return p.options; }); !odd.empty())
    throw Error{Code{'O', 2}, written({verb(odd, "start"), "with other options of the optimizer than ", others(odd),
                                       ". Fix: set the same options in every process."})};
}

[[nodiscard]] inline std::string call_in_words(const CallPledge& pledge) {
  if (pledge.call == CallPledge::step) return "makes step " + std::to_string(pledge.number);
  if (pledge.call == CallPledge::evaluation) return "evaluates after step " + std::to_string(pledge.number);
  if (pledge.call == CallPledge::prediction) return "predicts after step " + std::to_string(pledge.number);
  return "is in no step";
}

/// What two ranks that meet in a message say, where it is not the same.
///
/// Errors  T10 another call, other rows or targets, R19 the loss is reported by one of them, O02 other options
/// Tested  seams/pledge_test
[[nodiscard]] inline Error calls_differ(int first_rank, const CallPledge& first, int second_rank, const CallPledge& second) {
  const std::string a = "rank " + std::to_string(first_rank) + ' ';
  const std::string b = "rank " + std::to_string(second_rank) + ' ';
  const std::string call = a + call_in_words(first);
  if (first.call != second.call || first.number != second.number)
    return {Code{'T', 10}, call + ", " + b + call_in_words(second) + ". Fix: make the same calls in the same order in every process."};
  if (first.rows != second.rows)
    return {Code{'T', 10}, call + " with " + std::to_string(first.rows) + " rows, " + b + "with " + std::to_string(second.rows) +
                               ". Fix: give every process the whole batch."};
  if (first.order != second.order)
    return {Code{'T', 10}, call + " with other rows, or the same rows in another order, than " + b.substr(0, b.size() - 1) +
                               ". Fix: shuffle with the same seed and epoch in every process."};
  if (first.targets != second.targets)
    return {Code{'T', 10}, call + " with other targets than " + b.substr(0, b.size() - 1) +
                               ": another number of them counts, or their classes weigh otherwise. Fix: give every process the whole batch."};
  if (first.reports != second.reports)
    return {Code{'R', 19}, call + (first.reports != 0 ? " and reports its loss, " : " without its loss, ") + b +
                               (second.reports != 0 ? "reports it" : "does not report it") +
                               ". Fix: give on_step the same Every in every process, and let first_process() decide who prints."};
  if (first.learning_rate != second.learning_rate)
    return {Code{'O', 2}, call + " with learning_rate " + short_number(static_cast<double>(first.learning_rate)) + ", " + b + "with " +
                              short_number(static_cast<double>(second.learning_rate)) + ". Fix: set the same options in every process."};
  return {Code{'O', 2}, call + " with other options of the optimizer, of the loss, of the clip or of the loss scale than " +
                            b.substr(0, b.size() - 1) + ". Fix: set the same options in every process."};
}

}  // namespace heddle::seams_room
