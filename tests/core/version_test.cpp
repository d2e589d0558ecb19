// SPDX-License-Identifier: MIT
#include "heddle/core/version.hpp"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("the version of the header is the version of the project") {
  const auto version = std::to_string(HEDDLE_VERSION_MAJOR) + "." + std::to_string(HEDDLE_VERSION_MINOR) + "." + std::to_string(HEDDLE_VERSION_PATCH);
  CHECK(version == HEDDLE_PROJECT_VERSION);
}

TEST_CASE("the preprocessor compares versions as one number") {
#if HEDDLE_VERSION >= 1000 && HEDDLE_VERSION < 1000000000
  CHECK(HEDDLE_VERSION / 1000000 == HEDDLE_VERSION_MAJOR);
  CHECK(HEDDLE_VERSION / 1000 % 1000 == HEDDLE_VERSION_MINOR);
  CHECK(HEDDLE_VERSION % 1000 == HEDDLE_VERSION_PATCH);
#else
  FAIL("HEDDLE_VERSION is no number");
#endif
}
