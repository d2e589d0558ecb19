// SPDX-License-Identifier: MIT
#include "heddle/plan/check/tied_check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

#include "heddle/graph/tied.hpp"
#include "heddle/plan/check/check.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Square = Linear<6, 6>;
struct Language : Sequential<Linear<8, 6>, Named<"wte", Square>, Tanh, Linear<6, 6>, ReLU, Tied<"middle", Square, To<"wte">>, GELU,
                             Tied<"head", Square, To<"wte">>, Linear<6, 3>> {};
using Start = Sequential<Linear<8, 6>, Named<"wte", Square>, Tanh>;
using Middle = Sequential<Linear<6, 6>, ReLU, Tied<"middle", Square, To<"wte">>, GELU>;
using End = Sequential<Tied<"head", Square, To<"wte">>, Linear<6, 3>>;
using Stages = Pipeline<Stage<Start, On<0>>, Stage<Middle, On<1>>, Stage<End, On<0>>>;  // two uses on device 0, one on device 1
template <class... Options> using Both = Trained<Language, Hybrid<Stages, Sharded<2>, DataParallel<2>>, Options...>;

bool about_ties(const Program& p, const Instruction& line) {
  return line.op == ListOp::tie || (line.transfer >= 0 && p.transfers[line.transfer].use >= 0);
}
template <class Match> std::ptrdiff_t find(const std::vector<Instruction>& list, Match match) {
  return std::find_if(list.begin(), list.end(), match) - list.begin();
}
void move(std::vector<Instruction>& list, std::ptrdiff_t from, std::ptrdiff_t to) {
  const Instruction line = list[static_cast<std::size_t>(from)];
  list.erase(list.begin() + from);
  list.insert(list.begin() + to, line);
}
bool says(const Diagnosis& found, std::string_view words) {
  return found.code == Code{'S', 9} && found.sentence().view().find(words) != std::string_view::npos;
}

}  // namespace

TEST_CASE("uses are reduced, exchanged, added up once and stepped, under every policy that splits the batch (torchtitan #4486)") {
  static_assert(check_ties(Both<>::training).ok());
  static_assert(check_ties(Both<Clip<GlobalNorm>>::training).ok());
  static_assert(check_ties(Trained<Language, Single>::training).ok());
  CHECK(check(lower<Both<>>()).ok());
  CHECK(check(lower<Both<Clip<GlobalNorm>>>()).ok());
}

TEST_CASE("any one line about tied parameters that is missing or stands twice is found") {
  const Program& p = training_of<Both<>>();
  Copy copy{p};
  int changed = 0;
  for (auto& list : copy.lists)
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!about_ties(p, list[i])) continue;
      CAPTURE(i);
      const Instruction line = list[i];
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK(check_ties(copy.view()).code == Code{'S', 9});
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), 2, line);
      CHECK(check_ties(copy.view()).code == Code{'S', 9});
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      ++changed;
    }
  CHECK(changed == 2 * (3 * 2 + 1));  // three slices cross, with start and wait at both ends; each role adds up
  CHECK(check_ties(copy.view()).ok());
}

TEST_CASE("a use of another stage that arrives twice, or never, is named") {
  Copy copy{training_of<Both<>>()};
  int changed = 0;
  for (auto& list : copy.lists)
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!about_ties(training_of<Both<>>(), list[i]) || (list[i].op != ListOp::receive_start && list[i].op != ListOp::receive_wait)) continue;
      CAPTURE(i);
      const Instruction line = list[i];
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK(says(check_ties(copy.view()), " does not receive once the gradient of "));
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), line);
      ++changed;
    }
  CHECK(changed == 2 * 3);
}

TEST_CASE("a stage that does not add up what it shares is named") {
  Copy copy{training_of<Both<>>()};
  for (auto& list : copy.lists) {
    const auto sum = find(list, [](const Instruction& line) { return line.op == ListOp::tie; });
    const Instruction line = list.at(static_cast<std::size_t>(sum));
    list.erase(list.begin() + sum);
    CHECK(says(check_ties(copy.view()), " does not add up the gradients of all leaves that share with "));
    list.insert(list.begin() + sum, line);
  }
}

