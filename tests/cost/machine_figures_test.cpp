// SPDX-License-Identifier: MIT
#include "heddle/cost/machine_figures.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <type_traits>

#include "heddle/heddle.hpp"

using namespace heddle;

TEST_CASE("every figure has a name of its own, and together they are the Machine") {
  constexpr Machine source{.alpha = 1,
                           .beta = 2,
                           .per_flop = 3,
                           .per_bfloat16_flop = 4,
                           .per_memory_byte = 5,
                           .per_call = 6,
                           .per_message = 7,
                           .per_collective = 8,
                           .gamma = 9,
                           .acknowledgement = 10,
                           .memory_aside = 0.5,
                           .overlaps = false,
                           .efficiency = {{{11, 0.1}}},
                           .narrow = {{{12, 0.2}}},
                           .attention = {{{13, 0.3}}},
                           .cached = {{{14, 4}}},
                           .collectives = CollectiveAlgorithm::shared_memory,
                           .levels = {{8, 15, 16}},
                           .speeds = {{17, 18, 0.9}},
                           .layers = {{"GELU", 19, 20}},
                           .memory = 21_B,
                           .devices = 22};
  Machine copied;
  std::set<std::string_view> names;
  int figures = 0;
  each_figure(source, [&](std::string_view name, const auto& figure) {
    names.insert(name);
    ++figures;
    each_figure(copied, [&](std::string_view other, auto& place) {
      if constexpr (std::is_same_v<decltype(figure), std::add_const_t<std::remove_reference_t<decltype(place)>>&>) {
        if (name != other) return;
        if constexpr (std::is_array_v<std::remove_reference_t<decltype(place)>>)
          std::copy(std::begin(figure), std::end(figure), std::begin(place));
        else
          place = figure;
      }
    });
  });
  CHECK(static_cast<int>(names.size()) == figures);
  CHECK(copied == source);
}

TEST_CASE("the parts of an entry come in the order of its members, and a list ends with what says something") {
  double sum = 0;
  LayerRate rate{"GELU", 3, 5};
  each_part(rate, [&](auto& part) {
    if constexpr (std::is_same_v<decltype(part), double&>) sum = 10 * sum + part;
  });
  CHECK(sum == 35);
  constexpr Machine machine{.levels = {{2, 1, 1}, {4, 1, 1}}};
  static_assert(entries_of(machine.levels) == 2 && entries_of(machine.speeds) == 0);
}

TEST_CASE("every way to sum has words of its own in files and in C++, and nothing lies behind the last") {
  std::set<std::string_view> words;
  int count = 0;
  for (; !words_of(static_cast<CollectiveAlgorithm>(count)).in_files.empty(); ++count) {
    words.insert(words_of(static_cast<CollectiveAlgorithm>(count)).in_files);
    CHECK(words_of(static_cast<CollectiveAlgorithm>(count)).in_code.find(' ') == std::string_view::npos);
  }
  CHECK(static_cast<int>(words.size()) == count);
  CHECK(count == static_cast<int>(CollectiveAlgorithm::shared_memory) + 1);
}
