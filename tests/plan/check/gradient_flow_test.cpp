// SPDX-License-Identifier: MIT
#include "heddle/plan/check/gradient_flow.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "heddle/graph/frozen.hpp"
#include "plan/flow.hpp"
#include "plan/gain.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr auto flows = Code{'S', 17};
using Lines = std::vector<Instruction>;

/// Lines of an operation: of all or of one bucket, or those that move something for a purpose.
struct Line {
  ListOp op;
  int bucket = -1;
  Axis axis = Axis::data;
  const Program* p = nullptr;
  Purpose purpose = Purpose::gradient;
  bool operator()(const Instruction& line) const {
    const bool reduces = op == ListOp::reduce_start || op == ListOp::reduce_wait;
    if (line.op != op || (reduces && line.axis != axis)) return false;
    return p != nullptr ? p->moves(line, purpose) : bucket == -1 || line.bucket == bucket;
  }
};
Line of(Purpose purpose, const Program& p, ListOp op, Axis axis) { return {op, -1, axis, &p, purpose}; }
std::ptrdiff_t find(const Lines& list, const Line& wanted) {
  const auto at = std::find_if(list.begin(), list.end(), wanted);
  REQUIRE(at != list.end());
  return at - list.begin();
}
/// What check says with the first line behind the second, which stands after it.
Diagnosis behind(const Program& p, int role, const Line& first, const Line& second) {
  Copy copy{p};
  Lines& list = copy.lists[static_cast<std::size_t>(role)];
  const auto from = find(list, first);
  const auto to = find(list, second);
  REQUIRE(from < to);
  std::rotate(list.begin() + from, list.begin() + from + 1, list.begin() + to + 1);
  return followed(copy.view());
}
/// ... and with one line inserted before another.
Diagnosis inserted(const Program& p, int role, const Instruction& line, const Line& before) {
  Copy copy{p};
  Lines& list = copy.lists[static_cast<std::size_t>(role)];
  list.insert(list.begin() + find(list, before), line);
  return followed(copy.view());
}
/// A line that moves the loss along another axis than its collective.
Instruction line_of_loss(const Program& p, ListOp op, Axis axis) {
  int number = 0;
  while (p.collectives[number].purpose != Purpose::loss) ++number;
  Instruction line;
  line.op = op;
  line.when = When::reporting;
  line.axis = axis;
  line.collective = static_cast<std::int16_t>(number);
  return line;
}
Instruction line_of(ListOp op, int bucket) {
  Instruction line;
  line.op = op;
  line.bucket = static_cast<std::int16_t>(bucket);
  return line;
}

struct Gained : Sequential<Linear<8, 6>, Gain, Linear<6, 6>> {};
using Bare = Trained<Skips, Hybrid<Sharded<2, OptimizerState>, DataParallel<2>>>;
using Whole = Trained<Skips, DataParallel<2>, Clip<GlobalNorm>, LossScaling>;

}  // namespace

TEST_CASE("a reduction is of what is made, over an axis along which it is a term, and is waited for after its start") {
  CHECK(refused_for(behind(Replicas::training, 0, {ListOp::backward}, {ListOp::reduce_wait, 0}), flows,
                    "device 0 reduces the gradients of bucket 0, or waits for it, without a start over axis data"));
  Copy early{SplitSlices::training};
  Lines& list = early.lists[0];
  const auto backward = list.rend() - std::find_if(list.rbegin(), list.rend(), Line{ListOp::backward}) - 1;
  const auto starts = find(list, {ListOp::reduce_start, 0});
  REQUIRE(backward < starts);
  std::rotate(list.begin() + backward, list.begin() + starts, list.begin() + starts + 1);
  CHECK(refused_for(followed(early.view()), flows, "device 0 reduces the gradients of bucket 0 before all of them are made, over axis data"));
  CHECK(refused_for(behind(Bare::training, 0, {ListOp::reduce_wait, 0, axis::shard}, {ListOp::reduce_start, 0}), flows,
                    " while another of its reductions is under way, over axis data"));
  CHECK(refused_for(behind(Bare::training, 0, of(Purpose::loss, Bare::training, ListOp::reduce_start, axis::data),
                           of(Purpose::loss, Bare::training, ListOp::reduce_wait, axis::data)),
                    flows, "device 0 reduces the loss, or waits for it, without a start over axis data"));
  CHECK(refused_for(behind(Trained<Chain, Single>::training, 0, {ListOp::backward}, {ListOp::step}), flows,
                    "device 0 steps the gradients of bucket 0 before all of them are made"));
}

TEST_CASE("a step of what is still a term on each rank names the axis") {
  Copy copy{Bare::training};
  std::erase_if(copy.lists[0], [](const Instruction& line) { return line.bucket == 0 && line.axis == axis::data && line.op <= ListOp::reduce_wait; });
  CHECK(refused_for(followed(copy.view()), flows, "device 0 steps the gradients of bucket 0, of which each rank still has a term along axis data"));
}

