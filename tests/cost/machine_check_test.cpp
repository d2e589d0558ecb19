// SPDX-License-Identifier: MIT
#include "heddle/cost/machine_check.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <utility>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

std::string words(const Machine& machine) { return std::string{check(machine).sentence().view()}; }
using Small = Plan<Sequential<Linear<16, 16>>, MeanSquaredError, SGD, Batch<8>, DataParallel<4>>;

}  // namespace

TEST_CASE("a figure has three digits") {
  const std::pair<double, const char*> figures[] = {
      {0, "0"},       {1, "1"},       {-0.5, "-0.5"},   {0.25, "0.25"}, {1.25e-9, "1.25e-9"}, {3e8, "3e8"}, {2250e12, "2.25e15"},
      {17.3, "17.3"}, {1024, "1020"}, {0.051, "0.051"}, {9.996, "10"},  {1e300, "1e300"},     {123, "123"}, {0.00123, "1.23e-3"}};
  for (const auto& [x, said] : figures) CHECK(std::string{figure_of(x).view()} == said);
  CHECK(figure_of(std::numeric_limits<double>::infinity()).view() == "infinite");
  CHECK(figure_of(std::numeric_limits<double>::quiet_NaN()).view() == "no number");
}

TEST_CASE("what is free is sound, what is negative, infinite or no number is not") {
  static_assert(check(Machine{}).ok() && check(Machine{0, 0, 0}).ok());
  CHECK(words(Machine{.beta = -1e-9}) == "[heddle.M16] a Machine has beta -1e-9. Fix: give it a number from 0 to 1e9; 0 takes no time.");
  CHECK(words(Machine{.alpha = each_of(0)}) == "[heddle.M16] a Machine has alpha infinite. Fix: give it a number from 0 to 1e9; 0 takes no time.");
  CHECK(words(Machine{.per_flop = std::numeric_limits<double>::quiet_NaN()}).find("per_flop no number") != std::string::npos);
  for (const Machine& machine :
       {Machine{.per_bfloat16_flop = -1}, Machine{.per_memory_byte = -1}, Machine{.per_call = -1}, Machine{.per_message = -1},
        Machine{.per_collective = -1}, Machine{.gamma = -1}, Machine{.acknowledgement = -1}, Machine{.memory = Bytes{-1}}, Machine{.devices = -1},
        Machine{.levels = {{8, -1, 0}}}, Machine{.levels = {{8, 0, -1}}}})
    CHECK(check(machine).code == Code{'M', 16});
}

TEST_CASE("what would make a step no number is refused, and so is what nobody reads") {
  CHECK(words(Machine{.alpha = 1.7e308}) == "[heddle.M16] a Machine has alpha 1.7e308. Fix: give it a number from 0 to 1e9; 0 takes no time.");
  CHECK(words(Machine{.efficiency = {{{1e6, 5e-324}}}}).find("[heddle.M16] a Machine has an efficiency of ") == 0);
  const std::string behind = " behind an empty entry, which ends the list. Fix: leave no entry empty before it.";
  CHECK(words(Machine{.efficiency = {{{0, 1}, {1e9, 0.4}}}}) == "[heddle.M16] a Machine has an efficiency" + behind);
  CHECK(words(Machine{.efficiency = {{{1e6, 0.4}, {0, 1}, {1e9, 0.8}}}}) == "[heddle.M16] a Machine has an efficiency" + behind);
  Machine gap;
  gap.levels[1] = {8, 1e-6, 1e-9};
  CHECK(words(gap) == "[heddle.M16] a Machine has a level" + behind);
  CHECK(words(Machine{.efficiency = {{{0, 0.4}, {1e9, 0.8}}}, .memory = 80_GB}) == "");
}

