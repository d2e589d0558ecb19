// SPDX-License-Identifier: MIT
// Room: plan. Advice: what a sound plan leaves unused, read off its constants; remarks as values.
// Sees: plan, policy answers, core/fire.  Does not see: machines, processes, threads.
// In: a Plan, limits.  Out: advice<Plan>().
#pragma once

#include <cstdint>

#include "heddle/core/fire.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/plan/read/advice_report.hpp"
#include "heddle/plan/read/applied_twice.hpp"
#include "heddle/plan/read/remedy.hpp"
#include "heddle/plan/read/whole_layers.hpp"
#include "heddle/plan/read/whole_sequences.hpp"
#include "heddle/plan/read/work.hpp"

namespace heddle::plan_room {

/// Reads the constants of one plan and writes remarks.
struct Adviser {
  const Program& p;
  const OrderRules& order;
  bool balanced;  ///< the cut is that of Balanced<S>
  const AdviceLimits& limits;
  AdviceReport report{};

  [[nodiscard]] constexpr int parts() const { return p.batch.ranks * p.batch.total_micro_batches(); }
  template <class Visit> constexpr void each_node(int role, Visit visit) const {
    for (int c = 0; c < p.chunks; ++c)
      if (p.device_of_chunk[c] == role)
        for (int n = p.first_node[c]; n < p.first_node[c + 1]; ++n) visit(n);
  }
  [[nodiscard]] constexpr std::int64_t flops(int role) const { return stage_flops(p, role); }
  [[nodiscard]] constexpr int layers_with_parameters(int role) const {
    int layers = 0;
    each_node(role, [&](int n) { layers += p.graph->nodes[n].parameter_count > 0 ? 1 : 0; });
    return layers;
  }

