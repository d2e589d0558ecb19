// SPDX-License-Identifier: MIT
// Room: seams. What a running plan throws: one sentence with names, numbers and the remedy.
// Sees: core.  Does not see: memory, threads, compute, transport.
// In: a Diagnosis or a lost rank.  Out: Error, RankLost, NonFinite, positive_deadline, short_number, milliseconds_of, other_number_of_processes,
// fewer_cards.
#pragma once

#if defined(__GNUC__) && !defined(__EXCEPTIONS)
// A file that is not there ends the compilation: after #error the compilers go on, to every throw.
#include "[heddle.L08] What runs a plan throws, but exceptions are switched off. Fix: compile without -fno-exceptions; heddle.hpp alone needs none."
#endif

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/core/host_device.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/core/units.hpp"
#include "heddle/core/utf8.hpp"
#include "heddle/core/written.hpp"

namespace heddle::seams_room {

/// A sentence of any length, of a code and its words: sentence_of(Code{'D', 2}, "'a' is no file.") is "[heddle.D02] 'a' is no file.".
[[nodiscard]] inline std::string sentence_of(Code code, const std::string& words) { return std::string{label(code).view()} + words; }

/// Base of everything Heddle throws; what() is the whole sentence, "[heddle.D02] ... Fix: ...". Names from files stand in sentences, so each is
/// made printable: one line that no terminal obeys.
///
/// Tested  seams/error_test
class Error : public std::runtime_error {
 public:
  HEDDLE_COLD Error(Code code, const std::string& words) : std::runtime_error(sentence_of(code, printable(words))), code_(code) {}
  HEDDLE_COLD explicit Error(const Diagnosis& diagnosis) : std::runtime_error(printable(diagnosis.sentence().view())), code_(diagnosis.code) {}
  [[nodiscard]] Code code() const { return code_; }
  /// what() without its code: "row 3 of the batch ... Fix: ...".
  [[nodiscard]] std::string_view words() const { return std::string_view{what()}.substr(static_cast<std::size_t>(label(code_).length)); }

 private:
  Code code_;
};

/// A rank did not do its part: it threw, it ended, or it missed the deadline.
/// If rank 2 never sends, the text begins with "rank 2 was lost at receive from rank 2, sequence 7: ".
///
/// Errors  R01
/// Tested  seams/error_test, conformance/transport_threads_test
class RankLost : public Error {
 public:
  HEDDLE_COLD RankLost(Rank lost, std::string operation, std::int64_t sequence, const std::string& why)
      : Error(Code{'R', 1}, written({"rank ", lost.value, " was lost at ", operation, ", sequence ", sequence, ": ", why, remedy(lost, why)})),
        rank_(lost), operation_(std::move(operation)), sequence_(sequence) {}
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] const std::string& operation() const { return operation_; }
  [[nodiscard]] std::int64_t sequence() const { return sequence_; }

 private:
  /// A cause that is a sentence of Heddle has its remedy already; a longer deadline helps whoever has missed one.
  HEDDLE_COLD static std::string remedy(Rank lost, const std::string& why) {
    if (why.find("Fix: ") != std::string::npos) return {};
    const bool late = why.find("deadline") != std::string::npos;
    return written({". Fix: look at the first error of rank ", lost.value, (late ? ", or raise the deadline if it is only slow." : ".")});
  }
  Rank rank_;
  std::string operation_;
  std::int64_t sequence_;
};

/// The loss of a step is NaN or infinite; parameters are those before the step. If the loss of step 12 is NaN, step() is 12.
///
/// Errors  R02
/// Tested  seams/error_test
class NonFinite : public Error {
 public:
  HEDDLE_COLD NonFinite(std::int64_t step, const std::string& sentence) : Error(Code{'R', 2}, sentence), step_(step) {}
  [[nodiscard]] std::int64_t step() const { return step_; }

 private:
  std::int64_t step_;
};

/// The deadline itself.
///
/// Errors  R13 if it is 0 or below: every wait would have lost a rank before it began
/// Tested  seams/error_test
[[nodiscard]] inline std::chrono::nanoseconds positive_deadline(std::chrono::nanoseconds deadline) {
  if (deadline.count() <= 0)
    throw Error(Code{'R', 13},
                written({"the deadline is ", deadline.count(),
                         " ns, so every wait would be late before it began. Fix: give a time above 0, for example std::chrono::seconds{60}."}));
  return deadline;
}

/// A number as a sentence writes it, however small it is: 0.25, 1e-45. Nine digits tell any two floats apart.
///
/// Tested  seams/error_test
[[nodiscard]] HEDDLE_COLD inline std::string short_number(double number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.9g", number);
  return digits;
}
/// A time as a sentence writes it, in milliseconds: 1200 ms, 0.05 ms.
///
/// Tested  seams/error_test
[[nodiscard]] HEDDLE_COLD inline std::string milliseconds_of(std::chrono::nanoseconds time) {
  return short_number(static_cast<double>(time.count()) / 1e6) + " ms";
}

/// What an exception says; empty if there is none.
[[nodiscard]] HEDDLE_COLD inline std::string words_of(const std::exception_ptr& problem) {
  if (!problem) return {};
  try {
    std::rethrow_exception(problem);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

/// R03: MPI has started another number of processes than the plan has devices.
///
/// Tested  run/world_test
[[nodiscard]] HEDDLE_COLD inline Diagnosis other_number_of_processes(int devices, int processes) {
  const auto counted = [](int number, std::string_view one, std::string_view more) {
    return std::to_string(number).append(number == 1 ? one : more);
  };
  const std::string number = std::to_string(devices);
  return Diagnosis{Code{'R', 3}, ""} << "the plan has " << counted(devices, " device", " devices") << ", but MPI has started "
                                     << counted(processes, " process", " processes")
                                     << ", and each is one rank. Fix: start as many processes as devices: ./heddle run -np " << number
                                     << " PROGRAM, or mpirun -np " << number << " PROGRAM.";
}

/// R37: a plan whose devices are cards has more of them than there are.
///
/// Tested  run/doctor_test, backend/cuda_threads_test
[[nodiscard]] HEDDLE_COLD inline Diagnosis fewer_cards(int devices, int cards) {
  return Diagnosis{Code{'R', 37}, ""} << "the plan has " << devices << " devices, and this process sees " << cards
                                      << (cards == 1 ? " card" : " cards")
                                      << ". Fix: take a plan of as many devices, CudaOneCard, which puts all of them on one card, or look at "
                                         "CUDA_VISIBLE_DEVICES.";
}

}  // namespace heddle::seams_room

namespace heddle {
using HeddleError = seams_room::Error;
}  // namespace heddle

namespace heddle::extending {
using seams_room::NonFinite, seams_room::RankLost;
}  // namespace heddle::extending
