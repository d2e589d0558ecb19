// SPDX-License-Identifier: MIT
#include "heddle/plan/check/loss_scaling.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "heddle/plan/check/check.hpp"
#include "heddle/plan/read/program_hash.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"
#include "says.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class Policy, class... Options> using Scaled = Trained<Chain, Policy, LossScaling, Options...>;
using Products = Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>, DataParallel<2>>;
using Both = Scaled<Products>;

auto about_the_flag(const Program& p) {
  return [&p](const Instruction& line) { return line.op == ListOp::unscale || line.op == ListOp::skip || p.moves(line, Purpose::norm); };
}
/// Reductions of the flag over an axis, starts and waits, in all lists.
int over(const Program& p, Axis a) {
  return static_cast<int>(std::count_if(p.instructions, p.instructions + p.lists[p.roles - 1].end,
                                        [&](const Instruction& line) { return p.moves(line, Purpose::norm) && line.axis == a; }));
}
std::ptrdiff_t line_of(const std::vector<Instruction>& list, ListOp op) {
  return std::find_if(list.begin(), list.end(), [&](const Instruction& line) { return line.op == op; }) - list.begin();
}

}  // namespace

TEST_CASE("the flag is reduced over exactly the axes along which ranks hold different gradients (Megatron-Bridge PR #5591)") {
  CHECK(over(training_of<Scaled<Single>>(), axis::stage) == 0);
  CHECK(over(training_of<Scaled<DataParallel<2>>>(), axis::data) == 0);
  CHECK(over(training_of<Scaled<Sharded<2, OptimizerState>>>(), axis::shard) == 2);
  CHECK(over(training_of<Scaled<Sharded<2, Gradients>>>(), axis::shard) == 2);
  CHECK(over(training_of<Scaled<TensorParallel<2>>>(), axis::tensor) == 2);
  CHECK(over(training_of<Both>(), axis::shard) == 4);
  CHECK(over(training_of<Both>(), axis::stage) == 4);
  CHECK(over(training_of<Both>(), axis::data) == 0);
  CHECK(check_loss_scaling(training_of<Both>()).ok());
  CHECK(check(training_of<Both>()).ok());
}

TEST_CASE("the flag is one float; with the norm it is one reduction, and each unscaled square is taken in one pass") {
  CHECK(traffic<Scaled<Sharded<4>>>().norm().total_payload == Bytes{2 * 3 * 4});
  CHECK(traffic<Scaled<Sharded<4>, Clip<GlobalNorm>>>().norm().total_payload == Bytes{2 * 3 * (3 + 1) * 4});  // three units
  CHECK(traffic<Scaled<Sharded<4>>>().total() == traffic<Trained<Chain, Sharded<4>>>().total() + Bytes{2 * 3 * 4});
  CHECK(Traffic{&evaluation_of<Both>()}.norm().total_payload == Bytes{0});
  const Program& p = training_of<Scaled<Products, Clip<GlobalNorm>>>();
  CHECK(over(p, axis::stage) == 4);
  CHECK(std::none_of(p.instructions, p.instructions + p.lists[0].end, [](const Instruction& line) { return line.op == ListOp::norm; }));
  CHECK(peak_memory<Scaled<Single>>() == peak_memory<Trained<Chain, Single>>() + Bytes{64});  // a line for the flag
}

TEST_CASE("any one line about the flag that is missing or stands twice is found, with a norm and without") {
  for (const Program* p : {&training_of<Both>(), &training_of<Scaled<Products, Clip<GlobalNorm>>>()}) {
    Copy copy{*p};
    int changed = 0;
    for (auto& list : copy.lists)
      for (std::size_t i = 0; i < list.size(); ++i) {
        if (!about_the_flag(*p)(list[i])) continue;
        CAPTURE(i);
        const Instruction line = list[i];
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        CHECK(check_loss_scaling(copy.view()).code == Code{'S', 13});
        CHECK_FALSE(check(copy.view()).ok());
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), 2, line);
        CHECK(check_loss_scaling(copy.view()).code == Code{'S', 13});
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        ++changed;
      }
    CHECK(changed == 2 * 6);
    CHECK(check_loss_scaling(copy.view()).ok());
  }
}

TEST_CASE("a flag over one axis too many, of gradients that are not whole, or after a step is found") {
  Copy copy{training_of<Both>()};
  auto& list = copy.lists[0];
  const auto unscale = line_of(list, ListOp::unscale);
  const auto refused = [&] { return check_loss_scaling(copy.view()); };
  Instruction wrong = list[static_cast<std::size_t>(unscale) + 1];
  wrong.axis = axis::data;
  list.insert(list.begin() + unscale + 1, wrong);
  CHECK(says(refused(), "device 0 counts overflows several times over axis data"));
  list.erase(list.begin() + unscale + 1);
  std::swap(list[static_cast<std::size_t>(unscale)], list[static_cast<std::size_t>(unscale) - 1]);
  CHECK(says(refused(), "looks for an overflow before a gradient is reduced over axis data"));
  std::swap(list[static_cast<std::size_t>(unscale)], list[static_cast<std::size_t>(unscale) - 1]);
  CHECK(refused().ok());
  const auto step = line_of(list, ListOp::step);
  std::rotate(list.begin(), list.begin() + step, list.begin() + step + 1);
  CHECK(says(refused(), "steps before the flag of all ranks is known"));
}

TEST_CASE("a flag that is found before the last backward or the last transfer is found too early") {
  Copy copy{training_of<Scaled<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>()};
  for (auto& list : copy.lists) {
    const auto unscale = line_of(list, ListOp::unscale);
    std::ptrdiff_t last = unscale - 1;
    while (list[static_cast<std::size_t>(last)].op != ListOp::backward) --last;
    std::rotate(list.begin() + last, list.begin() + unscale, list.begin() + unscale + 1);
    CHECK(says(check_loss_scaling(copy.view()), "looks for an overflow before its last compute or transfer"));
    std::rotate(list.begin() + last, list.begin() + last + 1, list.begin() + unscale + 1);
    CHECK(check_loss_scaling(copy.view()).ok());
  }
}

TEST_CASE("a plan that does not scale its loss has no such lines; one that does is another program") {
  const Program& p = training_of<Trained<Chain, Products>>();
  CHECK_FALSE(p.scales_loss);
  CHECK(std::none_of(p.instructions, p.instructions + p.lists[p.roles - 1].end, about_the_flag(p)));
  CHECK(check_loss_scaling(p).ok());
  CHECK(program_hash(p) != program_hash(training_of<Both>()));
  Program changed = training_of<Both>();
  changed.scales_loss = false;
  CHECK(program_hash(changed) != program_hash(training_of<Both>()));
  CHECK(check_loss_scaling(evaluation_of<Both>()).ok());
}
