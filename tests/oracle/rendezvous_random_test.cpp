// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>

#include "oracle/schedules.hpp"

using namespace heddle;
using namespace heddle::tests;

TEST_CASE("random programs, sound and with a slip of the hand, get the verdict that they have under random timing") {
  Random random{172668};
  Agreement agreement;
  for (int n = 0; n < 40000; ++n) {
    RoleLists lists = random_lists(random);
    if (n % 3 == 2) corrupt(lists, all_slips[static_cast<std::size_t>(n / 3 % 6)], random);
    agreement.compare(lists, random);
  }
  MESSAGE(agreement.pairs << " program and lane pairs: " << agreement.ended << " end, " << agreement.stuck << " deadlock, " << agreement.mismatched
                          << " do not match");
  CHECK(agreement.pairs >= 120000);
  CHECK(agreement.disagreements == 0);
  CHECK(agreement.ended > 7000);  // each kind of verdict is among them
  CHECK(agreement.stuck > 7000);
  CHECK(agreement.mismatched > 7000);
}

TEST_CASE("a check that leaves out a class of edges errs: every class is needed") {
  Random random{11};
  Agreement agreement;
  for (int n = 0; n < 6000; ++n) agreement.compare(random_lists(random), random);
  const std::string names[] = {"", "program order", "send start", "receive start", "send wait", "receive wait", "lane order"};
  for (int edge = 1; edge <= 6; ++edge) {
    CAPTURE(names[edge]);
    MESSAGE("without " << names[edge] << ": " << agreement.wrong_without[edge] << " of " << agreement.pairs / 8 << " verdicts are wrong");
    CHECK(agreement.wrong_without[edge] > 0);
  }
  CHECK(agreement.disagreements == 0);
}

TEST_CASE("fewer lanes only add edges: what ends on one lane ends on one a pair, and that on free lanes") {
  Random random{479};
  int one = 0, pairs = 0, free = 0;
  for (int n = 0; n < 3000; ++n) {
    const RoleLists lists = random_lists(random);
    const bool on_one = verdict(lists, Lanes::one_per_device) == 0;
    const bool on_pairs = verdict(lists, Lanes::per_communicator) == 0;
    const bool on_free = verdict(lists, Lanes::free) == 0;
    if (on_one) CHECK(on_pairs);
    if (on_pairs) CHECK(on_free);
    one += on_one;
    pairs += on_pairs;
    free += on_free;
  }
  CHECK(one < pairs);  // and each step is a real one
  CHECK(pairs < free);
}