  constexpr void few_rows() {
    const int devices = p.mesh.ranks();
    if (p.batch.batch < devices)
      return report.add(Diagnosis{Code{'A', 1}, ""} << "Batch<" << p.batch.batch << "> is smaller than the " << devices
                                                    << " devices of the plan. Fix: use a batch of at least " << devices
                                                    << " rows, or fewer devices.");
    const int smallest = smallest_share(p.batch);
    const int rows = p.batch.share_count == 0 ? p.batch.micro_rows : p.batch.share_rows * smallest;
    if (parts() == 1 || rows >= limits.rows) return;
    const std::int64_t needed = std::int64_t{(limits.rows + smallest - 1) / smallest} * shares_of_all(p.batch) * p.batch.total_micro_batches();
    Diagnosis d = Diagnosis{Code{'A', 1}, ""} << "Batch<" << p.batch.batch << "> over ";
    name_parts(d, p.batch) << " leaves " << rows << (rows == 1 ? " row" : " rows") << " for each product"
                           << (p.batch.share_count == 0 ? "" : " of the smallest share")
                           << ", and every weight is read for so few. Fix: use a batch of at least " << needed << " rows, or fewer parts.";
    report.add(d);
  }
  constexpr void unused_rows() {
    const int batch = p.batch.batch;
    const int capacity = p.batch.capacity();
    const int unused = capacity > batch ? capacity - batch : batch - capacity;
    const int of = capacity > batch ? capacity : batch;
    if (unused == 0 || 100 * static_cast<std::int64_t>(unused) < static_cast<std::int64_t>(limits.unused_rows_percent) * of) return;
    Diagnosis d = Diagnosis{Code{'A', 2}, ""} << "Batch<" << batch << "> does not divide" << (parts() > 1 ? " by " : "");
    name_parts(d, p.batch);
    if (p.batch.grain_named) d << " into grains of " << p.batch.grain_rows << (p.batch.grain_rows == 1 ? " row" : " rows");
    if (capacity < batch)
      d << ", so " << unused << " rows of each batch are left out";
    else
      d << ", so there is room for " << capacity << " rows and ";
    if (capacity > batch) {  // PadLast repeats rows of a smaller batch up to these
      const int idle = p.batch.ranks_without_rows();
      if (idle > 0)
        d << idle << " of " << p.batch.ranks << " ranks have none";
      else
        d << unused << " of them stay empty";
    }
    const int step = parts() * (p.batch.grain_named ? p.batch.grain_rows : 1);
    const int below = batch / step * step;
    d << ". Fix: use a batch of ";
    if (below > 0) d << below << " or ";
    report.add(d << below + step << " rows.");
  }
  constexpr void imbalance() {
    if (p.roles < 2) return;
    int slowest = 0;
    int lightest = 0;
    for (int r = 0; r < p.roles; ++r) {
      if (flops(r) > flops(slowest)) slowest = r;
      if (flops(r) < flops(lightest)) lightest = r;
    }
    const std::int64_t most = flops(slowest);
    if (most == 0 || waiting_percent(p) < limits.imbalance_percent) return;
    Diagnosis d = Diagnosis{Code{'A', 3}, ""} << "stages are out of balance: stage " << slowest << " has " << most << " flops a row, stage "
                                              << lightest << " has " << flops(lightest) << ", so the " << p.roles << " stages wait for the slowest "
                                              << waiting_percent(p) << " % of the time";
    const std::int64_t best = balanced ? -1 : slowest_of_balanced_cut(p, order.in_turns);
    if (balanced) d << ", and Balanced<" << p.roles << "> finds no better cut";
    if (best >= 0) d << "; the slowest of Balanced<" << p.roles << "> has " << best;
    if (best >= 0 && 10 * best < 9 * slowest_of_cut(p, p.first_node, p.device_of_chunk, p.chunks))
      d << ". Fix: give stage " << slowest << " fewer layers, or name Balanced<" << p.roles << ">.";
    else
      d << ". Fix: use fewer stages, or smaller layers than " << p.graph->describe(largest_layer(slowest)).view() << '.';
    report.add(d);
  }
  [[nodiscard]] constexpr int largest_layer(int role) const {
    int found = -1;
    each_node(role, [&](int n) {
      if (found < 0 || p.graph->flops(n) > p.graph->flops(found)) found = n;
    });
    return found;
  }
  /// Where waiting for a slow stage is the larger part of it, A03 says so, and nothing else helps.
  constexpr void bubble() {
    if (p.roles < 2) return;
    const int idle = bubble_percent(p);
    const int waiting = waiting_percent(p);
    const int enough = micro_batches_for(p, order.in_turns ? p.roles : p.chunks, limits.bubble_percent);
    const bool few = !order.named || p.batch.micro_batches < enough;
    if (idle < limits.bubble_percent || waiting >= limits.bubble_percent) return;
    if (waiting >= limits.imbalance_percent && (!few || 2 * waiting > idle)) return;
    Diagnosis d{Code{'A', 4}, ""};
    if (order.named)
      d << p.batch.micro_batches << (p.batch.micro_batches == 1 ? " micro-batch" : " micro-batches") << " under " << order.name.view() << " over "
        << p.chunks << " stages leave stages idle " << idle << " % of a step. Fix: name ";
    else
      d << "without an order micro-batches pass the " << p.chunks << " stages one at a time, so stages are idle " << idle
        << " % of a step. Fix: name OneFOneB";
    if (!order.named && p.batch.micro_batches >= enough) return report.add(d << '.');
    const int wanted = few ? enough : 2 * p.batch.micro_batches;
    const int group = order.in_turns && p.chunks > p.roles ? p.roles : 1;
    const int accepted = accepted_micro_batches(p.batch, wanted, group);
    const char* const joint = order.named ? "" : accepted > 0 ? " and " : ", ";
    if (accepted > 0) return report.add(d << joint << "Microbatches<" << accepted << "> or more.");
    const int orderly = orderly_micro_batches(p.batch, wanted, group);
    const std::int64_t rows = rounded_up(p.batch.batch, rows_of_all_ranks(p.batch) * orderly);
    report.add(d << joint << "Microbatches<" << orderly << "> and a batch of " << rows << " rows.");
  }
  /// Chunks in turn divide the idle time, not the share: (S-1)/(V M + S-1) of a step instead of (S-1)/(M + S-1), for more messages and more values.
  /// Chunks of unequal work may even leave their devices idle for longer than whole stages would.
  constexpr void interleaving() {
    const std::int64_t s = p.roles;
    const std::int64_t m = p.batch.total_micro_batches();
    if (!order.in_turns || order.splits_backward || p.chunks == p.roles || s < 2) return;
    const std::int64_t idle = 100 * s * (s - 1) / (m * p.chunks + s * (s - 1));
    const std::int64_t otherwise = 100 * (s - 1) / (m + s - 1);
    const bool little = otherwise - idle < limits.interleaving_percent;
    const int idle_here = bubble_percent(p);
    const int idle_there = idle_of_balanced_stages(p);
    if (!little && (idle_there < 0 || idle_here < idle_there)) return;
    const std::int64_t passes = 2 * (s - 1) + p.chunks - s + 1;
    Diagnosis d = Diagnosis{Code{'A', 9}, ""} << order.name.view() << '<' << p.chunks / p.roles << "> sends " << 2 * (p.chunks - 1) * m
                                              << " messages between stages in a step where OneFOneB would send " << 2 * (s - 1) * m << ", and keeps "
                                              << (passes < m * p.chunks / s ? passes : m * p.chunks / s)
                                              << " passes of a chunk in flight where it keeps " << (m < s ? m : s) * p.chunks / s;
    if (little && idle_here == idle && idle_there == otherwise)
      d << ", for equal stages that are idle " << idle << " % of a step instead of " << otherwise << " %";
    else if (little && idle_there >= 0)
      d << ", for stages that are idle " << idle_here << " % of a step instead of " << idle_there << " % (equal ones " << idle << " instead of "
        << otherwise << " %)";
    else if (little)
      d << ", for stages that are idle " << idle_here << " % of a step (equal ones " << idle << " instead of " << otherwise << " %)";
    else
      d << ", for chunks of unequal work that leave stages idle " << idle_here << " % of a step, where " << s << " balanced stages are idle "
        << idle_there << " %";
    report.add(d << (balanced ? ". Fix: use OneFOneB." : ". Fix: use OneFOneB, with one stage on each device."));
  }
  constexpr void axes_of_one() {
    for (int i = 0; i < p.mesh.count; ++i)
      if (p.mesh.sizes[i] == 1)
        report.add(
            Diagnosis{Code{'A', 5}, ""} << "axis " << name_of(p.mesh.axes[i])
                                        << " has size 1, so its policy splits nothing. Fix: leave that policy out, or give it a size of 2 or more.");
  }
  constexpr void nothing_to_train() {
    for (int r = 0; r < p.roles && p.roles > 1; ++r) {
      if (layers_with_parameters(r) > 0) continue;
      Diagnosis d = Diagnosis{Code{'A', 6}, ""} << "stage " << r << " holds no parameters, only ";
      const char* comma = "";
      int layers = 0;
      each_node(r, [&](int n) {
        if (++layers > 3) return;
        d << comma << p.graph->leaf(n).spelled.view();
        comma = ", ";
      });
      report.add((layers > 3 ? d << " and others" : d) << ". Fix: join it with a neighbouring stage.");
    }
  }
  /// The gradients of one stage, by what they are reduced in: Linear<16, 16> has 1 bucket, of 272 elements in 1,024 with padding.
  struct Reduced {
    std::int64_t payload = 0;
    std::int64_t elements = 0;
    int buckets = 0;
  };
  [[nodiscard]] constexpr Reduced reduced(int role) const {
    Reduced all;
    for (int b = 0; b < p.bucket_count; ++b) {
      if (p.buckets[b].role != role) continue;
      all.payload += p.buckets[b].payload;
      all.elements += p.buckets[b].elements;
      ++all.buckets;
    }
    return all;
  }
  constexpr void one_bucket() {
    EarlyGradients most;
    int largest = -1;
    for (int r = 0; r < p.roles; ++r) {
      if (reduced(r).buckets != 1) continue;
      const EarlyGradients early = behind_the_first(p, r);
      if (early.payload <= most.payload) continue;
      largest = r;
      most = early;
    }
    if (p.batch.ranks == 1 || largest < 0 || float_bytes * most.payload < limits.overlap.value || most.bytes < 1024) return;
    const std::int64_t bytes = float_bytes * reduced(largest).payload;
    const std::int64_t quarter = (bytes / 4 + 1023) / 1024;
    report.add(
        Diagnosis{Code{'A', 7}, ""} << "the " << bytes << " bytes of gradients of stage " << largest
                                    << " are one bucket, so their reduction starts after the last backward and overlaps nothing. Fix: name Bucket<"
                                    << (quarter < most.bytes / 1024 ? quarter : most.bytes / 1024) << "_KiB> or smaller.");
  }
  constexpr void padding() {
    Reduced all;
    std::int64_t joined = 0;
    for (int r = 0; r < p.roles; ++r) {
      all.payload += reduced(r).payload;
      all.elements += reduced(r).elements;
      joined += joined_bytes(p, r);
    }
    if (p.batch.ranks == 1 || all.elements == 0) return;
    const std::int64_t percent = 100 * (all.elements - all.payload) / all.elements;
    if (percent < limits.padding_percent) return;
    report.add(
        Diagnosis{Code{'A', 8}, ""} << percent << " % of the " << float_bytes * all.elements
                                    << " bytes of gradients that are reduced are padding, since each layer or block fills a multiple of "
                                    << unit_bytes << " bytes. Fix: use wider layers"
                                    << (joined < float_bytes * all.elements ? ", or put small ones, or their Repeat, into one OneUnit<...>." : "."));
  }
};

/// The remarks on a program; `layout` is what the policies answered about cuts and micro-batches.
[[nodiscard]] constexpr AdviceReport advise(const Program& p, const Layout& layout, const AdviceLimits& limits = {}) {
  Adviser adviser{p, layout.order, layout.balanced, limits};
  adviser.few_rows();
  adviser.unused_rows();
  adviser.imbalance();
  adviser.bubble();
  adviser.axes_of_one();
  adviser.nothing_to_train();
  adviser.one_bucket();
  adviser.padding();
  adviser.interleaving();
  remark_on_whole_layers(adviser.report, p, limits.whole_percent);
  remark_on_whole_sequences(adviser.report, p, layout.splits_sequences);
  return adviser.report;
}

/// What a plan leaves unused, as values; never an error. Of a plan that is refused there are none, and what is asked about them compares as true.
///
/// Errors  none; the remarks have the codes A01 to A12
/// Tested  plan/advice_test
template <class ThePlan> [[nodiscard]] constexpr auto advice(const AdviceLimits& limits = {}) {
  if constexpr (Verdict<ThePlan>::found.code == Code{'L', 6}) heard(Refusal<ThePlan>{});  // what is no plan
  if constexpr (Verdict<ThePlan>::found.ok()) {
    AdviceReport report = advise(ThePlan::training, ThePlan::Request::layout, limits);
    remark_on_applied_twice<typename ThePlan::Request::Loss>(report, ThePlan::Request::graph);
    return report;
  } else {
    return RefusedAdvice{};
  }
}

}  // namespace heddle::plan_room

namespace heddle {
using plan_room::advice;
}  // namespace heddle
