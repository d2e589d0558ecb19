// SPDX-License-Identifier: MIT
// Room: run. What can fail in one process alone, as reading a file can: all processes go on, or all throw the same sentence.
// Sees: seams/error.  Does not see: files, plans, any backend by name.
// In: a session, an action.  Out: nothing, or the Error of the first rank that has one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// The Error that an action throws, if it does.
template <class Action> [[nodiscard]] std::optional<Error> error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// What the others are told of a problem: the length of its sentence (0: all is well), letter and number of its code.
using ToldProblem = std::array<std::int64_t, 3>;
[[nodiscard]] inline ToldProblem told_of(const std::optional<Error>& problem) {
  if (!problem) return {};
  return {std::ssize(problem->words()), problem->code().letter, problem->code().number};
}
/// Every process throws the problem of `owner`, whose sentence it is given; `told` is no zeros.
template <class Session> [[noreturn]] void throw_told(Session& session, Rank owner, const ToldProblem& told, const std::optional<Error>& problem) {
  std::string words = session.local(owner) ? std::string{problem->words()} : std::string{};
  words.resize(static_cast<std::size_t>(told[0]));
  session.share(owner, std::as_writable_bytes(std::span{words}));
  throw Error(Code{static_cast<char>(told[1]), static_cast<int>(told[2])}, words);
}

/// Every process is told whether the one of `owner` has a problem, and then throws it. Only the owner's own `problem` counts.
///
/// Tested  run/agreement_test, backend/cpu_mpi_test
template <class Session> void throw_everywhere(Session& session, Rank owner, const std::optional<Error>& problem) {
  ToldProblem told = session.local(owner) ? told_of(problem) : ToldProblem{};
  session.share(owner, std::as_writable_bytes(std::span{told}));
  if (told[0] != 0) throw_told(session, owner, told, problem);
}

/// A session whose processes tell each other something in one exchange: gather(all), where each has written its part of `all`, which are as many
/// equal parts as there are ranks. Elsewhere each rank shares what it says: 32 exchanges of 32 ranks in the place of one.
template <class Session>
concept GathersBytes = requires(Session session, std::span<std::byte> all) {
  session.gather(all);
};

/// Every process throws the problem of the first rank that has one; none throws where all is well.
///
/// Tested  run/agreement_test, backend/cpu_mpi_test, backend/cuda_files_test
template <class Session> void throw_first_everywhere(Session& session, int ranks, const std::optional<Error>& problem) {
  if constexpr (GathersBytes<Session>) {
    std::vector<ToldProblem> told(static_cast<std::size_t>(ranks), told_of(problem));
    session.gather(std::as_writable_bytes(std::span{told}));
    for (int r = 0; r < ranks; ++r)
      if (told[static_cast<std::size_t>(r)][0] != 0) throw_told(session, Rank{r}, told[static_cast<std::size_t>(r)], problem);
  } else {
    for (int r = 0; r < ranks; ++r) throw_everywhere(session, Rank{r}, problem);
  }
}

/// Whether some rank lives in another process.
template <class Session> [[nodiscard]] bool live_apart(const Session& session, int ranks) {
  for (int r = 0; r < ranks; ++r)
    if (!session.local(Rank{r})) return true;
  return false;
}

/// What an action throws that is no Error, as one: the other processes are told it. Memory is R14.
[[nodiscard]] inline Error as_error(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {Code{'R', 14}, "the system gives no memory for the parameters of the whole model. Fix: free memory, or raise the limit on it."};
  } catch (...) {
    return {Code{'R', 28}, "what has the parameters threw: " + words_of(thrown) + ". Fix: look there for what it says."};
  }
}

/// Does something in every process. If it throws in one of them, all throw that of the first rank, with its name where ranks are processes; in one
/// process alone it is thrown as it is, but for memory, which is R14 here as well.
///
/// Tested  run/agreement_test, backend/cpu_mpi_test
template <class Session, class Action> void in_every_process(Session& session, int ranks, Action action) {
  if (!live_apart(session, ranks)) {
    try {
      return action();
    } catch (const std::bad_alloc&) {
      throw as_error(std::current_exception());
    }
  }
  std::optional<Error> problem;
  try {
    action();
  } catch (...) {
    problem = as_error(std::current_exception());
    int own = 0;
    while (!session.local(Rank{own})) ++own;
    problem = Error(problem->code(), "rank " + std::to_string(own) + ": " + std::string{problem->words()});
  }
  throw_first_everywhere(session, ranks, problem);
}

/// The number must be the same in every process; odd(rank) is thrown in all of them where it is not.
///
/// Tested  run/agreement_test, backend/cpu_mpi_test
template <class Session, class Odd> void refuse_other_numbers(Session& session, int ranks, std::uint64_t number, Odd odd) {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(ranks), number);
  if constexpr (GathersBytes<Session>) {
    session.gather(std::as_writable_bytes(std::span{all}));
  } else {
    for (int r = 0; r < ranks; ++r) session.share(Rank{r}, std::as_writable_bytes(std::span{all}.subspan(static_cast<std::size_t>(r), 1)));
  }
  for (int r = 1; r < ranks; ++r)
    if (all[static_cast<std::size_t>(r)] != all[0]) throw odd(r);
}

}  // namespace heddle::run_room
