// SPDX-License-Identifier: MIT
// Room: plan. How the global batch is divided: replicas, rounds, micro-batches, grains; and what a smaller batch means.
// Sees: policy answers, core.  Does not see: memory, processes, threads.
// In: Batch<B, Remedy>, Grain<R>, Accumulate<K> and a Layout.  Out: BatchDivision.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/an_object.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/plan/options/plan_part.hpp"
#include "heddle/plan/options/split_batch.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::plan_room {

enum class Remedy : std::uint8_t {
  none,  ///< every batch has exactly B rows
  drop,  ///< rows that do not fill the division are left out
  pad,   ///< missing rows are repeated from the front and count
  keep,  ///< missing rows are missing: the mean is over the rows that are there
  other  ///< something that is no remedy
};

/// Batch<B, DropLast>: a batch of fewer than B rows is skipped, and rows that the ranks do not divide are left out.
/// Tested  plan/options/batch_test, equivalence/last_batch_test
struct DropLast {
  static constexpr Remedy remedy = Remedy::drop;
};
/// Batch<B, PadLast>: a smaller batch is filled up by repeating its rows from the front; they count.
/// Tested  plan/options/batch_test, equivalence/last_batch_test
struct PadLast {
  static constexpr Remedy remedy = Remedy::pad;
};
/// Batch<B, KeepLast>: a smaller batch is taken as it is; the mean is over the rows that are there, wherever they fall.
/// Tested  plan/options/batch_test, equivalence/last_batch_test
struct KeepLast {
  static constexpr Remedy remedy = Remedy::keep;
};

/// Batch<B>: every batch has exactly B rows.
/// Errors  B01 at build if they do not divide, B05 at run time if there are fewer
/// Tested  plan/options/batch_test
struct NoRemedy {
  static constexpr Remedy remedy = Remedy::none;
};

/// The rows of one optimizer step over all ranks; a capacity where a remedy is named.
///
/// Errors  B01 if it does not divide and no remedy is named, B02 if it is smaller than its parts, B10 for what is no remedy, B11 if counts are too
///         large; B05, B06 at run time
/// Tested  plan/options/batch_test, fail/B10_grain_in_a_batch
template <int Rows, class What = NoRemedy> struct Batch {
  static constexpr PlanPart plan_part = PlanPart::batch;
  using remedy_named = What;
  static constexpr int batch_rows = Rows;
  static constexpr Remedy batch_remedy = [] {
    if constexpr (requires { What::remedy; })
      return What::remedy;
    else
      return Remedy::other;
  }();
};
template <int Rows> struct Batch<Rows, AnObject> : AnObject { using AnObject::AnObject; };  // L16
template <class First, class... More> Batch(const First&, const More&...) -> Batch<1, AnObject>;

/// Rows that are summed as one before the fixed tree begins; default: a micro-batch of a replica.
///
/// Shape   with KeepLast a micro-batch has room for whole grains: of Batch<48> over 2 ranks with Grain<16> ranks take 32 and 16 rows
/// Errors  B03 if it does not divide a micro-batch under another remedy or none, B04 if counts are no powers of two
/// Source  sources.md#reproducible-sums
/// Tested  plan/options/batch_test, equivalence/data_parallel_test
template <int Rows> struct Grain {
  static constexpr PlanPart plan_part = PlanPart::grain;
  static constexpr int grain_rows = Rows;
};

/// Sums of gradients follow one fixed tree over the grains of the batch, whatever the layout.
///
/// Errors  B04 if counts are no powers of two
/// Source  sources.md#reproducible-sums
/// Tested  plan/options/batch_test
struct Reproducible {
  static constexpr PlanPart plan_part = PlanPart::reproducible;
};

/// K rounds of micro-batches before each optimizer step.
///
/// Shape   batch (B, ...) becomes K rounds (B/K, ...)
/// Errors  B01 if they do not divide and no remedy is named, B02 if K < 1
/// Tested  plan/options/batch_test, equivalence/accumulate_test
template <int Rounds> struct Accumulate {
  static constexpr PlanPart plan_part = PlanPart::accumulate;
  static constexpr int accumulate_rounds = Rounds;
};

/// The division of the batch; B rows over N ranks, K rounds, M micro-batches, grains of R rows: 64 over 4 ranks in 2 are 8.
struct BatchDivision {
  int batch = 0;  ///< B
  Remedy remedy = Remedy::none;
  int ranks = 1;                      ///< N: product of the axes that split the batch
  int rounds = 1;                     ///< K
  int micro_batches = 1;              ///< M, of one round
  int micro_rows = 0;                 ///< rows of one micro-batch on one rank, at most
  int shares[Layout::most_shares]{};  ///< by coordinate on axis data, the outermost that splits the batch; share_count 0: even
  int share_count = 0;
  int share_rows = 0;  ///< rows of a micro-batch for a share of 1
  int grain_rows = 0;  ///< R
  bool tree = false;   ///< sums follow the fixed tree
  bool grain_named = false;
  Diagnosis fault;

