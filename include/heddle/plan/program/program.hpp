// SPDX-License-Identifier: MIT
// Room: plan. The Program: per role a list of instructions, per chunk and direction a body of entries; what is checked is what runs.
// Sees: policy answers, mesh, graph, core.  Does not see: processes, threads, kernels.
// In: the lowering.  Out: Program, a view over constexpr arrays.
#pragma once

#include <cstdint>

#include "heddle/core/units.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/graph/loss.hpp"
#include "heddle/mesh/mesh.hpp"
#include "heddle/plan/options/batch.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/before_step.hpp"
#include "heddle/plan/program/collective.hpp"
#include "heddle/plan/program/groups.hpp"
#include "heddle/plan/program/region.hpp"

namespace heddle::plan_room {

enum class ListOp : std::uint8_t {
  forward,
  backward,  // whole, or its two parts under an order that splits it:
  backward_input,
  backward_weight,
  send_start,
  send_wait,
  receive_start,
  receive_wait,
  reduce_start,
  reduce_wait,
  report,
  step,
  gather_start,
  gather_wait,
  norm,     // squares of this rank's gradients, one sum a unit
  clip,     // the factor of the step, from the norm of all
  unscale,  // this rank's gradients are divided by the loss scale, a flag says whether one is Inf or NaN; squares as well if the plan clips
  skip,     // whether all ranks step, from the flags of all
  tie,      // the gradients of all uses of tied parameters, of this role and arrived from others, are added into the bucket that is stepped
  guard     // a flag says whether a loss of this rank is not finite
};
[[nodiscard]] constexpr bool computes(ListOp op) { return op <= ListOp::backward_weight; }
/// What gradients are sent after, and received for.
[[nodiscard]] constexpr bool passes_gradients(ListOp op) { return op == ListOp::backward || op == ListOp::backward_input; }

/// When an instruction or entry applies.
enum class When : std::uint8_t { always, last_micro_batch, reporting, first_micro_batch, later_micro_batches };

/// One line of a role's list. A WAIT has the token of its START: both lines of the first transfer of a role have token 0.
struct Instruction {
  ListOp op = ListOp::forward;
  When when = When::always;
  Axis axis = Axis::data;         // reductions and gathers
  std::int16_t chunk = -1;        // computes
  std::int16_t micro_batch = -1;  // computes and transfers
  std::int16_t transfer = -1;     // sends and receives: number in Program::transfers
  std::int16_t peer = -1;         // sends and receives: role at the other end
  std::int16_t bucket = -1;       // reductions of gradients, gathers and steps
  std::int32_t token = -1;        // pairs START and WAIT within the role
  std::int32_t sequence = -1;     // k-th start of its channel in this step
  std::int16_t collective = -1;   // reductions and gathers: number in Program::collectives
};

/// Where a tensor lies: a fixed offset in the arena, or an offset in the slot that the micro-batch has in a pool: {3, 64} is byte 64 of it in pool 3.
struct Place {
  static constexpr std::int16_t nowhere = -2;
  static constexpr std::int16_t scratch = -1;
  std::int16_t pool = nowhere;
  std::int64_t offset = 0;  // [bytes]
  [[nodiscard]] constexpr bool set() const { return pool != nowhere; }
  friend constexpr bool operator==(const Place&, const Place&) = default;
};

enum class BodyOp : std::uint8_t {
  load_input,
  load_targets,
  leaf_forward,
  add,
  copy,
  loss,
  leaf_backward,  // whole, or its two parts in the bodies of a split backward:
  leaf_backward_input,
  leaf_backward_weight,
  store_output,
  reduce_start,
  reduce_wait,
  gather_start,
  gather_wait,
  reduce_value,      // start and wait: d is a term of a sum on every rank of the axis and becomes the sum
  gather_value,      // start and wait: a is a part on every rank, d becomes the whole; b is room for the parts as they arrive
  scatter_value,     // start and wait: a is a term on every rank, d becomes the own part of the sum; b is room for the parts as they leave
  slice_value,       // a is whole, d becomes the own part
  reduce_parameter,  // as reduce_value, of the gradient of parameter `bucket` of the leaf, where it lies in the flat buffer
  loss_terms,        // of the own part of the output, where the loss takes parts
  zero_gaps,         // between the tensors of a unit in the ring of its gradient: other units left there what would be reduced with it
  add_slice,         // what a later micro-batch has reduced of a unit, to the sum of those before
  sum_grains,        // d has what each grain tells between two phases of a leaf, line by line; the first becomes the sum along the grain tree
  reduce_phase       // start and wait: d is this rank's term of that sum and becomes the sum along the axis
};

/// One line of a body. Tensors of R rows a grain lie grain by grain, each grain at a multiple of 64 bytes.
struct Entry {
  BodyOp what = BodyOp::copy;
  When when = When::always;
  Axis axis = Axis::data;
  std::int8_t operand = 0;                  // leaf_backward of a leaf of two operands: whose gradient it makes; load_input: the input of the model
  std::int8_t phase = 0;                    // of a leaf with phases: which, counted from 1; 0: the kernel is called once
  ElementType type = ElementType::float32;  // of what load_input, copy and what lays a value another way write
  bool fused = false;                       // the next entry takes what this one makes, and a kernel may run both at once, piece by piece
  std::int16_t bucket = -1;                 // reductions, gathers, gaps and slices of units; reduce_parameter: number of the parameter in its leaf
  std::int16_t collective = -1;             // of reductions and gathers, also of values, and of what adds a slice: number in Program::collectives
  std::int32_t node = -1;
  std::int64_t features = 0;  // of the tensors of add, copy, load, loss, store; of the whole in reduce, gather, scatter, slice; told by a grain
  std::int64_t runs = 1;      // gather, scatter, slice: of consecutive elements that one row of a part has
  Place a;                    // leaf_forward, loss, loss_terms, store, copy: input; leaf_backward and its parts: saved input; add: first operand
  Place b;                    // leaf_backward: saved output; add, leaves of two operands: the second; loss, loss_terms: targets; of a phase: told
  Place c;                    // leaf_backward: gradient of the output; loss: terms of all parts, rank by rank in each row; loss_terms: its terms
  Place d;                    // what is written: output, gradient of the input, gradient of the loss; loss_terms: what loss makes a gradient of
  Place e;                    // leaf_forward: statistics, written if a backward reads them; leaf_backward and its parts: statistics
};

/// One value that crosses from a role to another, in one direction. 16 rows of 50 features are a payload of 800 elements.
struct Transfer {
  std::int16_t value = 0;
  std::int16_t from_chunk = 0;
  std::int16_t to_chunk = 0;
  std::int16_t from_role = 0;
  std::int16_t to_role = 0;
  bool gradient = false;
  Place source, target;
  std::int64_t elements = 0;  // padded to whole 64-byte lines a grain
  std::int64_t payload = 0;   // without the padding
  std::int16_t use = -1;      // of tied parameters: whose gradient slice is sent, once a step; the target's offset is in the room of ties
};

enum class PoolKind : std::uint8_t { frame, gradient_in, gradient_out, gradient_reread };  ///< the last: what weight parts of backwards read again
inline constexpr int pool_kinds = 4;

/// Slots of one size for what lives between instructions of one chunk: saved values, received and sent gradients. 2 slots of 1,024 bytes from offset
/// 4,096 on end at 6,144.
struct Pool {
  std::int16_t role = 0, chunk = 0;
  std::int64_t slot_bytes = 0;
  int slots = 0;
  std::int64_t base = 0;  // arena offset
};

/// Where a parameter lies in the flat buffers of its role. The bias of Linear<784, 50> has 50 elements.
struct ParameterPlace {
  std::int32_t node = 0;
  std::int16_t index = 0;  // in the leaf
  std::int16_t role = 0;
  std::int64_t begin = 0;         // [elements], from the start of the flat buffer, or of what is not trained
  std::int64_t elements = 0;      // of one rank
  Laid split;                     // how the ranks of axis tensor hold it: whole, or parts
  std::int64_t owner_begin = -1;  // [elements], of a use of tied parameters that another leaf keeps: where; begin is of its gradient alone

