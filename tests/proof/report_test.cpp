// SPDX-License-Identifier: MIT
#include "heddle/proof/report.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("a proof is one line: what was compared, how often, and how likely a wrong plan passes") {
  Proof proof;
  proof.plan = "DataParallel<4>";
  proof.devices = 4;
  proof.steps = 3;
  proof.draws = 6;
  proof.modulus = 2139095017;
  proof.log2_of_bound = -41.3;
  proof.hash = proof.hash_alone = 0x91d8f0a1b2c3d4e5;
  CHECK(proof.line() ==
        "DataParallel<4>: 4 devices, hash 91d8f0a1b2c3d4e5 as one device, 3 steps, 6 draws modulo 2139095017, a wrong plan passes with probability "
        "below 2^-41");
  CHECK(proof);
  proof.log2_of_bound = -1.4;
  CHECK(proof.ok());
  CHECK(proof.bounded());
  CHECK_FALSE(proof);  // too few draws were allowed for what is promised
  CHECK(proof.line().find("below 2^-1, but 2^-40 is promised: allow more draws in most_draws") != std::string::npos);
  proof.log2_of_bound = -40;
  CHECK_FALSE(proof);
  proof.log2_of_bound = 0;
  CHECK(proof.ok());
  CHECK_FALSE(proof.bounded());
  CHECK_FALSE(proof);  // nothing differs, but nothing is proved either
  proof.devices = 1;
  CHECK(proof.line().find("DataParallel<4>: 1 device, ") == 0);
  CHECK(proof.line().find("no bound: the model with its batch is too large") != std::string::npos);
  proof.text = "[heddle.R31] it differs.";
  proof.hash = 1;
  CHECK_FALSE(proof);
  CHECK(proof.line().find("hash 0000000000000001 unlike one device") != std::string::npos);
  CHECK(proof.line().find(". [heddle.R31] it differs.") != std::string::npos);
}
