// SPDX-License-Identifier: MIT
#include "heddle/plan/read/advice_report.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("a report has the codes of its remarks, in the order in which they were added, and leaves out what is too much") {
  AdviceReport report;
  CHECK((report.empty() && !report.has(Code{'A', 3})));
  for (int i = 0; i < AdviceReport::most_remarks + 2; ++i) report.add(Diagnosis{Code{'A', 1 + i % 9}, "a remark."});
  CHECK((report.count == AdviceReport::most_remarks && report.has(Code{'A', 3}) && !report.has(Code{'B', 3})));
  int number = 0;
  for (const Diagnosis& d : report) CHECK(d.code.number == 1 + number++ % 9);
  CHECK(number == report.count);
}

TEST_CASE("of a refused plan there are no remarks, and what is asked about them compares as true") {
  constexpr RefusedAdvice advice{};
  static_assert(advice.empty() && !advice.empty() && advice.has(Code{'A', 3}) && !advice.has(Code{'A', 3}) && advice.count == 5);
  const AdviceReport& taken = advice;
  CHECK((taken.empty() && taken.begin() == taken.end()));
}