  [[nodiscard]] constexpr std::int64_t values() const { return owner_begin < 0 ? begin : owner_begin; }
};

/// A range of the flat buffer that is gathered, reduced and stepped as one. That of Linear<784, 50> alone has a payload of 39,250 elements.
struct FlatBucket {
  std::int16_t role = 0;
  std::int32_t lowest_node = 0;    // its backward completes the bucket
  std::int32_t highest_node = -1;  // the first whose backward writes to it
  std::int64_t begin = 0;          // [elements]
  std::int64_t elements = 0;       // with padding
  std::int64_t payload = 0;        // elements of parameters
  std::int16_t slot = 0;           // in rings of two: neighbours never share one
  bool shared = false;             // of parameters that several leaves use: one leaf, one unit
  bool frozen = false;             // of parameters that are not trained, where they are sliced: gathered, and that is all
  std::int64_t owner_begin = -1;   // as in ParameterPlace

  [[nodiscard]] constexpr std::int64_t end() const { return begin + elements; }
  [[nodiscard]] constexpr std::int64_t values() const { return owner_begin < 0 ? begin : owner_begin; }
  [[nodiscard]] constexpr bool steps() const { return owner_begin < 0; }  ///< has parameters and optimizer states, not a gradient alone
};

/// One use of parameters that several leaves share; those of one owner follow one another in the order of the model. A head at node 5 that uses the
/// table of node 0 has owner 0 and node 5.
struct TiedUse {
  std::int16_t owner = 0;  // node
  std::int16_t node = 0;
  std::int16_t role = 0;
  std::int16_t bucket = 0;
};

/// Parameters that lie together whatever the layout: 64 even parts, over which norms are summed.
struct FlatUnit {
  std::int16_t role = 0;
  std::int64_t begin = 0;     // [elements]
  std::int64_t elements = 0;  // with padding
  bool counts = true;         // in the norm: false for a use of tied parameters beside their owner's

