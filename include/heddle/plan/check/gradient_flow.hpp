// SPDX-License-Identifier: MIT
// Room: plan. From gradients of parameters, as the backwards leave them, to the step: which axes a sum is still to be taken over, at every line.
// Sees: plan/check/{bucket_flow, last_lines}, plan/program, graph.  Does not see: lowering, policies, processes, threads.
// In: a Program.  Out: ok, or S17 with the device, the bucket or the loss, and the axis.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/bucket_flow.hpp"
#include "heddle/plan/check/last_lines.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/check/told_flow.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Follows the gradients of one device after another through the bodies of the last micro-batch and the lines around them. S05 has said that each
/// micro-batch adds its gradients once and that they come in sequence, so those of the last one complete the sum.
/// Of 4 micro-batches it follows number 3.
/// Tested  plan/check/gradient_flow_test
struct GradientFlow {
  const Program& p;
  BucketFlow* buckets;      ///< zeroed
  std::int16_t* bucket_of;  ///< (nodes): found by where parameters lie; -1 less the bucket once it is made
  std::int8_t* arrived;     ///< (uses), zeroed for each device: gradients of tied parameters
  std::int8_t* sending;     ///< (uses)
  LastLines lines;
  Diagnosis fault{};
  const Graph& graph = *p.graph;
  int role = 0;
  int last = p.batch.total_micro_batches() - 1;
  std::uint8_t batch_axes_of_plan = 0;
  FlowSum loss{};
  bool loss_made = false;
  int reports = 0;
  ToldFlow told{};

  constexpr void run() {
    for (int k = 0; k < p.mesh.count; ++k)
      if (p.mesh.sizes[k] > 1 && p.batch_split[static_cast<int>(p.mesh.axes[k])]) batch_axes_of_plan |= bit(p.mesh.axes[k]);
    if (p.training) fault = place_parameters(p, buckets, bucket_of);
    for (int b = 0; b < p.bucket_count && p.training; ++b) buckets[b].sum.along = batch_axes_of_plan;
    for (role = 0; role < p.roles && fault.ok(); ++role) device();
  }

