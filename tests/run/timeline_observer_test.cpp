// SPDX-License-Identifier: MIT
#include "heddle/run/timeline_observer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "equivalence/counted_memory.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/plan/read/ledger.hpp"
#include "heddle/report/timeline_check.hpp"
#include "heddle/report/timeline_text.hpp"

using namespace heddle;

namespace {

struct Deep : Sequential<Linear<4, 16>, Tanh, Linear<16, 16>, Tanh, Linear<16, 16>, Tanh, Linear<16, 16>, Tanh, Linear<16, 4>> {};
template <class Policy, class... More> using Of = Plan<Deep, CrossEntropy, SGD, Batch<16>, Policy, More...>;

const std::vector<float> inputs(16 * 4, 0.25F);
const std::vector<std::int32_t> labels{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3};
const auto batch = examples(std::span<const float>{inputs}, std::span<const std::int32_t>{labels}, 4);

template <class P> Timeline observed() {
  TimelineObserver observer{P::training, {.first = 2}};
  Trainer<P, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}};
  trainer.observe(&observer);
  for (int i = 0; i < 3; ++i) trainer.step(batch);
  return observer.timeline(2);
}

/// Spans that do not overlap others of their device, of one lane.
bool apart(const Timeline& t, int device) {
  std::vector<const Span*> spans;
  for (const Span& span : t.spans)
    if (span.device == device && span.lane == Lane::compute) spans.push_back(&span);
  std::sort(spans.begin(), spans.end(),
            [](const Span* a, const Span* b) { return a->begin < b->begin || (a->begin == b->begin && a->end < b->end); });
  for (std::size_t i = 1; i < spans.size(); ++i)
    if (spans[i]->begin < spans[i - 1]->end) return false;
  return true;
}

/// What holds of a step of any plan, whatever it took.
template <class P> void check_step() {
  const Program& p = P::training;
  const Timeline t = observed<P>();
  CAPTURE(t.title);
  CHECK(t.measured);
  CHECK_NOTHROW(refuse_undrawable(t));
  CHECK_NOTHROW(refuse_other_plan(t, p));
  REQUIRE(t.devices.size() == static_cast<std::size_t>(p.mesh.ranks()));

  std::map<int, std::vector<Span>> flows;
  std::map<int, std::set<int>> lines;  // computes of each device
  Bytes sent, in_collectives;
  for (const Span& span : t.spans) {
    CHECK(span.begin <= span.end);
    if (span.flow >= 0) flows[span.flow].push_back(span);
    if (span.lane == Lane::compute && computes(p.instructions[span.instruction].op)) lines[span.device].insert(span.instruction);
    if (span.kind == SpanKind::send) sent += span.bytes;
    if (span.kind == SpanKind::collective) in_collectives += span.bytes;
  }
  const Traffic traffic{&p};
  CHECK(static_cast<std::int64_t>(flows.size()) == traffic.activations().messages + traffic.ties().messages);
  CHECK(sent == traffic.activations().total_with_padding + traffic.ties().total_with_padding);
  Bytes ledger;
  for (int r = 0; r < p.mesh.ranks(); ++r) {
    const Rank rank{r};
    ledger += traffic.sent(rank) - traffic.sent_to_peers(rank);
    for (int a = 0; a < axis_count; ++a) ledger += traffic.sent_for_loss(rank, static_cast<Axis>(a));  // each step reports, unless told otherwise
    int wanted = 0;
    const int role = p.mesh.coordinate(rank, Axis::stage);
    for (int i = p.lists[role].begin; i < p.lists[role].end; ++i) wanted += computes(p.instructions[i].op) ? 1 : 0;
    CHECK(static_cast<int>(lines[r].size()) == wanted);
    CHECK(apart(t, r));
  }
  CHECK(in_collectives == ledger);
  for (const auto& [flow, ends] : flows) {
    REQUIRE(ends.size() == 2);
    const Span& send = ends[0].kind == SpanKind::send ? ends[0] : ends[1];
    const Span& receive = ends[0].kind == SpanKind::send ? ends[1] : ends[0];
    CHECK(send.begin <= receive.end);
    CHECK(send.peer == receive.device);
    CHECK(receive.peer == send.device);
    CHECK(send.micro_batch == receive.micro_batch);
    CHECK(send.bytes.value > 0);
    CHECK(receive.bytes.value == 0);
  }
  CHECK_FALSE(timeline_text(t, {.communication = true}).empty());
}

/// What V05 says of a call.
template <class Call> std::string said(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a measured step has every compute, a flow for each message of the ledger and the bytes of the ledger: stages") {
  check_step<Of<Single>>();
  check_step<Of<Pipeline<Balanced<2>, GPipe, Microbatches<4>>>>();
  check_step<Of<Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>>>();
  check_step<Of<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>>();
  check_step<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
}

