// SPDX-License-Identifier: MIT
#include "heddle/plan/check/clipping.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class Policy> using Clipped = Trained<Chain, Policy, Clip<GlobalNorm>>;
using Both = Clipped<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>, DataParallel<2>>>;

auto about_norms(const Program& p) {
  return [&p](const Instruction& line) { return line.op == ListOp::norm || line.op == ListOp::clip || p.moves(line, Purpose::norm); };
}
/// Reductions of the norm over an axis, starts and waits, in all lists.
int over(const Program& p, Axis a) {
  int n = 0;
  for (int i = 0; i < p.lists[p.roles - 1].end; ++i) n += p.moves(p.instructions[i], Purpose::norm) && p.instructions[i].axis == a ? 1 : 0;
  return n;
}

}  // namespace

TEST_CASE("the norm is reduced over exactly the axes on which parameters are split, stages included (pytorch #170862, torchtitan #596)") {
  CHECK(over(training_of<Clipped<DataParallel<2>>>(), axis::data) == 0);
  CHECK(over(training_of<Clipped<Sharded<2, OptimizerState>>>(), axis::shard) == 2);
  CHECK(over(training_of<Both>(), axis::shard) == 4);
  CHECK(over(training_of<Both>(), axis::stage) == 4);
  CHECK(over(training_of<Both>(), axis::data) == 0);
  CHECK(check_clipping(training_of<Both>()).ok());
  CHECK(traffic<Clipped<DataParallel<2>>>().norm().total_payload == Bytes{0});
  CHECK(traffic<Clipped<Sharded<4>>>().norm().total_payload == Bytes{2 * 3 * 3 * 4});  // three units
}

TEST_CASE("what the norm moves is part of what a step moves") {
  using Without = Trained<Chain, Sharded<4>>;
  using With = Clipped<Sharded<4>>;
  CHECK(traffic<With>().norm().total_payload > Bytes{0});
  CHECK(traffic<With>().total() == traffic<Without>().total() + traffic<With>().norm().total_payload);
  CHECK(Traffic{&evaluation_of<With>()}.norm().total_payload == Bytes{0});
}

TEST_CASE("any one line about the norm that is missing or stands twice is found") {
  Copy copy{training_of<Both>()};
  int changed = 0;
  for (auto& list : copy.lists)
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!about_norms(Both::training)(list[i])) continue;
      CAPTURE(i);
      const Instruction line = list[i];
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK(check_clipping(copy.view()).code == Code{'S', 12});
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), 2, line);
      CHECK(check_clipping(copy.view()).code == Code{'S', 12});
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      ++changed;
    }
  CHECK(changed == 2 * 6);
  CHECK(check_clipping(copy.view()).ok());
}

TEST_CASE("a norm over one axis too many, of gradients that are not reduced, or after a step is found") {
  Copy copy{training_of<Both>()};
  auto& list = copy.lists[0];
  const auto norm = std::find_if(list.begin(), list.end(), [](const Instruction& line) { return line.op == ListOp::norm; }) - list.begin();
  const auto refused = [&] { return check_clipping(copy.view()); };
  Instruction wrong = list[static_cast<std::size_t>(norm) + 1];
  wrong.axis = axis::data;
  list.insert(list.begin() + norm + 1, wrong);
  CHECK(refused().words.view().find("counts squares several times over axis data") != std::string_view::npos);
  list.erase(list.begin() + norm + 1);
  std::swap(list[static_cast<std::size_t>(norm)], list[static_cast<std::size_t>(norm) - 1]);
  CHECK(refused().words.view().find("sums squares before a gradient is reduced over axis data") != std::string_view::npos);
  std::swap(list[static_cast<std::size_t>(norm)], list[static_cast<std::size_t>(norm) - 1]);
  const auto step = std::find_if(list.begin(), list.end(), [](const Instruction& line) { return line.op == ListOp::step; });
  std::rotate(list.begin(), step, step + 1);
  CHECK(refused().words.view().find("steps before the norm is known") != std::string_view::npos);
}

TEST_CASE("a norm that is reduced before it is summed, taken without a sum, or never used is found") {
  const auto is = [](ListOp op) { return [op](const Instruction& line) { return line.op == op; }; };
  const auto says = [](Copy& copy, std::string_view words) {
    return check_clipping(copy.view()).sentence().view().find(words) != std::string_view::npos;
  };
  Copy early{training_of<Both>()};
  const auto norm = std::find_if(early.lists[0].begin(), early.lists[0].end(), is(ListOp::norm));
  std::swap(*norm, *(norm + 1));
  CHECK(says(early, "reduces a norm that is not summed, over axis shard"));
  Copy without{training_of<Clipped<DataParallel<2>>>()};  // no axis to reduce it over
  std::erase_if(without.lists[0], is(ListOp::norm));
  CHECK(says(without, "clips without a norm"));
  Copy never{training_of<Clipped<DataParallel<2>>>()};
  std::erase_if(never.lists[0], is(ListOp::clip));
  CHECK(says(never, "steps before the norm is known"));
  std::erase_if(never.lists[0], is(ListOp::step));
  CHECK(says(never, "never clips"));
}

TEST_CASE("a plan that does not clip has no such lines") {
  const Program& p = training_of<Trained<Chain, Sharded<2>>>();
  CHECK_FALSE(p.clips);
  CHECK(std::none_of(p.instructions, p.instructions + p.lists[0].end, about_norms(p)));
  CHECK(check_clipping(p).ok());
}

TEST_CASE("a cut through a block is refused where the norm is to be reproducible") {
  struct Blocks : Sequential<Linear<8, 6>, Repeat<2, Sequential<Linear<6, 6>, Tanh, Linear<6, 6>>>, Linear<6, 3>> {};
  using Through = Pipeline<Stage<Sequential<Linear<8, 6>, Linear<6, 6>, Tanh>, On<0>>,
                           Stage<Sequential<Linear<6, 6>, Linear<6, 6>, Tanh, Linear<6, 6>, Linear<6, 3>>, On<1>>>;
  static_assert(check<Trained<Blocks, Through, Grain<4>>>().ok());
  static_assert(check<Trained<Blocks, Through, Clip<GlobalNorm>, Grain<4>>>().code == Code{'B', 9});
  using Own = Trained<Blocks, Through, Clip<GlobalNorm>>;
  static_assert(check<Own>().ok());
  CHECK_FALSE(is_reproducible<Own>);
}

TEST_CASE("reductions of a norm follow one another, and a step that is skipped is not clipped") {
  using Two = Trained<Chain, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>, Clip<GlobalNorm>, LossScaling>;
  Copy copy{training_of<Two>()};
  auto& list = copy.lists[0];
  const auto refused = [&] { return std::string{check_clipping(copy.view()).sentence().view()}; };
  CHECK(refused().empty());
  for (std::size_t i = 0; i + 1 < list.size(); ++i) {
    const bool between = list[i].op == ListOp::reduce_wait && Two::training.moves(list[i], Purpose::norm) && list[i + 1].op == ListOp::reduce_start;
    const bool decided = list[i].op == ListOp::skip;
    if (!between && !decided) continue;
    std::swap(list[i], list[i + 1]);
    CHECK(refused().find(between ? "clips by a norm that is not reduced over axis " : "clips before it is known whether to skip") !=
          std::string::npos);
    std::swap(list[i], list[i + 1]);
  }
}