  [[nodiscard]] constexpr std::int64_t end() const { return begin + elements; }
};

/// How parameters, gradients and optimizer states lie along the axis that slices units. parts == 1: every rank holds them whole.
struct Storage {
  Axis axis = Axis::shard;
  int parts = 1;
  bool parameters = false;                      // gathered before use into a ring of two units
  bool gradients = false;                       // made in a ring of two units, reduced to the slice in every backward
  bool states = false;                          // each rank steps its slice
  bool adds_slices = false;                     // a step has several backwards: reduced slices are added up
  ElementType gathered = ElementType::float32;  // as what the units of trained parameters travel and are read, where they are gathered before use
  bool keeps = false;                           // each unit, and each use of tied parameters, is gathered to a place of its own, once a step

  [[nodiscard]] constexpr int parameter_parts() const { return parameters ? parts : 1; }
  [[nodiscard]] constexpr int gradient_parts() const { return gradients ? parts : 1; }
  [[nodiscard]] constexpr int state_parts() const { return states ? parts : 1; }
  /// Each rank steps its slice of whole parameters, so they are gathered after the step.
  [[nodiscard]] constexpr bool gathers_after_step() const { return states && !parameters; }
};

/// Entries or lines of one list among all: begin 3 and end 7 are four of them, 3 to 6.
struct IndexRange {
  int begin = 0;
  int end = 0;
  [[nodiscard]] constexpr int count() const { return end - begin; }
};

/// A view of everything that the lowering made; 2 chunks have 8 pools. The executor walks it; the checks walk it; nothing else decides.
struct Program {
  const Graph* graph = nullptr;  // as one rank sees it: leaves of the size that it runs
  Mesh mesh;
  BatchDivision batch;
  bool training = true;
  int roles = 1;
  int chunks = 1;
  const int* device_of_chunk = nullptr;
  const int* first_node = nullptr;
  bool batch_split[axis_count]{};
  bool splits_backward = false;
  LossSplit loss;  // how the loss takes an output that is not whole
  Storage storage;
  const Instruction* instructions = nullptr;
  const IndexRange* lists = nullptr;  // by role
  const Entry* entries = nullptr;
  const IndexRange* forward_bodies = nullptr;   // by chunk
  const IndexRange* backward_bodies = nullptr;  // by chunk; the input part if the backward is split
  const IndexRange* weight_bodies = nullptr;    // by chunk; empty unless the backward is split
  const Transfer* transfers = nullptr;
  int transfer_count = 0;
  const Collective* collectives = nullptr;
  int collective_count = 0;
  const Pool* pools = nullptr;          // pool_kinds a chunk
  const std::int16_t* slots = nullptr;  // [pool][micro-batch]
  const ParameterPlace* parameters = nullptr;
  const FlatBucket* buckets = nullptr;
  int bucket_count = 0;
  int frozen_count = 0;             // buckets behind these, of parameters that are not trained: none where they lie whole on each rank
  const FlatUnit* units = nullptr;  // of all roles, in the order of the model
  int unit_count = 0;
  ParameterGroups groups;             // what the optimizer's options are by parameter
  const StepPiece* pieces = nullptr;  // bucket by bucket; without groups there is none, and each bucket is stepped as one
  int piece_count = 0;
  const TiedUse* uses = nullptr;  // of tied parameters
  int use_count = 0;
  bool clips = false;                            // by the norm of all gradients
  bool scales_loss = false;                      // what is not finite on any rank is stepped on none
  bool guards = false;                           // a step whose loss is not finite on any rank is taken on none
  const std::int16_t* bucket_of_node = nullptr;  // where parameters or gradients pass through rings
  const ArenaMap* arenas = nullptr;              // by role