 private:
  static constexpr std::string_view fix = ". Fix: make each gradient, sum it once over every axis that splits the batch, then step it once.";
  [[nodiscard]] static constexpr std::uint8_t bit(Axis a) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(a)); }
  constexpr Diagnosis& refuse() { return fault = Diagnosis{Code{'S', 17}, ""} << "device " << role; }
  constexpr void refuse(std::string_view what, int bucket, std::string_view why) {
    refuse() << what << "the gradients of bucket " << bucket << why << fix;
  }
  constexpr void refuse_along(int bucket, std::string_view why, int axis) {
    refuse() << " reduces ";
    if (bucket >= 0) fault << "the gradients of bucket " << bucket;
    fault << (bucket == the_loss    ? "the loss"
              : bucket == the_norm  ? "the norm or flag"
              : bucket == the_guard ? "the flag of the loss"
                                    : "")
          << why << name_of(static_cast<Axis>(axis)) << fix;
  }

  // ---- one device
  constexpr void device() {
    told.open(p);
    loss_made = false;
    reports = 0;
    loss.along = batch_axes_of_plan;
    for (int u = 0; u < p.use_count; ++u) arrived[u] = sending[u] = 0;
    lines.open(role);
    if (lines.early_loss >= 0)
      return void(refuse() << " adds up the loss in the forward of micro-batch " << last << ", before that of micro-batch "
                           << static_cast<int>(p.instructions[lines.early_loss].micro_batch) << " is made" << fix);
    for (int i = lines.next(); i >= 0 && fault.ok(); i = lines.next()) visit(p.instructions[i]);
    if (fault.ok()) close();
  }
  constexpr void close() {
    for (int b = 0; b < p.bucket_count && p.training && fault.ok(); ++b) {
      if (p.buckets[b].role != role) continue;
      const int steps = p.buckets[b].steps() ? 1 : 0;
      if (buckets[b].steps != steps) return refuse(" never steps ", b, "");
      if (gathers_what_is_stepped(p.storage) && buckets[b].gathers != 2 * steps) return refuse(" does not gather what it has stepped with ", b, "");
      if (buckets[b].sum.moving >= 0) return refuse(" never waits for a reduction of ", b, "");
    }
    if (reports != (role == p.loss_role() ? 1 : 0)) return void(refuse() << " reports the loss " << reports << " times, not once" << fix);
    if (p.training && told.moving()) refuse() << " never waits for a reduction of the norm" << fix;
  }
  constexpr void visit(const Instruction& line) {
    const int b = line.bucket;
    switch (line.op) {
      case ListOp::forward:
        if (line.chunk + 1 == p.chunks) loss_made = true;
        return;
      case ListOp::backward:
      case ListOp::backward_input:
      case ListOp::backward_weight: return body(p.body(line));
      case ListOp::send_start:
      case ListOp::send_wait:
      case ListOp::receive_wait:
        if (line.transfer >= 0 && p.transfers[line.transfer].use >= 0) tied_transfer(line.op, p.transfers[line.transfer]);
        return;
      case ListOp::reduce_start:
      case ListOp::reduce_wait: return reduce(line, line.op == ListOp::reduce_start);
      case ListOp::report: return report();
      case ListOp::step: return step(b);
      case ListOp::gather_start: return gather(b, 0);
      case ListOp::gather_wait: return gather(b, 1);
      case ListOp::norm:
      case ListOp::unscale: return look();
      case ListOp::guard: return said(told.guard(role == p.loss_role(), loss_made));
      case ListOp::skip: return said(told.skip());
      case ListOp::clip: return said(told.clip());
      case ListOp::tie: return tie(b);
      default: return;
    }
  }

  // ---- bodies that make gradients
  constexpr void body(const IndexRange& range) {
    for (int e = range.begin; e < range.end && fault.ok(); ++e) {
      const Entry& entry = p.entries[e];
      switch (entry.what) {
        case BodyOp::leaf_backward:
        case BodyOp::leaf_backward_weight:
          if (gradients_of(graph.nodes[entry.node]) > 0) make(entry.node);
          break;
        case BodyOp::reduce_parameter: along_tensor(range, e); break;
        case BodyOp::reduce_start:
          if (in_time(entry)) start(entry.bucket, static_cast<int>(entry.axis));
          break;
        case BodyOp::reduce_wait:
          if (in_time(entry)) wait(entry.bucket, static_cast<int>(entry.axis));
          break;
        default: break;
      }
    }
  }
  /// Once more is harmless where it writes the same again (DataFlow), but counts once.
  constexpr void make(int node) {
    const int b = bucket_of[node] < 0 ? -1 - bucket_of[node] : bucket_of[node];
    if (buckets[b].sum.along != batch_axes_of_plan || buckets[b].sum.moving >= 0)
      return refuse(" makes more of ", b, " after their reduction is started");
    if (bucket_of[node] >= 0) --buckets[b].left;
    bucket_of[node] = static_cast<std::int16_t>(-1 - b);
  }
  /// What is reduced to slices in every backward is reduced for each micro-batch; the sum of all is reduced once.
  [[nodiscard]] constexpr bool for_each_micro_batch(int axis) const { return p.storage.gradients && axis == static_cast<int>(p.storage.axis); }
  [[nodiscard]] constexpr bool runs_as_often(When when, bool each) const {
    return last == 0 ? when != When::reporting : when == (each ? When::always : When::last_micro_batch);
  }
  constexpr bool in_time(const Entry& entry) {
    if (runs_as_often(entry.when, for_each_micro_batch(static_cast<int>(entry.axis)))) return true;
    refuse_along(entry.bucket, last == 0 ? " only if asked for, over axis " : " for other micro-batches than have made them, over axis ",
                 static_cast<int>(entry.axis));
    return false;
  }
  /// A gradient of which each rank of axis tensor has a term is summed once, after it is made and before the bucket is reduced.
  constexpr void along_tensor(const IndexRange& range, int at) {
    const Entry& entry = p.entries[at];
    const int n = entry.node;
    const bool partial = entry.bucket < gradients_of(graph.nodes[n]) && graph.signature(n).parameter_gradients[entry.bucket].partial();
    int before = 0;
    bool is_made = false;
    for (int e = range.begin; e < at; ++e) {
      const Entry& other = p.entries[e];
      if (other.node != n) continue;
      is_made = is_made || other.what == BodyOp::leaf_backward || other.what == BodyOp::leaf_backward_weight;
      before += other.what == BodyOp::reduce_parameter && other.bucket == entry.bucket ? 1 : 0;
    }
    if (partial && is_made && before == 0 && entry.axis == Axis::tensor && runs_as_often(entry.when, p.storage.gradients) &&
        buckets[-1 - bucket_of[n]].sum.moving < 0)
      return void(--buckets[-1 - bucket_of[n]].left);
    fault = Diagnosis{Code{'S', 17}, ""} << "the gradient of parameter " << static_cast<int>(entry.bucket) << " of " << graph.describe(n).view()
                                         << " is summed over axis " << name_of(entry.axis)
                                         << (!partial  ? ", along which it is no term"
                                             : is_made ? " another time"
                                                       : " before it is made")
                                         << fix;
  }

  // ---- sums over ranks
  static constexpr int the_loss = -1, the_norm = -2, the_guard = -3;  // beside the buckets
  /// One collective has the norm and flags.
  constexpr void reduce(const Instruction& line, bool starts) {
    const int axis = static_cast<int>(line.axis);
    const bool of_loss = p.moves(line, Purpose::loss);
    const int first = line.bucket >= 0 ? line.bucket : of_loss ? the_loss : told.tells_of_gradients(line) ? the_norm : the_guard;
    starts ? start(first, axis) : wait(first, axis);
    if (first == the_norm && told.tells_of_loss(line) && fault.ok()) starts ? start(the_guard, axis) : wait(the_guard, axis);
  }
  [[nodiscard]] constexpr FlowSum& sum_of(int bucket) {
    return bucket == the_loss ? loss : bucket == the_norm ? told.of_gradients : bucket == the_guard ? told.of_loss : buckets[bucket].sum;
  }
  constexpr void start(int b, int axis) {
    FlowSum& sum = sum_of(b);
    if (b >= 0 && p.buckets[b].role != role) return refuse(" reduces ", b, ", which is another device's");
    if (b >= 0 && buckets[b].left > 0) return refuse_along(b, " before all of them are made, over axis ", axis);
    if (b >= 0 && (buckets[b].steps > 0 || buckets[b].looked_at || buckets[b].tied))
      return refuse_along(b, " after their norm, sum or step, over axis ", axis);
    if (b == the_loss && !loss_made) return refuse_along(b, " before it is made, over axis ", axis);
    if ((b == the_norm && !told.looked) || (b == the_guard && !told.guarded)) return refuse_along(b, " before it is found, over axis ", axis);
    if (sum.moving >= 0) return refuse_along(b, " while another of its reductions is under way, over axis ", axis);
    if (!sum.along_axis(axis)) return refuse_along(b, ", which is no term of a sum, over axis ", axis);
    const int sliced = static_cast<int>(p.storage.axis);
    if (b >= 0 && p.storage.parts > 1 && axis != sliced && sum.along_axis(sliced))
      return refuse_along(b, " before they are reduced to slices, of which this would reduce one only, over axis ", axis);
    sum.moving = axis;
  }
  constexpr void wait(int b, int axis) {
    FlowSum& sum = sum_of(b);
    if (sum.moving != axis) return refuse_along(b, ", or waits for it, without a start over axis ", axis);
    sum.moving = -1;
    sum.along = static_cast<std::uint8_t>(sum.along & ~(1U << static_cast<unsigned>(axis)));
  }
  constexpr bool whole(int b, std::string_view doing) {
    const BucketFlow& bucket = buckets[b];
    if (bucket.left > 0)
      refuse(doing, b, " before all of them are made");
    else if (!bucket.sum.whole())
      refuse() << doing << "the gradients of bucket " << b << ", of which each rank still has a term along axis " << name_of(bucket.sum.next_axis())
               << fix;
    return fault.ok();
  }
  constexpr void report() {
    if (role != p.loss_role()) return void(refuse() << " reports the loss, which is another device's" << fix);
    if (!loss_made) return void(refuse() << " reports the loss before it is made" << fix);
    if (!loss.whole())
      return void(refuse() << " reports the loss, of which each rank still has a term along axis " << name_of(loss.next_axis()) << fix);
    ++reports;
  }

  // ---- what is done with whole gradients
  constexpr void look() {
    if (told.looked || !(p.clips || p.scales_loss)) return void(refuse() << " looks at its gradients another time" << fix);
    for (int b = 0; b < p.bucket_count; ++b) {
      if (p.buckets[b].role != role) continue;
      if (buckets[b].shares && p.buckets[b].steps() && !buckets[b].tied) return refuse(" looks at ", b, " before those of all uses are added up");
      if (!whole(b, " looks at ")) return;
      buckets[b].looked_at = true;
    }
    told.looked = true;
  }
  constexpr void said(const ToldFault& wrong) {
    if (wrong.ok()) return;
    refuse() << wrong.doing << wrong.what << (wrong.axis < 0 ? "" : name_of(static_cast<Axis>(wrong.axis))) << fix;
  }
  constexpr void step(int b) {
    if (p.buckets[b].role != role || !p.buckets[b].steps()) return refuse(" steps ", b, ", which are not stepped here");
    if (buckets[b].steps++ > 0) return refuse(" steps twice ", b, "");
    if (buckets[b].shares && !buckets[b].tied) return refuse(" steps ", b, " before those of all uses are added up");
    if (!whole(b, " steps ")) return;
    if (!told.decided()) return refuse(" steps ", b, " before it knows whether to skip");
    if (p.clips && !told.clipped) return refuse(" steps ", b, " before they are clipped");
  }
  constexpr void gather(int b, int was) {
    if (p.buckets[b].role != role || !gathers_what_is_stepped(p.storage) || buckets[b].steps != 1 || buckets[b].gathers != was)
      return refuse(was == 0 ? " gathers parameters that are not stepped, or twice, with " : " waits for a gather that is not under way, with ", b,
                    "");
    ++buckets[b].gathers;
  }

  // ---- tied parameters
  constexpr void tied_transfer(ListOp op, const Transfer& t) {
    const int b = p.uses[t.use].bucket;
    if (op == ListOp::receive_wait) return void(++arrived[t.use]);
    if (op == ListOp::send_wait) return void(--sending[t.use]);
    if (buckets[b].tied) return refuse(" sends the sum for a term: ", b, "");
    if (whole(b, " sends ")) ++sending[t.use];
  }
  constexpr void tie(int b) {
    int own = 0;
    while (own < p.use_count && (p.uses[own].bucket != b || p.uses[own].role != role)) ++own;
    if (own == p.use_count || !p.buckets[b].steps() || buckets[b].tied) return refuse(" adds up another time, or not here, ", b, "");
    int uses = 0;
    for (int u = 0; u < p.use_count; ++u) {
      if (p.uses[u].owner != p.uses[own].owner) continue;
      ++uses;
      if (p.uses[u].role == role ? !whole(p.uses[u].bucket, " adds up ") : arrived[u] != 1) {
        if (fault.ok()) refuse(" adds up ", b, ", but those of another use have not arrived once");
        return;
      }
      if (sending[u] != 0) return refuse(" adds up over ", b, ", which are still being sent");
    }
    int sharing = 0;
    for (int n = 0; n < graph.node_count; ++n) sharing += graph.owner(n) == p.uses[own].owner ? 1 : 0;
    if (uses != sharing) return refuse(" adds up ", b, ", but not of all layers that share the parameters");
    buckets[b].tied = true;
  }
};

}  // namespace heddle::plan_room