TEST_CASE("slices are reduced over their own axis first: the other would reduce one slice of the whole") {
  Copy copy{Bare::training};
  for (Entry& entry : copy.entries)
    if (entry.what == BodyOp::reduce_start) entry.axis = axis::data;
  for (Instruction& line : copy.lists[0])
    if (line.bucket >= 0 && (line.op == ListOp::reduce_start || line.op == ListOp::reduce_wait))
      line.axis = line.axis == axis::data ? axis::shard : axis::data;
  CHECK(refused_for(
      check(copy.view()), flows,
      "device 0 reduces the gradients of bucket 0 before they are reduced to slices, of which this would reduce one only, over axis data"));
}

TEST_CASE("a sum over an axis along which ranks hold the same would count it several times") {
  Program p = Trained<Skips, Hybrid<TensorParallel<3>, DataParallel<2>>>::training;
  REQUIRE(check(p).ok());
  CHECK(refused_for(inserted(p, 0, {ListOp::reduce_start, When::always, axis::tensor, -1, -1, -1, -1, 0}, {ListOp::step, 0}), flows,
                    "device 0 reduces the gradients of bucket 0, which is no term of a sum, over axis tensor"));
  CHECK(refused_for(inserted(p, 0, line_of_loss(p, ListOp::reduce_start, axis::tensor), {ListOp::report}), flows,
                    "device 0 reduces the loss, which is no term of a sum, over axis tensor"));
}

TEST_CASE("a step is of gradients that are whole: what is forgotten in all tables is missed all the same") {
  // Tied weights of which the tables know nothing: nobody adds up, and the rule of ties has nothing to check.
  const Program& tied = Trained<Language, Single>::training;
  Copy copy{tied};
  std::erase_if(copy.lists[0], [](const Instruction& line) { return line.op == ListOp::tie; });
  Program p = copy.view();
  p.use_count = 0;
  CHECK(refused_for(check(p), flows, "device 0 steps the gradients of bucket "));
  CHECK(refused_for(check(p), flows, " before those of all uses are added up"));
  // A bucket that does not reach over its last parameters.
  Copy shorter{Replicas::training};
  shorter.buckets[0].elements -= 1024;
  CHECK(refused_for(check(shorter.view()), flows, "the gradient of parameter '4.weight' lies in no bucket that is reduced and stepped for it"));
}

TEST_CASE("the loss of all micro-batches is added up in the last one and whole when it is reported") {
  Copy copy{Trained<Skips, Pipeline<Balanced<1>, GPipe, Microbatches<2>>>::training};
  for (Instruction& line : copy.lists[0])
    if (line.op == ListOp::forward) line.micro_batch = static_cast<std::int16_t>(1 - line.micro_batch);
  CHECK(refused_for(followed(copy.view()), flows, "device 0 adds up the loss in the forward of micro-batch 1, before that of micro-batch 0 is made"));
  CHECK(refused_for(behind(Trained<Chain, Single>::evaluation, 0, {ListOp::forward}, {ListOp::report}), flows,
                    "device 0 reports the loss before it is made"));
  CHECK(refused_for(behind(Replicas::training, 0, of(Purpose::loss, Replicas::training, ListOp::reduce_wait, axis::data), {ListOp::report}), flows,
                    "device 0 reports the loss, of which each rank still has a term along axis data"));
}

TEST_CASE("the loss is reported once by the device that makes it") {
  for (const Program* p : {&Replicas::training, &Replicas::evaluation, &InTurns::training, &InTurns::evaluation, &TiedStages::evaluation}) {
    REQUIRE(followed(*p).sentence().view() == "");
    Copy copy{*p};
    Lines& list = copy.lists[static_cast<std::size_t>(p->loss_role())];
    const auto report = list.begin() + find(list, {ListOp::report});
    const std::string of = "device " + std::to_string(p->loss_role()) + " reports the loss ";
    list.insert(report, *report);
    CHECK(refused_for(followed(copy.view()), flows, of + "2 times, not once"));
    std::erase_if(list, Line{ListOp::report});
    CHECK(refused_for(followed(copy.view()), flows, of + "0 times, not once"));
  }
}

