// SPDX-License-Identifier: MIT
#include "heddle/seams/error.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <type_traits>

using namespace heddle;

static_assert(std::is_base_of_v<std::runtime_error, Error>);
static_assert(std::is_base_of_v<Error, RankLost>);
static_assert(std::is_base_of_v<Error, NonFinite>);

TEST_CASE("an error says its code and its sentence") {
  const Error error{Code{'D', 2}, "'a' is no IDX file. Fix: give another."};
  CHECK(std::string{error.what()} == "[heddle.D02] 'a' is no IDX file. Fix: give another.");
  CHECK(error.words() == "'a' is no IDX file. Fix: give another.");
  CHECK(Error(error.code(), std::string{error.words()}).what() == std::string{error.what()});
  CHECK(error.code() == Code{'D', 2});
}

TEST_CASE("a diagnosis and an error of the same rule say the same words") {
  const Diagnosis found{Code{'B', 12}, "a batch of 63. Fix: take 64."};
  const Error thrown{found};
  CHECK(std::string{thrown.what()} == std::string{Error(Code{'B', 12}, "a batch of 63. Fix: take 64.").what()});
  CHECK(thrown.code() == found.code);
  CHECK(thrown.words() == "a batch of 63. Fix: take 64.");
}

TEST_CASE("a lost rank is named with its operation and sequence, and can be caught as an Error") {
  try {
    throw RankLost(Rank{3}, "receive from rank 2", 17, "it threw \"bad batch\"");
  } catch (const Error& error) {
    CHECK(std::string{error.what()} ==
          "[heddle.R01] rank 3 was lost at receive from rank 2, sequence 17: it threw \"bad batch\". Fix: look at the first error of rank 3.");
    CHECK(std::string{RankLost{Rank{3}, "receive from rank 2", 17, "it started nothing within the deadline of 50 ms"}.what()} ==
          "[heddle.R01] rank 3 was lost at receive from rank 2, sequence 17: it started nothing within the deadline of 50 ms. Fix: look at the first "
          "error of rank 3, or raise the deadline if it is only slow.");
    const auto* lost = dynamic_cast<const RankLost*>(&error);
    REQUIRE(lost != nullptr);
    CHECK(lost->rank() == Rank{3});
    CHECK(lost->operation() == "receive from rank 2");
    CHECK(lost->sequence() == 17);
  }
}

TEST_CASE("a lost rank whose cause is a sentence with a remedy has that remedy alone") {
  const Error cause{Code{'D', 7}, "63 floats are no whole rows. Fix: give whole rows."};
  CHECK(std::string{RankLost{Rank{1}, "step 2", 3, cause.what()}.what()} ==
        "[heddle.R01] rank 1 was lost at step 2, sequence 3: [heddle.D07] 63 floats are no whole rows. Fix: give whole rows.");
}

TEST_CASE("a sentence is one line, and what a file wrote into it commands no terminal") {
  const Error error{Code{'D', 29},
                    "there is no tensor '\x1b[2Ja\nb\xc2\x9b"
                    "2J\x9b\xc3\xa9'. Fix: load another."};
  CHECK(std::string{error.what()} == "[heddle.D29] there is no tensor '?[2Ja?b?2J?\xc3\xa9'. Fix: load another.");
  const RankLost lost{Rank{1}, "step 2", 3, "line\nbreak"};
  CHECK(std::string{lost.what()}.find("line?break") != std::string::npos);
}

TEST_CASE("a loss that is no number names its step") {
  const NonFinite error{12, "the loss of step 12 is nan. Fix: lower the learning rate."};
  CHECK(std::string{error.what()} == "[heddle.R02] the loss of step 12 is nan. Fix: lower the learning rate.");
  CHECK(error.step() == 12);
}

TEST_CASE("numbers in sentences are neither rounded to nothing nor to one another") {
  CHECK(short_number(0.25) == "0.25");
  CHECK(short_number(65536) == "65536");
  CHECK(short_number(1e-45) == "1e-45");
  CHECK(short_number(static_cast<double>(0.1F)) != short_number(static_cast<double>(std::nextafter(0.1F, 1.0F))));
}

TEST_CASE("a time is told in milliseconds, however short it is") {
  using namespace std::chrono_literals;
  CHECK((milliseconds_of(1200ms) == "1200 ms" && milliseconds_of(60s) == "60000 ms" && milliseconds_of(1h) == "3600000 ms"));
  CHECK((milliseconds_of(50us) == "0.05 ms" && milliseconds_of(1ns) == "1e-06 ms"));
}

TEST_CASE("a deadline of 0 or below is refused with its length") {
  using namespace std::chrono_literals;
  CHECK(positive_deadline(1ns) == 1ns);
  CHECK_THROWS_WITH_AS((void)positive_deadline(0s),
                       "[heddle.R13] the deadline is 0 ns, so every wait would be late before it began. Fix: give a time above 0, for example "
                       "std::chrono::seconds{60}.",
                       Error);
  CHECK_THROWS_WITH_AS((void)positive_deadline(-5us), doctest::Contains("the deadline is -5000 ns"), Error);
}
