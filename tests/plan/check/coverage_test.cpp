// SPDX-License-Identifier: MIT
#include "heddle/plan/check/coverage.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "heddle/graph/one_unit.hpp"
#include "heddle/plan/check/check.hpp"
#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// Drops every instruction of one kind and every reduction of a body, one at a time; each must be found with a code of room S.
struct Drops {
  int dropped = 0;
  int found = 0;
  Code codes[64]{};

  void all(const Program& original) {
    Copy copy{original};
    CHECK(check(copy.view()).ok());
    for (auto& list : copy.lists)
      for (std::size_t i = 0; i < list.size(); ++i) {
        const Instruction line = list[i];
        CAPTURE(i);
        CAPTURE(static_cast<int>(line.op));
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
        judge(check(copy.view()), line);
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), line);
      }
    for (Entry& entry : copy.entries) {
      if (entry.bucket < 0) continue;
      const Entry kept = entry;
      entry = Entry{};
      ++dropped;
      const Diagnosis faulty = check(copy.view());
      const bool of_ring =
          kept.what == BodyOp::gather_start || kept.what == BodyOp::gather_wait || kept.what == BodyOp::zero_gaps || kept.what == BodyOp::add_slice;
      CHECK(faulty.code == (of_ring ? Code{'S', 11} : Code{'S', 6}));
      if (!faulty.ok()) ++found;
      entry = kept;
    }
    CHECK(check(copy.view()).ok());
  }
  void judge(const Diagnosis& faulty, const Instruction& line) {
    ++dropped;
    if (!faulty.ok()) ++found;
    switch (line.op) {
      case ListOp::forward:
      case ListOp::backward:
      case ListOp::backward_input:
      case ListOp::backward_weight: CHECK((faulty.code == Code{'S', 4} || faulty.code == Code{'S', 5} || faulty.code == Code{'S', 6})); break;
      case ListOp::reduce_start:
      case ListOp::reduce_wait:
      case ListOp::gather_start:
      case ListOp::gather_wait:
      case ListOp::report:
      case ListOp::step: CHECK(faulty.code == Code{'S', 6}); break;
      case ListOp::send_start:
      case ListOp::receive_start: CHECK((faulty.code == Code{'S', 3} || faulty.code == Code{'S', 4})); break;
      default: CHECK_FALSE(faulty.ok()); break;
    }
  }
};

template <class P> void drop_everything(int at_least) {
  Drops drops;
  drops.all(training_of<P>());
  MESSAGE(drops.dropped << " lines dropped, " << drops.found << " found");
  CHECK(drops.found == drops.dropped);
  CHECK(drops.dropped >= at_least);
}

}  // namespace

TEST_CASE("dropping any one line of a plan turns a check red: replicas") {
  drop_everything<Trained<Mnist, DataParallel<2>>>(6);
  drop_everything<Trained<Chain, DataParallel<4>, Bucket<1_B>, Accumulate<2>, Grain<2>>>(12);
}

TEST_CASE("dropping any one line of a plan turns a check red: stages") {
  drop_everything<Trained<Chain, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>(60);
  drop_everything<Trained<Chain, BackIn<GPipe, 4>>>(50);
}

TEST_CASE("dropping any one line of a plan turns a check red: stages and replicas") {
  drop_everything<Trained<Skips, Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>, Accumulate<2>, Bucket<1_KiB>>>(40);
}

TEST_CASE("dropping any one line of a plan turns a check red: slices") {
  drop_everything<Trained<Mnist, Sharded<2, OptimizerState>>>(10);
  drop_everything<Trained<Chain, Hybrid<Sharded<2, Gradients>, DataParallel<2>>>>(20);
  drop_everything<Trained<OneUnit<Linear<8, 32>, Linear<32, 32>, Linear<32, 3>>, Sharded<2, Gradients>, Bucket<1_KiB>>>(10);
  drop_everything<Trained<Skips, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>>(40);
}

TEST_CASE("dropping any one line of a plan turns a check red: interleaved stages and split backwards") {
  drop_everything<Trained<Skips, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<2>>>>(60);
  drop_everything<Trained<Chain, Hybrid<Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<4>>, DataParallel<2>>, Bucket<1_B>>>(70);
  drop_everything<Trained<Chain, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Sharded<2>, DataParallel<2>>>>(40);
}

TEST_CASE("weight parts out of sequence, before their input part, or in a program of whole backwards are refused") {
  Copy copy{training_of<Trained<Chain, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>()};
  auto& list = copy.lists[1];  // ends with W2 W3: nothing stands between them
  const auto is = [](ListOp op) { return [op](const Instruction& line) { return line.op == op; }; };
  const auto last = std::find_if(list.rbegin(), list.rend(), is(ListOp::backward_weight));
  const auto before = std::find_if(last + 1, list.rend(), is(ListOp::backward_weight));
  std::swap(last->micro_batch, before->micro_batch);
  const Diagnosis out_of_sequence = check(copy.view());
  CHECK(out_of_sequence.code == Code{'S', 5});
  CHECK(out_of_sequence.words.view().find("out of sequence, but gradients are summed in the order of micro-batches") != std::string_view::npos);
  std::swap(last->micro_batch, before->micro_batch);
  CHECK(check(copy.view()).ok());
  const auto weight = std::find_if(list.begin(), list.end(), is(ListOp::backward_weight));
  const auto input = std::find_if(list.begin(), list.end(), is(ListOp::backward_input));
  std::swap(weight->op, input->op);
  CHECK(check(copy.view()).code == Code{'S', 5});
  std::swap(weight->op, input->op);
  input->op = ListOp::backward;
  CHECK(check(copy.view()).words.view().find("backwards of this program are in two parts") != std::string_view::npos);
  Copy whole{training_of<Trained<Chain, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>()};
  std::find_if(whole.lists[0].begin(), whole.lists[0].end(), is(ListOp::backward))->op = ListOp::backward_input;
  CHECK(check(whole.view()).words.view().find("backwards of this program are whole") != std::string_view::npos);
}