TEST_CASE("a share, a speed and a level are above 0, and lists are in order") {
  CHECK(words(Machine{.efficiency = {{{1e6, 0}}}}) == "[heddle.M16] a Machine has an efficiency of 0. Fix: give it a number from 1e-9 to 1e9.");
  CHECK(words(with_speed(Machine{}, 2, 2, 0)) == "[heddle.M16] a Machine has a speed of 0. Fix: give it a number from 1e-9 to 1e9.");
  CHECK(words(Machine{.speeds = {{3, 1, 0.5}}}) ==
        "[heddle.M16] a Machine has a speed for ranks 3 to 1. Fix: name ranks from 0 on, in at most 16 entries.");
  CHECK(
      words(Machine{.levels = {{8, 1, 1}, {12, 1, 1}}}) ==
      "[heddle.M16] a Machine has a level of 12 ranks behind one of 8. Fix: list levels from the smallest on, each of a multiple of the one before.");
  CHECK(check(Machine{.levels = {{-8, 1, 1}}}).code == Code{'M', 16});
  CHECK(check(Machine{.levels = {{0, 1, 1}}}).code == Code{'M', 16});
  CHECK(words(Machine{.efficiency = {{{4096, 0.5}, {1024, 0.2}}}}).find("at 1020 flops behind one at 4100") != std::string::npos);
  CHECK(words(Machine{.attention = {{{4096, 0.5}, {1024, 0.2}}}}).find("at 1020 flops behind one at 4100") != std::string::npos);
  CHECK(check(Machine{.levels = {{8, 1, 1}, {64, 2, 2}}}).ok());
}

TEST_CASE("rates of layers are of kinds with names, each once, and none is negative") {
  CHECK(check(Machine{.layers = {{"GELU", 1e-9, 0}, {"CrossEntropy", 0, 0}}}).ok());
  CHECK(words(Machine{.layers = {{"GELU", -1, 0}}}) ==
        "[heddle.M16] a Machine has a layer with forward -1. Fix: give it a number from 0 to 1e9; 0 takes no time.");
  CHECK(words(Machine{.layers = {{"GELU", 1, 0}, {"ReLU", 1, 1}, {"GELU", 2, 0}}}) ==
        "[heddle.M16] a Machine has two rates of GELU. Fix: leave one.");
  CHECK(words(Machine{.layers = {{"", 1, 0}}}) ==
        "[heddle.M16] a Machine has a rate of layers behind an empty entry, which ends the list. Fix: leave no entry empty before it.");
  CHECK(check(Machine{.layers = {{"GELU", 1, 0}, {}, {"ReLU", 1, 1}}}).code == Code{'M', 16});
}

TEST_CASE("the share of memory's time that passes beside computing is one, and narrow products have shares in order") {
  CHECK(check(Machine{.memory_aside = 0}).ok());
  CHECK(words(Machine{.memory_aside = 1.5}) == "[heddle.M16] a Machine has memory_aside 1.5. Fix: give it a number from 0 to 1; 0 takes no time.");
  CHECK(check(Machine{.narrow = {{{64, 1}, {8, 0.5}}}}).code == Code{'M', 16});
}

TEST_CASE("speeds beyond the room for them are refused, not forgotten") {
  Machine machine;
  for (int r = 0; r < Machine::most_speeds; ++r) machine = with_speed(machine, r, r, 0.5);
  CHECK(check(machine).ok());
  CHECK(check(with_speed(machine, 16, 16, 0.5)).code == Code{'M', 16});
}

TEST_CASE("a plan may be larger than the machine, in devices or in memory") {
  CHECK(check(Machine{.devices = 4}, Small::training).ok());
  CHECK(std::string{check(Machine{.devices = 2}, Small::training).sentence().view()} ==
        "[heddle.M17] a plan has 4 devices, the Machine 2. Fix: use a plan of fewer devices, or a larger Machine.");
  const Bytes needed{Small::training.arenas[0].total};
  CHECK(check(Machine{.memory = needed}, Small::training).ok());
  CHECK(check(Machine{.memory = needed - 1_B}, Small::training).code == Code{'M', 17});
  CHECK(check(Machine{.alpha = -1, .devices = 1}, Small::training).code == Code{'M', 16});
}
