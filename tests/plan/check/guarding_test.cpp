// SPDX-License-Identifier: MIT
#include "heddle/plan/check/guarding.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "heddle/plan/check/check.hpp"
#include "heddle/plan/read/program_hash.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/flow.hpp"
#include "plan/plans.hpp"
#include "says.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class Policy, class... Options> using Safe = Trained<Chain, Policy, Guarded, Options...>;
using Products = Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>, DataParallel<2>>;
using All = Safe<Products>;

auto about_the_flag(const Program& p) {
  return [&p](const Instruction& line) { return line.op == ListOp::guard || line.op == ListOp::skip || tells(p, line, place_of_guard(p)); };
}
/// Reductions of the flag of the loss over an axis, starts and waits, in all lists.
int over(const Program& p, Axis a) {
  return static_cast<int>(std::count_if(p.instructions, p.instructions + p.lists[p.roles - 1].end,
                                        [&](const Instruction& line) { return tells(p, line, place_of_guard(p)) && line.axis == a; }));
}
std::ptrdiff_t line_of(const std::vector<Instruction>& list, ListOp op) {
  return std::find_if(list.begin(), list.end(), [&](const Instruction& line) { return line.op == op; }) - list.begin();
}
/// What a plan moves along an axis before a step.
Bytes told(const Program& p, Axis a) {
  std::int64_t floats = 0;
  for (int c = 0; c < p.collective_count; ++c)
    if (p.collectives[c].purpose == Purpose::norm && p.collectives[c].axis == a) floats += p.collectives[c].elements;
  return Bytes{4 * floats};
}

}  // namespace

TEST_CASE("the flag of the loss is reduced over the axes that split the batch and over stages, and not among ranks that share a loss") {
  CHECK(over(training_of<Safe<Single>>(), axis::stage) == 0);
  CHECK(over(training_of<Safe<DataParallel<2>>>(), axis::data) == 2);
  CHECK(over(training_of<Safe<Sharded<2, OptimizerState>>>(), axis::shard) == 2);
  CHECK(over(training_of<Safe<TensorParallel<2>>>(), axis::tensor) == 0);
  CHECK(over(training_of<Safe<Hybrid<TensorParallel<2>, DataParallel<2>>>>(), axis::data) == 2);
  for (const Axis a : {axis::shard, axis::stage, axis::data}) CHECK(over(training_of<All>(), a) == 4);
  CHECK(check_guarding(training_of<All>()).ok());
  CHECK(check(training_of<All>()).ok());
}

TEST_CASE("along an axis goes one collective with all that differs along it: the flag alone, the norm alone, or both") {
  const Program& p = training_of<Safe<Hybrid<Sharded<2>, DataParallel<2>, TensorParallel<2>>, Clip<GlobalNorm>, LossScaling>>();
  CHECK(p.norm_floats() == 3 + 2);  // three units
  CHECK(told(p, axis::shard) == Bytes{4 * 5});
  CHECK(told(p, axis::data) == Bytes{4});
  CHECK(told(p, axis::tensor) == Bytes{4 * 4});
  for (const Axis a : {axis::shard, axis::data, axis::tensor})
    CHECK(std::count_if(p.collectives, p.collectives + p.collective_count,
                        [&](const Collective& c) { return c.purpose == Purpose::norm && c.axis == a; }) == 1);
  CHECK(check(p).ok());
  CHECK(check(training_of<Safe<TensorParallel<2>, Clip<GlobalNorm>>>()).ok());
  CHECK(traffic<Safe<DataParallel<4>>>().norm().total_payload == Bytes{2 * 3 * 4});
  CHECK(traffic<Safe<Single>>().norm().total_payload == Bytes{0});
  CHECK(peak_memory<Safe<Single>>() == peak_memory<Trained<Chain, Single>>() + Bytes{64});  // a line for the flag
}