TEST_CASE("a line that stands twice is found as well") {
  Copy copy{training_of<Trained<Chain, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>>()};
  int doubled = 0;
  for (auto& list : copy.lists)
    for (std::size_t i = 0; i < list.size(); ++i) {
      const ListOp op = list[i].op;
      if (op == ListOp::send_wait || op == ListOp::receive_wait) continue;  // a second wait for what is complete waits for nothing
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), list[i]);
      CAPTURE(static_cast<int>(op));
      if (op == ListOp::reduce_wait)
        CHECK(check(copy.view()).code == Code{'S', 6});
      else
        CHECK_FALSE(check(copy.view()).ok());
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      ++doubled;
    }
  CHECK(doubled > 20);
}

TEST_CASE("S04: a compute without the wait that it reads, and a wait without its start, are refused in these words") {
  Copy copy{training_of<Trained<Chain, Pipeline<Balanced<2>>>>()};
  auto& last = copy.lists[1];
  const auto without = [&](ListOp op) {
    const auto line = std::find_if(last.begin(), last.end(), [op](const Instruction& other) { return other.op == op; });
    REQUIRE(line != last.end());
    const Instruction dropped = *line;
    const auto place = last.erase(line);
    const Diagnosis found = check(copy.view());
    last.insert(place, dropped);
    CHECK(found.code == Code{'S', 4});
    return std::string{found.sentence().view()};
  };
  CHECK(without(ListOp::receive_wait).find("after 0 of the 1 transfers that it reads") != std::string::npos);
  CHECK(without(ListOp::receive_start).find("role 1 waits at instruction 0 for a transfer that it never starts") != std::string::npos);
  CHECK(check(copy.view()).ok());
}

TEST_CASE("a backward before its forward, or on a device without the chunk, is refused") {
  Copy copy{training_of<Trained<Chain, Pipeline<Balanced<2>>>>()};
  auto& last = copy.lists[1];
  const auto is = [](ListOp op) { return [op](const Instruction& line) { return line.op == op; }; };
  const auto forward = std::find_if(last.begin(), last.end(), is(ListOp::forward));
  const auto backward = std::find_if(last.begin(), last.end(), is(ListOp::backward));
  std::swap(*forward, *backward);
  CHECK(check(copy.view()).code == Code{'S', 5});
  std::swap(*forward, *backward);
  CHECK(check(copy.view()).ok());
  const Instruction moved = *backward;
  last.erase(backward);
  copy.lists[0].push_back(moved);
  const Diagnosis elsewhere = check(copy.view());
  CHECK(elsewhere.code == Code{'S', 5});
  CHECK(elsewhere.words.view().find("device 0 runs chunk 1, which lives on device 1") != std::string_view::npos);
}

TEST_CASE("a reduction that starts before its lowest layer has run, or for every micro-batch, is refused") {
  Copy copy{training_of<Trained<Chain, DataParallel<2>, Accumulate<2>>>()};
  const auto start = std::find_if(copy.entries.begin(), copy.entries.end(), [](const Entry& e) { return e.what == BodyOp::reduce_start; });
  REQUIRE(start != copy.entries.end());
  REQUIRE((start - 1)->what == BodyOp::leaf_backward);
  start->when = When::always;
  CHECK(check(copy.view()).code == Code{'S', 6});
  start->when = When::last_micro_batch;
  CHECK(check(copy.view()).ok());
  std::swap(*start, *(start - 1));
  CHECK(check(copy.view()).code == Code{'S', 6});
}

TEST_CASE("a wait after the step, or after the report, is no wait") {
  Copy copy{training_of<Trained<Chain, DataParallel<2>>>()};
  auto& list = copy.lists[0];
  for (std::size_t i = 0; i + 1 < list.size(); ++i) {
    if (list[i].op != ListOp::reduce_wait) continue;
    CHECK((list[i + 1].op == ListOp::step || list[i + 1].op == ListOp::report));
    std::swap(list[i], list[i + 1]);
    CHECK(check(copy.view()).code == Code{'S', 6});
    std::swap(list[i], list[i + 1]);
  }
  CHECK(check(copy.view()).ok());
}

TEST_CASE("a parameter in no bucket is missed by its count") {
  Copy copy{training_of<Trained<Chain, Single>>()};
  CHECK(check(copy.view()).ok());
  --copy.buckets[0].payload;
  CHECK(check(copy.view()).code == Code{'S', 6});
}

TEST_CASE("evaluation runs every forward and no backward, and is checked by the same rules") {
  using P = Trained<Chain, BackIn<OneFOneB, 4>>;
  CHECK(check(evaluation_of<P>()).ok());
  Copy copy{evaluation_of<P>()};
  int dropped = 0;
  for (auto& list : copy.lists)
    for (std::size_t i = 0; i < list.size(); ++i, ++dropped) {
      const Instruction line = list[i];
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      CAPTURE(static_cast<int>(line.op));
      CHECK_FALSE(check(copy.view()).ok());
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), line);
    }
  CHECK(dropped > 40);
}