  [[nodiscard]] constexpr int total_micro_batches() const { return rounds * micro_batches; }
  [[nodiscard]] constexpr int grains() const { return micro_rows / grain_rows; }  ///< of one micro-batch
  [[nodiscard]] constexpr int rank_grains() const { return grains() * total_micro_batches(); }
  [[nodiscard]] constexpr int rank_rows() const { return micro_rows * total_micro_batches(); }
  [[nodiscard]] constexpr int capacity() const { return first_row_of(ranks); }
  /// Rows of a micro-batch for the rank at a position among those that split the batch.
  [[nodiscard]] constexpr int micro_rows_of(int position) const {
    return share_count == 0 ? micro_rows : share_rows * shares[position / (ranks / share_count)];
  }
  /// First row of a position in the batch; of one behind the last, the rows of all.
  [[nodiscard]] constexpr int first_row_of(int position) const {
    if (share_count == 0) return position * rank_rows();
    int micro = 0;
    for (int p = 0; p < position; ++p) micro += micro_rows_of(p);
    return micro * total_micro_batches();
  }
  /// Rows of a full batch for a position, all its micro-batches together: 15 for the last of Batch<63, KeepLast> over 4 ranks, the others have 16.
  [[nodiscard]] constexpr int rows_of(int position) const {
    const int first = first_row_of(position);
    const int end = first_row_of(position + 1);
    return (end < batch ? end : batch) - (first < batch ? first : batch);
  }
  [[nodiscard]] constexpr int ranks_without_rows() const {
    if (share_count == 0) return capacity() > batch ? ranks - (batch + rank_rows() - 1) / rank_rows() : 0;
    int none = 0;
    for (int first = capacity(); none < ranks; ++none)
      if (first -= micro_rows_of(ranks - none - 1) * total_micro_batches(); first < batch) break;
    return none;
  }
  /// Levels of the binary counter that adds grains: floor(log2(grains)) + 1; one if sums are not a tree.
  [[nodiscard]] constexpr int levels() const {
    int n = 1;
    if (tree)
      while (rank_grains() >> n > 0) ++n;
    return n;
  }
};

/// The axes that may split the batch in the one canonical order, innermost first.
inline constexpr Axis batch_axes[] = {Axis::shard, Axis::data};

[[nodiscard]] constexpr bool power_of_two(int n) { return n > 0 && (n & (n - 1)) == 0; }

/// B04: grains per rank and all batch-splitting axes but the outermost must be powers of two, or the tree depends on the layout.
constexpr void check_tree(const Layout& layout, bool regrouped, BatchDivision& d) {
  const auto refuse = [&](std::string_view what, int n) {
    d.fault = Diagnosis{Code{'B', 4}, ""} << "sums are to be reproducible, but " << what << n << ", which is no power of two, while " << d.ranks
                                          << " ranks split the batch. Fix: make that number a power of two, or drop Grain and Reproducible.";
  };
  if (regrouped) {
    d.fault = Diagnosis{Code{'B', 7}, ""}
              << "sums are to be reproducible, but a stage reads a value of an earlier stage more than once and a later stage reads it "
                 "too, so its gradient is added in another order than on one device. Fix: do not cut through nested Residuals.";
    return;
  }
  if (d.share_count > 0) {
    d.fault = Diagnosis{Code{'B', 4}, ""} << "sums are to be reproducible, but the " << d.share_count
                                          << " replicas take unequal shares of the batch. Fix: use DataParallel<" << d.share_count
                                          << ">, or drop Grain and Reproducible.";
    return;
  }
  if (!layout.order.in_sequence) {
    d.fault =
        Diagnosis{Code{'B', 4}, ""} << "sums are to be reproducible, but the order visits micro-batches out of sequence. Fix: use another order, "
                                       "or drop Grain and Reproducible.";
    return;
  }
  if (d.ranks > 1 && !power_of_two(d.rank_grains())) return refuse("the number of grains per rank is ", d.rank_grains());
  int outer = d.ranks;
  for (const Axis a : batch_axes) {
    if (!layout.batch_split[static_cast<int>(a)]) continue;
    const int n = layout.mesh.size(a);
    outer /= n;
    if (outer > 1 && !power_of_two(n)) return refuse("the size of an inner axis is ", n);
  }
}

/// What a plan asks of its batch, as data: Batch<64, PadLast> and Accumulate<2> are batch 64, Remedy::pad and 2 rounds.
struct BatchRequest {
  int batch = 0;
  Remedy remedy = Remedy::none;
  int rounds = 1;
  int grain_rows = 0;  // 0: a micro-batch of a replica; below 0: a Grain that names no rows
  bool reproducible = false;
  bool regrouped = false;  // cuts bracket the sum of some gradient in another way than one device does
};

/// "4 ranks x 3 rounds x 2 micro-batches"; a factor of one is left out.
constexpr Diagnosis& name_parts(Diagnosis& sentence, const BatchDivision& d) {
  const char* before = "";
  const auto add = [&](int count, const char* what, bool always = false) {
    if (count > 1 || always) sentence << before << count << what, before = " x ";
  };
  add(d.ranks, d.share_count > 0 ? " ranks with unequal shares" : " ranks", d.share_count > 0);
  add(d.rounds, " rounds");
  add(d.micro_batches, " micro-batches");
  return sentence;
}

