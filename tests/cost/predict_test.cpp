// SPDX-License-Identifier: MIT
#include "heddle/cost/predict.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "heddle/cost/presets.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Deep : Sequential<Linear<16, 16>, Repeat<4, Residual<Linear<16, 16>, ReLU>>, Linear<16, 16>> {};
template <class... Parts> using Of = Plan<Deep, MeanSquaredError, Adam, Batch<32>, Parts...>;
using Mixture = Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>, Clip<GlobalNorm>>;

constexpr Machine machine{.alpha = 3e-6, .beta = 1e-9, .per_flop = 1e-9, .per_memory_byte = 1e-10, .per_call = 1e-7, .per_message = 2e-7};

/// Whatever the plan: the spans are those of the estimate, and the critical path is a chain without a gap from the first second to the last.
template <class P> void is_sound(TimelineRows rows) {
  const Prediction step = predict(P::training, machine, rows);
  const Estimate alone = simulate(P::training, machine);
  CHECK(step.estimate.step.value == doctest::Approx(alone.step.value).epsilon(1e-12));
  CHECK(step.timeline.end().value == doctest::Approx(step.estimate.step.value).epsilon(1e-12));
  CHECK(step.timeline.idle_share() == doctest::Approx(step.estimate.bubble()).epsilon(1e-9));
  for (std::size_t d = 0; d < step.timeline.devices.size(); ++d)
    CHECK(step.timeline.busy(static_cast<int>(d)).value == doctest::Approx(step.estimate.busy[d].value).epsilon(1e-9));
  double at = 0;
  for (const int number : step.critical_path) {
    const Span& span = step.timeline.spans[static_cast<std::size_t>(number)];
    CHECK(span.begin.value == doctest::Approx(at).epsilon(1e-9));
    at = span.end.value;
  }
  CHECK(at == doctest::Approx(step.estimate.step.value).epsilon(1e-12));
}

}  // namespace

TEST_CASE("the spans are busy as long as the estimate says, and a chain of them decides") {
  for (const TimelineRows rows : {TimelineRows::roles, TimelineRows::ranks}) {
    is_sound<Of<Single>>(rows);
    is_sound<Of<DataParallel<4>, Bucket<1_KiB>>>(rows);
    is_sound<Of<Sharded<4>, Accumulate<2>>>(rows);
    is_sound<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>(rows);
    is_sound<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, LossScaling>>(rows);
    is_sound<Mixture>(rows);
  }
}

TEST_CASE("two stages with four micro-batches have 16 computes and both ends of 8 transfers") {
  using P = Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
  const std::vector<Span> spans = predict(P::training, machine).timeline.spans;
  const auto of = [&](SpanKind kind, Lane lane) {
    return std::count_if(spans.begin(), spans.end(), [&](const Span& span) { return span.kind == kind && span.lane == lane; });
  };
  CHECK(of(SpanKind::forward, Lane::compute) + of(SpanKind::backward, Lane::compute) == 16);
  CHECK(of(SpanKind::send, Lane::communication) == 8);
  CHECK(of(SpanKind::receive, Lane::communication) == 8);
}

TEST_CASE("an evaluation is a step without backward and update") {
  const Prediction step = predict(Mixture::evaluation, machine);
  CHECK(step.estimate.step.value < predict(Mixture::training, machine).estimate.step.value / 2);
  CHECK(std::none_of(step.timeline.spans.begin(), step.timeline.spans.end(),
                     [](const Span& span) { return span.kind == SpanKind::backward || span.kind == SpanKind::update; }));
}

TEST_CASE("by rank there are as many sends as the ledger counts messages between stages, each with its receive") {
  const Prediction step = predict(Mixture::training, machine, TimelineRows::ranks);
  std::multiset<int> sends, receives;
  for (const Span& span : step.timeline.spans) {
    if (span.kind == SpanKind::send && span.lane == Lane::communication) sends.insert(span.flow);
    if (span.kind == SpanKind::receive && span.lane == Lane::communication) receives.insert(span.flow);
  }
  CHECK(static_cast<std::int64_t>(sends.size()) == traffic<Mixture>().activations().messages);
  CHECK(sends == receives);
  CHECK(std::set<int>(sends.begin(), sends.end()).size() == sends.size());
}

TEST_CASE("each line that computes has a span, and bytes of spans are what the levels carry") {
  const Prediction step = predict(Mixture::training, machine, TimelineRows::ranks);
  const Program& p = Mixture::training;
  std::set<std::pair<int, int>> seen;
  double bytes = 0;
  for (const Span& span : step.timeline.spans) {
    if (span.instruction >= 0 && computes(p.instructions[span.instruction].op)) seen.insert({span.device, span.instruction});
    bytes += static_cast<double>(span.bytes.value);
  }
  int lines = 0;
  for (int d = 0; d < devices<Mixture>; ++d)
    for (int i = p.lists[p.mesh.coordinate(Rank{d}, axis::stage)].begin; i < p.lists[p.mesh.coordinate(Rank{d}, axis::stage)].end; ++i)
      lines += computes(p.instructions[i].op) ? 1 : 0;
  CHECK(static_cast<int>(seen.size()) == lines);
  REQUIRE(step.estimate.levels.size() == 1);
  CHECK(bytes == doctest::Approx(static_cast<double>(step.estimate.levels[0].value)).epsilon(1e-3));  // spans count whole bytes
}

TEST_CASE("rows are named after what they stand for, and differ where devices do") {
  CHECK(predict(Mixture::training, machine).timeline.devices == std::vector<std::string>{"stage 0", "stage 1"});
  CHECK(predict(Mixture::training, machine, TimelineRows::ranks).timeline.devices.size() == 8);
  CHECK(predict(Of<DataParallel<4>>::training, machine).timeline.devices == std::vector<std::string>{"every rank"});
  CHECK(predict(Of<Single>::training, machine).timeline.devices == std::vector<std::string>{"rank 0"});
  CHECK(predict(Mixture::training, with_speed(machine, 1, 1, 0.5)).timeline.devices.back() == "rank 7");
  CHECK_FALSE(predict(Mixture::training, machine).timeline.measured);
}

TEST_CASE("a machine that cannot be, or is too small, has no timeline") {
  const Prediction none = predict(Mixture::training, Machine{.alpha = -1});
  CHECK(none.estimate.fault.code == Code{'M', 16});
  CHECK(none.timeline.spans.empty());
  CHECK(predict(Mixture::training, Machine{.devices = 7}).estimate.fault.code == Code{'M', 17});
}

TEST_CASE("of a straggler's step the critical path runs over the straggler") {
  const Machine slow = with_speed(machine, 2, 2, 0.25);
  const Prediction step = predict(Of<DataParallel<4>>::training, slow);
  double on_it = 0;
  for (const int number : step.critical_path)
    if (const Span& span = step.timeline.spans[static_cast<std::size_t>(number)]; span.device == 2) on_it += span.seconds();
  CHECK(on_it > 0.5 * step.estimate.step.value);
}
