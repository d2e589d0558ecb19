// SPDX-License-Identifier: MIT
// A small network and its rows, and cards of the emulator: what tests of the pairings on cards share.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/heddle.hpp"
#include "heddle/run/examples.hpp"

namespace plans_on_cards {

using namespace heddle;

struct Net : Sequential<Linear<20, 16>, ReLU, Linear<16, 10>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, AdamW, Batch<16, KeepLast>, Grain<2>, Parts...>;

struct Rows {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  explicit Rows(int rows, int seed = 0) {
    for (int i = 0; i < rows * 20; ++i) inputs.push_back(static_cast<float>((37 * i + 11 * seed) % 127) / 128.0F);
    for (int i = 0; i < rows; ++i) labels.push_back((7 * i + seed) % 10);
  }
  [[nodiscard]] auto batch() const { return examples(inputs, labels, 20); }
};

/// Cards that nothing of another test has touched; what the emulator found wrong is asked at the end.
struct Cards {
  explicit Cards(cuda_emulator::Options options = {}) { cuda_emulator::reset(options); }
  Cards(const Cards&) = delete;
  Cards& operator=(const Cards&) = delete;
  ~Cards() {
    for (const std::string& violation : cuda_emulator::violations()) {
      CAPTURE(cuda_emulator::failed_call());
      CHECK(violation == "");
    }
    CHECK(cuda_emulator::alive() == "");
  }
};
template <class Call> std::string said(Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace plans_on_cards
