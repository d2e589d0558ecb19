// SPDX-License-Identifier: MIT
#include "heddle/run/card_options.hpp"

#include <doctest/doctest.h>

using namespace heddle;
using run_room::CardOptions;

TEST_CASE("what processes compare names each word, and whether it was said") {
  CHECK(CardOptions{}.in_words().view() == "TF32=off;cuDNN=off;autotuned=off;");
  CHECK(CardOptions{.tf32 = true}.in_words().view() == "TF32=on;cuDNN=off;autotuned=off;");
  CHECK(CardOptions{.autotunes = true}.in_words().view() == "TF32=off;cuDNN=off;autotuned=on;");
}
