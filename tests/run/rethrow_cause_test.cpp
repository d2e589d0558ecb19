// SPDX-License-Identifier: MIT
#include "heddle/run/rethrow_cause.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

using namespace heddle;

namespace {

struct Failed {
  std::vector<std::exception_ptr> errors;
  [[nodiscard]] std::exception_ptr error(int rank) const { return errors[static_cast<std::size_t>(rank)]; }
  void rethrow_first() const {
    for (const auto& error : errors)
      if (error) std::rethrow_exception(error);
  }
};

std::string cause_of(std::vector<std::exception_ptr> errors) {
  const Failed session{std::move(errors)};
  StepInput input;
  input.step = 7;
  try {
    rethrow_cause(
        session, static_cast<int>(session.errors.size()), input, [](int rank) { return "place " + std::to_string(rank); },
        [&](int rank) { return "the loss threw: " + words_of(session.error(rank)) + ". Fix: it."; },
        [] { return std::string{"; it begins there. Fix: that."}; });
  } catch (const Error& error) {
    return error.what();
  }
}

template <class Problem> std::exception_ptr thrown(Problem problem) { return std::make_exception_ptr(problem); }
const auto survivor = thrown(RankLost{Rank{1}, "receive from rank 1", 3, "it threw"});

}  // namespace

TEST_CASE("the rank that began it is named, not those that lost it") {
  CHECK(cause_of({survivor, thrown(std::runtime_error{"no more"}), survivor}) ==
        "[heddle.R01] rank 1 was lost at place 1, sequence 7: the loss threw: no more. Fix: it.");
  CHECK(cause_of({survivor, thrown(42)}).find("an exception that is no std::exception") != std::string::npos);
  CHECK(cause_of({nullptr, survivor}).find("receive from rank 1, sequence 3") != std::string::npos);
}

TEST_CASE("an error of Heddle keeps its words, and one that is not finite says where it begins") {
  CHECK(cause_of({survivor, thrown(Error{Code{'D', 8}, "a label. Fix: it."})}) == "[heddle.D08] a label. Fix: it.");
  CHECK(cause_of({survivor, thrown(NonFinite{7, "the loss is NaN"})}) == "[heddle.R02] the loss is NaN; it begins there. Fix: that.");
}
