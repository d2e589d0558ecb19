// SPDX-License-Identifier: MIT
#include "heddle/report/fixed_point.hpp"

#include <doctest/doctest.h>

#include <clocale>
#include <cmath>
#include <cstdlib>

using namespace heddle;

TEST_CASE("decimals are rounded to the nearest, and what rounds to 0 has no sign") {
  CHECK(fixed_point(12.345, 1) == "12.3");
  CHECK(fixed_point(0.05, 2) == "0.05");
  CHECK(fixed_point(-0.996, 2) == "-1.00");
  CHECK(fixed_point(-0.001, 2) == "0.00");
  CHECK(fixed_point(2.5, 0) == "3");
  CHECK(fixed_point(1e300, 3) == "9000000000000000.000");
  CHECK(trimmed_point(2.50, 2) == "2.5");
  CHECK(trimmed_point(-2, 2) == "-2");
  CHECK(trimmed_point(200, 0) == "200");
  CHECK(percent_words(0.2727) == "27.3 %");
}

TEST_CASE("decimals are read back as the number they are, and have a point in every locale") {
  const char* const before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* const comma : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"})
    if (std::setlocale(LC_NUMERIC, comma) != nullptr) break;  // where the machine has none of them, the C locale stays
  CHECK(fixed_point(1234.5, 1) == "1234.5");
  std::setlocale(LC_NUMERIC, before);
  for (int i = -1000; i <= 1000; ++i) CHECK(std::abs(std::strtod(fixed_point(i / 7.0, 3).c_str(), nullptr) - i / 7.0) <= 0.0005);
}

TEST_CASE("times have the prefix that leaves 1 to 999 before the point, or a unit of one's own") {
  CHECK(TimeUnit{}.words(12.34) == "12.3 s");
  CHECK(TimeUnit{}.words(0.01234) == "12.3 ms");
  CHECK(TimeUnit{}.words(0.000999) == "999 us");
  CHECK(TimeUnit{}.words(2e-9) == "2 ns");
  CHECK(TimeUnit{}.words(0) == "0 s");
  CHECK(TimeUnit{"forwards", 0.004}.words(0.132) == "33 forwards");
}

TEST_CASE("ticks are 1, 2 or 5 of a power of ten apart, no more than asked for, and begin at 0") {
  CHECK(Ticks{33, 6}.step == doctest::Approx(10));
  CHECK(Ticks{33, 6}.count == 4);
  CHECK(Ticks{33, 6}.label(3) == "30");
  CHECK(Ticks{0.7, 8}.label(3) == "0.3");
  CHECK(Ticks{0, 8}.count == 1);
  for (double end = 1e-9; end < 1e9; end *= 1.37)
    for (int most = 2; most < 12; ++most) {
      const Ticks ticks{end, most};
      CAPTURE(end);
      CHECK(ticks.count <= most);
      CHECK(ticks.count >= 1);
      CHECK(ticks.at(ticks.count - 1) <= end * (1 + 1e-6));
      const double digit = ticks.step / std::pow(10.0, std::floor(std::log10(ticks.step) + 1e-9));
      CHECK((std::abs(digit - 1) < 1e-6 || std::abs(digit - 2) < 1e-6 || std::abs(digit - 5) < 1e-6));
    }
}

TEST_CASE("ticks of an axis that begins elsewhere lie between its ends") {
  const Ticks ticks{-0.3, 0.5, 6};
  CHECK(ticks.step == doctest::Approx(0.2));
  CHECK(ticks.count == 4);
  CHECK(ticks.label(0) == "-0.2");
  CHECK(ticks.label(1) == "0.0");
  CHECK(ticks.label(3) == "0.4");
  CHECK(Ticks{2.25, 2.5, 4}.label(0) == "2.3");
  CHECK(Ticks{100'000, 200'000, 6}.label(1) == "120000");
  CHECK(Ticks{5, 5, 6}.count == 1);
}
