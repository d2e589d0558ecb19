// SPDX-License-Identifier: MIT
// A card of the emulator for one test.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "cuda_emulator/cuda_emulator.hpp"

namespace on_card {

/// The emulator is new when it is made. At its end nothing was wrong with what ran, and everything was given back.
struct Card {
  explicit Card(std::uint64_t seed = 1) : Card(cuda_emulator::Options{seed}) {}
  explicit Card(const cuda_emulator::Options& options) { cuda_emulator::reset(options); }
  ~Card() {
    for (const std::string& wrong : cuda_emulator::violations()) CHECK(wrong == "");
    CHECK(cuda_emulator::alive() == "");
  }
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;
};

}  // namespace on_card