  [[nodiscard]] constexpr const IndexRange& body(const Instruction& compute) const {  ///< what it runs
    if (compute.op == ListOp::forward) return forward_bodies[compute.chunk];
    return compute.op == ListOp::backward_weight ? weight_bodies[compute.chunk] : backward_bodies[compute.chunk];
  }
  [[nodiscard]] constexpr int loss_role() const { return device_of_chunk[chunks - 1]; }
  [[nodiscard]] constexpr int slot(int pool, int micro_batch) const { return slots[pool * batch.total_micro_batches() + micro_batch]; }
  /// Whether a line moves what its collective is for, the loss or the norm: that is in no bucket.
  [[nodiscard]] constexpr bool moves(const Instruction& line, Purpose purpose) const {
    return line.bucket < 0 && line.collective >= 0 && collectives[line.collective].purpose == purpose;
  }
  [[nodiscard]] constexpr BeforeStep before_step() const { return {clips, scales_loss, guards}; }
  [[nodiscard]] constexpr int norm_floats() const { return before_step().floats(unit_count); }
  /// Room for so many floats from one grain of a value to the next: its lines are full whatever its elements are.
  [[nodiscard]] constexpr std::int64_t grain_stride(std::int64_t features, ElementType type = ElementType::float32) const {
    return grain_bytes(batch.grain_rows, features, type) / float_bytes;
  }
  [[nodiscard]] constexpr std::int64_t grain_elements(std::int64_t features, ElementType type) const {
    return grain_bytes(batch.grain_rows, features, type) / bytes_of(type);
  }
  /// What a transfer moves elements of: a gradient of tied parameters is float32, another is kept as values are, a value as its layer gives it.
  [[nodiscard]] constexpr ElementType type_of(const Transfer& t) const {
    return t.use >= 0 ? ElementType::float32 : t.gradient ? graph->values : graph->spec(t.value).type;
  }
  /// With padding: 16 rows of 50 token ids or features are 3,200 bytes, of 50 pixels in uint8 832.
  [[nodiscard]] constexpr Bytes bytes(const Transfer& t) const { return Bytes{t.elements * bytes_of(type_of(t))}; }
  [[nodiscard]] constexpr std::int64_t floats(const Transfer& t) const { return bytes(t).value / float_bytes; }  ///< whole lines, whatever is in them
};

}  // namespace heddle::plan_room

namespace heddle::extending {
using plan_room::BodyOp, plan_room::ListOp, plan_room::computes;
}  // namespace heddle::extending