TEST_CASE("a sum before what it adds, and a step or norm before the sum, are found") {
  const Program& p = training_of<Both<Clip<GlobalNorm>>>();
  const auto refused = [&](int role, auto first, auto second) {  // the first is moved behind the second
    Copy copy{p};
    auto& list = copy.lists[static_cast<std::size_t>(role)];
    const auto from = find(list, first);
    const auto to = find(list, second);
    REQUIRE(from < to);
    REQUIRE(to < std::ssize(list));
    move(list, from, to);
    return check_ties(copy.view());
  };
  const auto op = [](ListOp wanted) { return [wanted](const Instruction& line) { return line.op == wanted; }; };
  const auto tied = [&](ListOp wanted) { return [&, wanted](const Instruction& line) { return line.op == wanted && about_ties(p, line); }; };
  const auto reduces = [&](int use) {
    return
        [&, use](const Instruction& line) { return line.op == ListOp::reduce_wait && line.bucket == p.uses[use].bucket && line.axis == axis::data; };
  };
  const int other = p.uses[1].role;
  CHECK(other == 1);
  CHECK(says(refused(1, tied(ListOp::receive_wait), op(ListOp::tie)), "device 1 adds up before it has received the gradient of layer 1 'wte'"));
  CHECK(says(refused(1, tied(ListOp::send_wait), op(ListOp::tie)), "device 1 adds up before it has sent the gradient of layer 5 'middle'"));
  CHECK(says(refused(1, reduces(1), op(ListOp::tie)), "device 1 adds up before it has reduced the gradient of layer 5 'middle'"));
  CHECK(says(refused(1, reduces(1), tied(ListOp::send_start)), "device 1 sends before it has reduced the gradient of layer 5 'middle'"));
  CHECK(says(refused(0, op(ListOp::tie), op(ListOp::norm)),
             "device 0 looks at norms or overflows before it adds up the gradients of all leaves that share with layer 1"));

  Copy copy{training_of<Both<>>()};
  auto& list = copy.lists[0];
  const auto sum = find(list, op(ListOp::tie));
  move(list, sum, sum + 1);
  CHECK(says(check_ties(copy.view()), "device 0 steps before it adds up the gradients of all leaves that share with layer 1 'wte'"));
}

TEST_CASE("a sum of gradients that are not stepped, and a slice of another length, are found") {
  Copy copy{training_of<Both<>>()};
  auto& list = copy.lists[0];
  Instruction extra = list[static_cast<std::size_t>(find(list, [](const Instruction& line) { return line.op == ListOp::tie; }))];
  extra.bucket = training_of<Both<>>().uses[2].bucket;
  list.push_back(extra);
  CHECK(says(check_ties(copy.view()), "device 0 adds up more than what it steps, once, beside layer 1"));
  list.pop_back();
  Program p = copy.view();
  std::vector<Transfer> transfers(p.transfers, p.transfers + p.transfer_count);
  p.transfers = transfers.data();
  CHECK(check_ties(p).ok());
  transfers.back().elements /= 2;
  CHECK(says(check_ties(p), "does not send once, to every other owner"));
}

TEST_CASE("a use that is stepped by itself, or a sum that is not, is found by the count of steps") {
  Copy copy{training_of<Both<>>()};
  Instruction step;
  step.op = ListOp::step;
  step.bucket = training_of<Both<>>().uses[2].bucket;  // kept by the first use of its device
  copy.lists[0].push_back(step);
  CHECK(check(copy.view()).code == Code{'S', 6});
}

TEST_CASE("a model without ties has no such lines") {
  const Program& p = training_of<Trained<Chain, Back>>();
  CHECK(p.use_count == 0);
  CHECK(check_ties(p).ok());
  CHECK(std::none_of(p.instructions, p.instructions + p.lists[1].end, [&](const Instruction& line) { return about_ties(p, line); }));
}