TEST_CASE("a measured step has every compute, a flow for each message of the ledger and the bytes of the ledger: replicas, slices and parts") {
  check_step<Of<DataParallel<2>>>();
  check_step<Of<Sharded<2>, Accumulate<2>>>();
  check_step<Of<TensorParallel<2>>>();
  check_step<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>, Clip<GlobalNorm>>>();
  struct Tying : Sequential<Named<"a", Linear<4, 4>>, Tanh, Tied<"b", Linear<4, 4>, To<"a">>> {};
  check_step<Plan<Tying, CrossEntropy, SGD, Batch<16>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>();
}

TEST_CASE("the waits of a tensor-parallel compute are no work: it has a piece before and behind each") {
  using P = Of<TensorParallel<2>>;
  const Timeline t = observed<P>();
  int pieces = 0;
  for (const Span& span : t.spans)
    if (span.kind == SpanKind::forward && span.device == 0) pieces += 1;
  const std::int64_t waits = traffic<P>().value_collectives(0, BodyOp::reduce_value);
  CHECK(waits > 0);
  CHECK(pieces > 1);
  for (const Span& span : t.spans)
    if (span.kind == SpanKind::collective)
      for (const Span& other : t.spans)
        if (other.device == span.device && other.lane == Lane::compute) CHECK((other.end <= span.begin || other.begin >= span.end));
}

TEST_CASE("a step under the observer allocates nothing for it") {
  using P = Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
  TimelineObserver observer{P::training, {.first = 3, .count = 2}};
  Trainer<P, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}};
  const auto allocated = [&] {
    const long before = counted::allocations;
    trainer.step(batch);
    return counted::allocations - before;
  };
  (void)allocated();  // the first step is another one
  const long unobserved = allocated();
  trainer.observe(&observer);
  CHECK(allocated() == unobserved);  // step 3
  CHECK(allocated() == unobserved);
  CHECK(allocated() == unobserved);  // not recorded
  CHECK_NOTHROW((void)observer.timeline(3));
  CHECK_NOTHROW((void)observer.timeline(4));
}

TEST_CASE("several steps are recorded apart, and others not at all") {
  using P = Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;
  TimelineObserver observer{P::training, {.first = 2, .count = 2}};
  Trainer<P, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}};
  trainer.observe(&observer);
  for (int i = 0; i < 4; ++i) trainer.step(batch);
  (void)trainer.evaluate(batch);
  CHECK(observer.timeline(2).spans.size() == observer.timeline(3).spans.size());
  for (const int step : {1, 4})
    CHECK(
        said([&] { (void)observer.timeline(step); }) ==
        "[heddle.V05] step " + std::to_string(step) +
            " has no timeline: steps 2 to 3 are asked for, and no line of this one has run. Fix: observe a trainer of this plan, make the step, and "
            "name it among the observed ones.");
}

TEST_CASE("a step that was made twice, or not to its end, has no timeline, and says where") {
  using P = Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;
  const Program& p = P::training;
  TimelineObserver observer{p, {.first = 1}};
  for (int i = p.lists[0].begin; i + 1 < p.lists[0].end; ++i) observer.finished({Rank{0}, &p, i, -1, 0, 1, {}, {}});
  CHECK(said([&] { (void)observer.timeline(1); }) == "[heddle.V05] step 1 has no timeline: rank 0 ran line " + std::to_string(p.lists[0].end - 1) +
                                                         " not at all. Fix: make the whole step under the observer.");
  observer.finished({Rank{0}, &p, p.lists[0].begin, -1, 0, 1, {}, {}});
  CHECK(said([&] { (void)observer.timeline(1); }).find("rank 0 ran line 0 more than once.") != std::string::npos);
  for (int i = 0; i < 3; ++i) observer.finished({Rank{0}, &p, p.lists[0].begin, -1, 0, 1, {}, {}});
  CHECK(said([&] { (void)observer.timeline(1); }).find("rank 0 ran 3 lines more than there is room for") != std::string::npos);
}

TEST_CASE("steps that are none are refused at once") {
  CHECK(said([] {
          (void)TimelineObserver{Of<Single>::training, {.first = 0}};
        }) ==
        "[heddle.V05] 1 steps from step 0 on cannot be recorded. Fix: name at least one, and count them from 1 on, as in {.first = 3, .count = 1}.");
  CHECK(said([&] {
          (void)TimelineObserver{Of<Single>::training, {.first = std::numeric_limits<std::int64_t>::max()}};
        }).find("cannot be recorded") != std::string::npos);
  CHECK(said([&] {
          (void)TimelineObserver{Of<Single>::training, {.count = std::numeric_limits<int>::max()}};
        }).find("GB to record, more than 16. Fix: name fewer steps") != std::string::npos);
  CHECK(said([] { (void)TimelineObserver{Of<Single>::training, {.first = 1, .count = -2}}; }).find("-2 steps from step 1 on") != std::string::npos);
}
