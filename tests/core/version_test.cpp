// SPDX-License-Identifier: MIT
#include "heddle/core/version.hpp"

#include <doctest/doctest.h>

#include <string>

TEST_CASE("the version of the header is the version of the project") {
  const auto version =
      std::to_string(heddle::version_major) + "." + std::to_string(heddle::version_minor) + "." + std::to_string(heddle::version_patch);
  CHECK(version == HEDDLE_PROJECT_VERSION);
}