/// Divides the batch by what the policies answered.
[[nodiscard]] constexpr BatchDivision divide_batch(const Layout& layout, const BatchRequest& request) {
  BatchDivision d;
  d.batch = request.batch;
  d.remedy = request.remedy;
  d.grain_rows = d.micro_rows = 1;
  if (!layout.fault.ok()) return d;  // which is told instead
  if (d.fault = check_divided_by(layout); !d.fault.ok()) return d;
  d.ranks = layout.batch_ranks();
  d.rounds = request.rounds;
  d.micro_batches = layout.micro_batches;
  d.grain_named = request.grain_rows != 0;
  d.share_count = layout.share_count;
  std::int64_t shares = d.share_count == 0 ? 1 : 0;  // parts of the batch for one rank of the inner axes, and the largest of them
  int most = 1;
  for (int i = 0; i < d.share_count; ++i) {
    d.shares[i] = layout.shares[i];
    shares += d.shares[i];
    if (d.shares[i] > most) most = d.shares[i];
  }
  if (request.grain_rows < 0) {
    d.fault = Diagnosis{Code{'B', 3}, ""} << "a Grain of no rows sums nothing. Fix: name Grain<1> or more, or no Grain.";
    return d;
  }
  if (request.rounds < 1 || request.batch < 1) {
    const bool rows = request.batch < 1;
    d.fault = Diagnosis{Code{'B', 2}, rows ? "Batch<" : "Accumulate<"} << (rows ? request.batch : request.rounds)
                                                                       << "> leaves nothing to compute. Fix: give it at least 1.";
    return d;
  }
  const std::int64_t micro_batches = bounded_product(d.rounds, d.micro_batches);
  const std::int64_t parts = bounded_product(bounded_product(d.ranks / (d.share_count == 0 ? 1 : d.share_count), shares), micro_batches);
  if (parts > Layout::most_count) {
    d.fault = Diagnosis{Code{'B', 11}, ""} << "Batch<" << d.batch << "> is split by ";
    name_parts(d.fault, d) << ", more parts than the " << Layout::most_count << " rows that a batch may have. Fix: name fewer of them.";
    d.rounds = d.micro_batches = 1;
    return d;
  }
  if (d.batch < parts) {
    d.fault = Diagnosis{Code{'B', 2}, ""} << "Batch<" << d.batch << "> is smaller than the ";
    name_parts(d.fault, d) << " that split it. Fix: use a batch of at least " << parts << " rows.";
    return d;
  }
  if (d.batch % parts != 0 && d.remedy == Remedy::none) {
    d.fault = Diagnosis{Code{'B', 1}, ""} << "Batch<" << d.batch << "> does not divide by ";
    name_parts(d.fault, d) << ". Fix: use " << d.batch / parts * parts << " or " << (d.batch / parts + 1) * parts
                           << " rows, or name DropLast, PadLast or KeepLast.";
    return d;
  }
  const std::int64_t share_rows = d.remedy == Remedy::drop ? d.batch / parts : (d.batch + parts - 1) / parts;
  std::int64_t micro_rows = most * share_rows;
  const std::int64_t grain = d.grain_named ? request.grain_rows : micro_rows;
  const bool uneven = micro_rows % grain != 0;
  const bool fills_up = uneven && d.remedy == Remedy::keep;  // rows that fill no grain are missing from the last one under every layout
  if (fills_up) micro_rows = (micro_rows / grain + 1) * grain;
  if (const std::int64_t room = micro_rows / most * parts; room > Layout::most_count) {
    d.fault = Diagnosis{Code{'B', 11}, ""} << "Batch<" << d.batch << "> in equal parts of whole grains needs room for " << room << " rows, at most "
                                           << Layout::most_count << " are counted. Fix: use a smaller batch.";
    return d;
  }
  d.share_rows = static_cast<int>(share_rows);
  d.micro_rows = static_cast<int>(micro_rows);
  d.grain_rows = static_cast<int>(uneven && !fills_up ? micro_rows : grain);
  if (uneven && !fills_up) {
    d.fault = Diagnosis{Code{'B', 3}, ""} << "Grain<" << request.grain_rows << "> does not divide the " << d.micro_rows
                                          << " rows of a micro-batch. Fix: use a grain that divides " << d.micro_rows << '.';
    return d;
  }
  const bool asked = request.reproducible || d.grain_named;
  d.tree = asked || (d.rank_grains() == 1 && d.share_count == 0);
  if (d.tree) check_tree(layout, request.regrouped, d);
  if (!asked && !d.fault.ok()) {  // one grain a rank, but the tree depends on the layout: is_reproducible says so
    d.tree = false;
    d.fault = {};
  }
  return d;
}

}  // namespace heddle::plan_room

namespace heddle {
using plan_room::Accumulate, plan_room::Batch, plan_room::DropLast, plan_room::Grain, plan_room::KeepLast, plan_room::PadLast,
    plan_room::Reproducible;
}  // namespace heddle