TEST_CASE("norms and flags are found once, known to all, and acted on in order") {
  CHECK(refused_for(behind(Whole::training, 0, {ListOp::skip}, {ListOp::clip}), flows,
                    "device 0 clips before it knows whether to skip: a norm of what overflows is no number"));
  const Program& p = SplitSlices::training;
  const auto of_norm = [&](ListOp op) { return of(Purpose::norm, p, op, axis::shard); };
  CHECK(refused_for(behind(p, 0, of_norm(ListOp::reduce_start), of_norm(ListOp::reduce_wait)), flows,
                    "device 0 reduces the norm or flag, or waits for it, without a start over axis shard"));
  CHECK(refused_for(inserted(Replicas::training, 0, line_of(ListOp::norm, -1), {ListOp::step, 0}), flows,
                    "device 0 looks at its gradients another time"));
  CHECK(refused_for(inserted(Replicas::training, 0, line_of(ListOp::clip, -1), {ListOp::step, 0}), flows,
                    "device 0 clips by what is not known of all ranks"));
  CHECK(refused_for(inserted(Replicas::training, 0, line_of(ListOp::skip, -1), {ListOp::step, 0}), flows,
                    "device 0 skips by what is not known of all ranks"));
}

TEST_CASE("what is stepped is gathered once, after its step") {
  const Program& p = HalvedSlices::training;
  CHECK(!p.storage.gathers_after_step());
  CHECK(refused_for(inserted(Bare::training, 0, line_of(ListOp::gather_start, 0), {ListOp::gather_wait, 0}), flows,
                    "device 0 gathers parameters that are not stepped, or twice, with the gradients of bucket 0"));
  CHECK(refused_for(inserted(Replicas::training, 0, line_of(ListOp::gather_start, 0), {ListOp::step, 0}), flows,
                    "gathers parameters that are not stepped"));
}

TEST_CASE("a bucket is reduced for the micro-batches that its sum is of") {
  const auto with = [](const Program& p, When when) {
    Copy copy{p};
    for (Entry& entry : copy.entries)
      if (entry.what == BodyOp::reduce_start || entry.what == BodyOp::reduce_wait) entry.when = when;
    return followed(copy.view());
  };
  using Rounds = Trained<Skips, Sharded<2, OptimizerState>, Accumulate<2>>;
  CHECK(with(Rounds::training, When::last_micro_batch).ok());
  CHECK(refused_for(with(Rounds::training, When::always), flows, " for other micro-batches than have made them, over axis shard"));
  CHECK(refused_for(with(HalvedSlices::training, When::first_micro_batch), flows, " for other micro-batches than have made them, over axis shard"));
  CHECK(refused_for(with(Replicas::training, When::reporting), flows, " only if asked for, over axis data"));
}

TEST_CASE("a gradient of parameters that is a term along axis tensor is summed once, after it is made and before it is moved on") {
  int seen = 0;
  using Parts = Trained<Gained, TensorParallel<2>>;
  const Program& normed = Parts::training;
  REQUIRE(check(normed).sentence().view() == "");
  Copy other{normed};
  for (std::size_t e = 1; e < other.entries.size(); ++e) {
    Entry& entry = other.entries[e];
    if (entry.what != BodyOp::reduce_parameter) continue;
    ++seen;
    std::vector<int> none(1000);
    const auto flow = [&] {
      Program changed = other.view();
      return run_time::gradient_flow(changed, {changed, none.data()});
    };
    const Entry kept = entry;
    CHECK(refused_for(flow(), flows, "never steps"));  // it is given no closing lines, and the bodies are right
    entry.axis = axis::data;
    CHECK(refused_for(flow(), flows, " is summed over axis data another time"));
    entry = kept;
    entry.bucket = 1;
    CHECK(refused_for(flow(), flows, ", along which it is no term"));
    entry = kept;
    std::swap(other.entries[e - 1], other.entries[e]);
    CHECK(refused_for(flow(), flows, " before it is made"));
    std::swap(other.entries[e - 1], other.entries[e]);
  }
  CHECK(seen > 0);
}

TEST_CASE("no line reduces or steps what is frozen: it lies in no bucket that is") {
  struct Fixed : Sequential<Linear<8, 6>, Frozen<Linear<6, 6>>, Linear<6, 3>> {};
  using Whole = Trained<Fixed, Hybrid<Sharded<2>, DataParallel<2>>>;
  const Program& p = Whole::training;
  REQUIRE(check(p).ok());
  REQUIRE(p.bucket_count == 2);
  const ParameterPlace& frozen = p.parameters[2];
  REQUIRE(p.graph->frozen(frozen.node));
  for (int b = 0; b < p.bucket_count; ++b) CHECK((p.buckets[b].lowest_node == p.buckets[b].highest_node && p.buckets[b].lowest_node != frozen.node));
  Copy copy{p};  // a bucket of the frozen layer in place of another
  copy.buckets[0].lowest_node = copy.buckets[0].highest_node = frozen.node;
  CHECK_FALSE(check(copy.view()).ok());
  copy.buckets = std::vector<FlatBucket>(p.buckets, p.buckets + p.bucket_count + p.frozen_count);
  copy.lists[0].push_back(copy.lists[0].back());  // one more step, of whatever bucket
  copy.lists[0].back().op = ListOp::step;
  copy.lists[0].back().bucket = 0;
  CHECK_FALSE(check(copy.view()).ok());
}