TEST_CASE("any one line about the flag that is missing or stands twice is found, alone, with a norm, and with a scale") {
  for (const Program* p : {&training_of<All>(), &training_of<Safe<Products, Clip<GlobalNorm>>>(), &training_of<Safe<Products, LossScaling>>()}) {
    Copy copy{*p};
    int changed = 0;
    for (auto& list : copy.lists)
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (!about_the_flag(*p)(list[i])) continue;
        CAPTURE(i);
        const Instruction line = list[i];
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        CHECK(check_guarding(copy.view()).code == Code{'S', 21});
        CHECK_FALSE(check(copy.view()).ok());
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), 2, line);
        CHECK(check_guarding(copy.view()).code == Code{'S', 21});
        CHECK_FALSE(check(copy.view()).ok());
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        ++changed;
      }
    CHECK(changed == 2 * 8);
    CHECK(check_guarding(copy.view()).ok());
  }
}

TEST_CASE("a flag over one axis too many, found before the last loss, or after a step is found") {
  Copy copy{training_of<All>()};
  for (std::size_t role = 0; role < 2; ++role) {
    auto& list = copy.lists[role];
    const auto refused = [&] { return check_guarding(copy.view()); };
    const auto guard = line_of(list, ListOp::guard);
    Instruction wrong = list[static_cast<std::size_t>(guard) + 1];
    wrong.axis = axis::stage;
    list.insert(list.begin() + guard + 1, wrong);
    CHECK_FALSE(refused().ok());
    list.erase(list.begin() + guard + 1);
    std::ptrdiff_t last = guard - 1;
    while (list[static_cast<std::size_t>(last)].op != ListOp::backward) --last;
    std::rotate(list.begin() + last, list.begin() + guard, list.begin() + guard + 1);
    CHECK(says(refused(), "looks at its losses before its last compute or transfer"));
    std::rotate(list.begin() + last, list.begin() + last + 1, list.begin() + guard + 1);
    CHECK(refused().ok());
    const auto step = line_of(list, ListOp::step);
    std::rotate(list.begin(), list.begin() + step, list.begin() + step + 1);
    CHECK(says(refused(), "steps before the flag of the loss is known"));
    std::rotate(list.begin(), list.begin() + 1, list.begin() + step + 1);
    CHECK(refused().ok());
  }
}

TEST_CASE("S17 follows the flag too: before the loss is made, over an axis along which it is no term, and clipping before the decision") {
  Copy copy{training_of<Safe<DataParallel<2>, Clip<GlobalNorm>>>()};
  auto& list = copy.lists[0];
  const auto guard = line_of(list, ListOp::guard), skip = line_of(list, ListOp::skip), clip = line_of(list, ListOp::clip);
  const auto found = [&] { return std::string{followed(copy.view()).sentence().view()}; };
  CHECK(found() == "");
  std::swap(list[static_cast<std::size_t>(skip)], list[static_cast<std::size_t>(clip)]);
  CHECK(found().find("device 0 clips before it knows whether to skip") != std::string::npos);
  std::swap(list[static_cast<std::size_t>(skip)], list[static_cast<std::size_t>(clip)]);
  std::rotate(list.begin(), list.begin() + guard, list.begin() + guard + 1);
  CHECK(found().find("device 0 looks at its losses before they are made") != std::string::npos);
  std::rotate(list.begin(), list.begin() + 1, list.begin() + guard + 1);
  const Instruction line = list[static_cast<std::size_t>(guard)];
  list.erase(list.begin() + guard);
  CHECK(found().find("device 0 reduces the flag of the loss before it is found, over axis data") != std::string::npos);
  list.insert(list.begin() + guard, 2, line);
  CHECK(found().find("device 0 looks at its losses another time") != std::string::npos);
}

TEST_CASE("a plan that is not guarded has no such lines and the hash that it had; a guarded one is another program") {
  const Program& p = training_of<Trained<Chain, Products>>();
  CHECK_FALSE(p.guards);
  CHECK(std::none_of(p.instructions, p.instructions + p.lists[p.roles - 1].end,
                     [](const Instruction& line) { return line.op == ListOp::guard || line.op == ListOp::skip; }));
  CHECK(check_guarding(p).ok());
  CHECK(program_hash(p) != program_hash(training_of<All>()));
  Program changed = training_of<All>();
  changed.guards = false;
  CHECK(program_hash(changed) != program_hash(training_of<All>()));
  CHECK(check_guarding(evaluation_of<All>()).ok());
}
