// SPDX-License-Identifier: MIT
// Room: tests. Models for which plans are searched: small enough that each candidate can be simulated, and of layers that every axis splits.
// Sees: graph, cost/search.  Does not see: processes, threads.
#pragma once

#include <heddle/heddle.hpp>

#include "heddle/cost/search/searched_model.hpp"

namespace heddle::tests {

struct SearchedBlock : Residual<LayerNorm<16>, Linear<16, 64>, GELU, Linear<64, 16>> {};
struct Searched : Sequential<Linear<16, 16>, Repeat<8, SearchedBlock>, Linear<16, 8>> {};

[[nodiscard]] inline const SearchedModel& small_model() {
  static const SearchedModel model = searched_model<Searched, CrossEntropy, Adam>();
  return model;
}

}  // namespace heddle::tests
