// SPDX-License-Identifier: MIT
// Room: cost. What every entry, body and collective of a Program takes on a Machine, worked out once before a step is walked.
// Sees: plan/program, plan/read/each_collective, cost/{work_time, collective_time, layer_factors}.  Does not see: processes, threads, kernels.
// In: a Program, a Machine.  Out: PriceList.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "heddle/cost/cells.hpp"
#include "heddle/cost/collective_time.hpp"
#include "heddle/cost/layer_factors.hpp"
#include "heddle/cost/work_time.hpp"
#include "heddle/plan/read/each_collective.hpp"

namespace heddle::cost_room {

/// Shares of a batch that differ are priced apart: WeightedDataParallel<3, 1> of 128 rows has variants of 96 and 32 rows, an even batch has one.
class PriceList {
 public:
  constexpr PriceList(const Program& p, const Machine& m, bool by_rank, const LayerFactors& factors = {}) : p_(p), m_(m), factors_(factors) {
    variants_ = by_rank && p.batch.share_count > 0 ? p.batch.share_count : 1;
    for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies, p.weight_bodies})
      for (int c = 0; c < p.chunks && (p.training || bodies == p.forward_bodies); ++c)
        if (bodies[c].end > entries_) entries_ = bodies[c].end;
    entry_ = Cells<double>{variants_ * entries_};
    body_ = Cells<double>{variants_ * 3 * p.chunks};
    for (int v = 0; v < variants_; ++v)
      for (int pass = 0; pass < (!p.training ? 1 : p.splits_backward ? 3 : 2); ++pass)
        for (int c = 0; c < p.chunks; ++c) price(v, pass, c);
    GroupLevels spreads[axis_count];
    for (int a = 0; a < axis_count; ++a) spreads[a] = levels_of(m, p.mesh, static_cast<Axis>(a));
    collective_ = Cells<CollectiveCost>{p.collective_count};
    for (int c = 0; c < p.collective_count; ++c) {
      const Collective& of = p.collectives[c];
      collective_[c] = collective_cost(m, spreads[static_cast<int>(of.axis)], of.kind, float_bytes * static_cast<double>(of.floats()),
                                       of.source.region != of.target.region);
    }
  }
  /// Which prices a rank has that takes the share of this number.
  [[nodiscard]] constexpr int variant(int share) const { return variants_ == 1 ? 0 : share; }
  [[nodiscard]] constexpr double entry(int variant, int number) const { return entry_[variant * entries_ + number]; }
  /// Of a whole body, or below 0 if some entry waits for others or does not run in every micro-batch.
  [[nodiscard]] constexpr double body(int variant, const Instruction& line) const {
    const int pass = line.op == ListOp::forward ? 0 : line.op == ListOp::backward_weight ? 2 : 1;
    return body_[(variant * 3 + pass) * p_.chunks + line.chunk];
  }
  [[nodiscard]] constexpr const CollectiveCost& collective(int number) const { return collective_[number]; }

 private:
  constexpr void price(int variant, int pass, int chunk) {
    const IndexRange& body = pass == 0 ? p_.forward_bodies[chunk] : pass == 1 ? p_.backward_bodies[chunk] : p_.weight_bodies[chunk];
    const std::int64_t rows = variants_ == 1 ? p_.batch.micro_rows : std::int64_t{p_.batch.share_rows} * p_.batch.shares[variant];
    double sum = 0;
    bool simple = true;
    for (int e = body.begin; e < body.end; ++e) {
      const Entry& entry = p_.entries[e];
      simple = simple && entry.when == When::always && entry.collective < 0;
      sum += entry_[variant * entries_ + e] = entry_seconds(m_, p_, entry, rows) * factors_.of(entry);
    }
    body_[(variant * 3 + pass) * p_.chunks + chunk] = simple ? sum : -1;
  }

  const Program& p_;
  const Machine& m_;
  LayerFactors factors_;
  int variants_ = 1;
  int entries_ = 0;
  Cells<double> entry_;  // by variant and number in Program::entries
  Cells<double> body_;   // by variant, pass and chunk
  Cells<CollectiveCost> collective_;
};

}  // namespace heddle::cost_room
