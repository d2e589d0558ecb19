// SPDX-License-Identifier: MIT
// Room: tests. Faults of the lowering: it reads an answer wrongly, or one of its phases leaves a table that is wrong in one number.
// Sees: plan/lower.  Does not see: the checks, processes, kernels.
// In: a LoweringRequest.  Out: its faults by name, and both Programs that the lowering makes with one of them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/plan/lower/lowered_plan.hpp"
#include "plan/arena_numbers.hpp"

namespace heddle::tests {

using Making = LoweredPlan::Phases;

/// After which phase something is spoilt.
enum class After : std::uint8_t { reading, dividing, slicing, sharing, placing };

struct Fault {
  std::string name;  ///< "the gradient of a parameter of a leaf": numbers are left out
  After after = After::reading;
  std::function<void(Making&)> spoil;
};

/// The lowering of a sound request with a fault. False if there is no room for what it makes then.
inline bool lower_with(Making& run, const Fault& fault) {
  const auto spoil = [&](After after) {
    if (fault.after == after) fault.spoil(run);
  };
  spoil(After::reading);
  if (!run.fault.ok()) return false;
  run.divide();
  spoil(After::dividing);
  run.storage = storage_of(run.request.graph, run.request.layout, run.request.batch);
  spoil(After::slicing);
  if (run.fit(); !run.fault.ok()) return false;
  run.share();
  spoil(After::sharing);
  for (const bool training : {true, false})
    if (!run.lower(training).ok()) return false;
  run.place();
  spoil(After::placing);
  return true;
}

/// Every fault that a request has room for.
class Faults {
 public:
  explicit Faults(const LoweringRequest& request) : asked_(request), whole_(request) {
    (void)lower_with(whole_, {"", After::reading, [](Making&) {}});
    answers();
    model();
    if (whole_.graph.split.any()) parts();
    slices();
    flat();
    tables();
    memory();
    for (int mode = 0; mode < 2; ++mode) collectives(mode);
  }
  [[nodiscard]] const std::vector<Fault>& all() const { return all_; }
  [[nodiscard]] const Program& training() const { return whole_.programs[0]; }
  [[nodiscard]] const Program& evaluation() const { return whole_.programs[1]; }

 private:
  template <class T> [[nodiscard]] static T& of(const T& constant) { return const_cast<T&>(constant); }  // tables belong to the phases
  void add(std::string name, After after, std::function<void(Making&)> spoil) { all_.push_back({std::move(name), after, std::move(spoil)}); }
  /// One number or flag that `field` finds, with each of these added, or turned round.
  template <class Field> void number(const std::string& name, After after, Field field, std::initializer_list<int> more = {1, -1}) {
    for (const int by : more)
      add(name, after, [=](Making& p) {
        auto& there = of(field(p));
        there = static_cast<std::remove_reference_t<decltype(there)>>(there + by);
      });
  }
  template <class Field> void flag(const std::string& name, After after, Field field) {
    add(name, after, [=](Making& p) { of(field(p)) = !of(field(p)); });
  }
  template <class Field> void laid(const std::string& name, After after, Field field) {
    for (const Laid how : {laid::replicate, laid::partial, laid::shard(0), laid::shard(1), laid::shard(1, 3), laid::terms_back})
      if (field(whole_) != how) add(name, after, [=](Making& p) { of(field(p)) = how; });
  }

  void answers() {
    const After read = After::reading;
    const Layout& layout = asked_.layout;
    for (const Axis a : {Axis::data, Axis::shard, Axis::tensor})
      if (layout.mesh.size(a) > 1)
        flag("whether an axis splits the batch", read, [=](Making& p) -> bool& { return p.request.layout.batch_split[static_cast<int>(a)]; });
    if (layout.share_count > 0)
      add("the shares of replicas", read, [](Making& p) {
        std::swap(p.request.layout.shares[0], p.request.layout.shares[1]);
        std::swap(p.request.batch.shares[0], p.request.batch.shares[1]);
      });
    number("the rows of a step", read, [](Making& p) -> int& { return p.request.batch.batch; });
    number("the rows of a micro-batch", read, [](Making& p) -> int& { return p.request.batch.micro_rows; });
    number("the rounds", read, [](Making& p) -> int& { return p.request.batch.rounds; }, {1});
    if (asked_.batch.grains() == 1 && asked_.batch.micro_rows > 1)
      add("the rows of a grain", read, [](Making& p) { p.request.batch.grain_rows = 1; });
    if (asked_.batch.grains() > 1) add("the rows of a grain", read, [](Making& p) { p.request.batch.grain_rows = p.request.batch.micro_rows; });
    flag("whether sums follow the tree", read, [](Making& p) -> bool& { return p.request.batch.tree; });
    add("what a smaller batch means", read,
        [](Making& p) { p.request.batch.remedy = p.request.batch.remedy == Remedy::keep ? Remedy::pad : Remedy::keep; });
    flag("whether gradients are clipped", read, [](Making& p) -> bool& { return p.request.clips; });
    flag("whether the loss is scaled", read, [](Making& p) -> bool& { return p.request.scales_loss; });
    if (asked_.states > 0) number("the states of the optimizer", read, [](Making& p) -> int& { return p.request.states; }, {-1});
    number("the targets of a row", read, [](Making& p) -> std::int64_t& { return p.request.target_features; }, {1});
    if (layout.chunk_count > 1) {
      number("the end of a chunk", read, [](Making& p) -> int& { return p.request.layout.first_node[1]; });
      add("the devices of chunks", After::placing,
          [](Making& p) { std::swap(p.request.layout.device_of_chunk[0], p.request.layout.device_of_chunk[1]); });
    }
    flag("whether parameters are sliced", read, [](Making& p) -> bool& { return p.request.layout.sharding.parameters; });
    flag("whether gradients are sliced", read, [](Making& p) -> bool& { return p.request.layout.sharding.gradients; });
    flag("whether states are sliced", read, [](Making& p) -> bool& { return p.request.layout.sharding.states; });
    if (layout.mesh.size(Axis::tensor) == 1) return;
    for (int l = 0; l < asked_.graph.leaf_count; ++l) {
      const int ways = asked_.graph.leaves[l].leaf.signature_count;
      for (int s = 0; s <= ways; ++s)
        if (s != layout.signature[l])
          add("the signature of a leaf", read, [=](Making& p) { p.request.layout.signature[l] = static_cast<std::int8_t>(s); });
      laid("how an output lies between layers", read, [=](Making& p) -> Laid& { return p.request.layout.laid_between[l]; });
    }
    laid("how the loss takes the output", read, [](Making& p) -> Laid& { return p.request.layout.loss.takes; });
    if (asked_.layout.loss.terms > 0)
      number("the terms of the loss", read, [](Making& p) -> std::int64_t& { return p.request.layout.loss.terms; }, {1});
  }
  void model() {
    for (const After after : {After::reading, After::dividing}) {
      if (after == After::dividing && !whole_.graph.split.any()) break;
      const auto leaf = [=](Making& p, int l) -> Leaf& { return of((after == After::reading ? p.request.graph : p.graph).leaves[l].leaf); };
      for (int l = 0; l < asked_.graph.leaf_count; ++l) {
        const Leaf& is = asked_.graph.leaves[l].leaf;
        for (const Saves saves : {Saves::nothing, Saves::input, Saves::output})
          if (is.saves != saves) add("what a leaf saves", after, [=](Making& p) { leaf(p, l).saves = saves; });
        if (is.statistics.dimensions > 0) {
          number("the size of statistics", after, [=](Making& p) -> std::int64_t& { return leaf(p, l).statistics.sizes[0]; });
          add("whether a leaf leaves statistics", after, [=](Making& p) { leaf(p, l).statistics = Shape{}; });
        }
        if (is.rows_together > 0) number("how many rows are normalised together", after, [=](Making& p) -> int& { return leaf(p, l).rows_together; });
        for (int k = 0; k < is.parameter_count; ++k)
          if (is.parameters[k].tracked()) {
            add("what a leaf tracks", after, [=](Making& p) { leaf(p, l).parameters[k].tracks = 0; });
            number("of how many values a parameter is tracked", after, [=](Making& p) -> std::int8_t& { return leaf(p, l).parameters[k].tracks; },
                   {1});
            add("the momentum of what is tracked", after, [=](Making& p) { leaf(p, l).momentum /= 2; });
          }
        if (is.operands == 2) {
          number("the size of a second input", after, [=](Making& p) -> std::int64_t& { return leaf(p, l).other.shape.sizes[0]; });
          flag("whether a leaf adds both", after, [=](Making& p) -> bool& { return leaf(p, l).sums; });
        }
        if (after == After::dividing) described(l);
        flag("whether a leaf is elementwise", after, [=](Making& p) -> bool& { return leaf(p, l).elementwise; });
        flag("whether the input part reads what is saved", after, [=](Making& p) -> bool& { return leaf(p, l).input_part_reads_saved; });
        flag("whether parameters are read for their gradients", after, [=](Making& p) -> bool& { return leaf(p, l).weights_read; });
      }
    }
    for (int n = 0; n < asked_.graph.node_count; ++n) {
      const Node& node = asked_.graph.nodes[n];
      if (node.tied_to >= 0)
        add("whose parameters a layer uses", After::reading, [=](Making& p) {
          of(p.request.graph.nodes[n]).tied_to = -1;
          --p.request.graph.tie_count;
        });
      if (node.block >= 0) number("the block of a layer", After::reading, [=](Making& p) -> int& { return of(p.request.graph.nodes[n]).block; }, {1});
      if (node.operands[0] > 0 && asked_.graph.spec(node.operands[0] - 1) == asked_.graph.spec(node.operands[0]))
        number("what a layer takes", After::reading, [=](Making& p) -> int& { return of(p.request.graph.nodes[n]).operands[0]; }, {-1});
    }
  }
  /// What a description says beside sizes and flags, of a leaf that is divided.
  void described(int l) {
    const After after = After::dividing;
    const auto leaf = [=](Making& p) -> Leaf& { return of(p.graph.leaves[l].leaf); };
    for (int k = 0; k < asked_.graph.leaves[l].leaf.parameter_count; ++k) {
      number("the inputs from which a parameter is drawn", after, [=](Making& p) -> std::int64_t& { return leaf(p).parameters[k].fan_in; }, {1});
      add("how a parameter starts", after, [=](Making& p) {
        Initial& initial = leaf(p).parameters[k].initial;
        initial = initial == Initial::zeros ? Initial::ones : Initial::zeros;
      });
    }
    add("the elements of an output", after, [=](Making& p) { leaf(p).out.type = ElementType::bfloat16; });
    add("the elements of an input", after, [=](Making& p) { leaf(p).in.type = ElementType::uint8; });
    number("the operations of a forward", after, [=](Making& p) -> std::int64_t& { return leaf(p).forward_flops; }, {1});
    number("the vocabulary of a layer", after, [=](Making& p) -> std::int64_t& { return leaf(p).vocabulary; }, {1});
  }
  void parts() {
    const After after = After::dividing;
    add("as what values are kept", after, [](Making& p) { p.graph.values = ElementType::bfloat16; });
    const auto signature = [](Making& p, int l) -> Signature& { return of(p.graph.split.signatures[l]); };
    number("the ranks that split layers", after, [](Making& p) -> int& { return p.graph.split.ranks; });
    for (int l = 0; l < asked_.graph.leaf_count; ++l) {
      laid("how a leaf takes its input", after, [=](Making& p) -> Laid& { return signature(p, l).input; });
      if (asked_.graph.leaves[l].leaf.operands == 2)
        laid("how a leaf takes its second input", after, [=](Making& p) -> Laid& { return signature(p, l).second; });
      laid("how a leaf gives its output", after, [=](Making& p) -> Laid& { return signature(p, l).output; });
      laid("how a leaf gives the gradient of its input", after, [=](Making& p) -> Laid& { return signature(p, l).input_gradient; });
      laid("how a leaf takes the gradient of its output", after, [=](Making& p) -> Laid& { return signature(p, l).output_gradient; });
      if (asked_.graph.leaves[l].leaf.statistics.dimensions > 0)
        laid("how statistics lie", after, [=](Making& p) -> Laid& { return signature(p, l).statistics; });
      for (int k = 0; k < asked_.graph.leaves[l].leaf.parameter_count; ++k) {
        laid("how a parameter lies", after, [=](Making& p) -> Laid& { return signature(p, l).parameters[k]; });
        laid("how the gradient of a parameter lies", after, [=](Making& p) -> Laid& { return signature(p, l).parameter_gradients[k]; });
        number("the size of a parameter", after, [=](Making& p) -> std::int64_t& { return of(p.graph.leaves[l].leaf.parameters[k].shape.sizes[0]); });
      }
      laid("how a divided output lies between layers", after, [=](Making& p) -> Laid& { return of(p.graph.split.laid_between[l]); });
      laid("how the gradient of an output lies between layers", after, [=](Making& p) -> Laid& { return of(p.graph.split.gradient_between[l]); });
      number("the size of an output between layers", after,
             [=](Making& p) -> std::int64_t& { return of(p.graph.split.spec_between[l].shape.sizes[0]); });
      number("the size of an input", after, [=](Making& p) -> std::int64_t& { return of(p.graph.leaves[l].leaf.in.shape.sizes[0]); });
      number("the size of an output", after, [=](Making& p) -> std::int64_t& { return of(p.graph.leaves[l].leaf.out.shape.sizes[0]); });
    }
  }
  void slices() {
    const After after = After::slicing;
    flag("storage.adds_slices", after, [](Making& p) -> bool& { return p.storage.adds_slices; });
    if (whole_.storage.parts == 1) return;
    flag("storage.parameters", after, [](Making& p) -> bool& { return p.storage.parameters; });
    flag("storage.gradients", after, [](Making& p) -> bool& { return p.storage.gradients; });
    flag("storage.states", after, [](Making& p) -> bool& { return p.storage.states; });
    flag("storage.keeps", after, [](Making& p) -> bool& { return p.storage.keeps; });
    number("storage.parts", after, [](Making& p) -> int& { return p.storage.parts; }, {-1});
    add("storage.gathered", after, [](Making& p) { p.storage.gathered = ElementType::bfloat16; });
    add("storage.axis", after, [](Making& p) { p.storage.axis = Axis::data; });
  }
  void flat() {
    const After after = After::sharing;
    for (int k = 0; k < asked_.graph.parameter_count; ++k) {
      const auto place = [=](Making& p) -> ParameterPlace& { return of(p.shared.flat.parameters[k]); };
      number("place.begin", after, [=](Making& p) -> std::int64_t& { return place(p).begin; }, {16, -16, 1});
      number("place.elements", after, [=](Making& p) -> std::int64_t& { return place(p).elements; });
      number("place.role", after, [=](Making& p) -> std::int16_t& { return place(p).role; }, {1});
      number("place.split", after, [=](Making& p) -> std::int16_t& { return place(p).split.code; }, {1, 16});
      number("place.index", after, [=](Making& p) -> std::int16_t& { return place(p).index; }, {1});
      number("place.owner_begin", after, [=](Making& p) -> std::int64_t& { return place(p).owner_begin; }, {16, 1});
    }
    for (int u = 0; u < whole_.shared.flat.unit_count; ++u) {
      const auto unit = [=](Making& p) -> FlatUnit& { return of(p.shared.flat.units[u]); };
      number("unit.begin", after, [=](Making& p) -> std::int64_t& { return unit(p).begin; }, {16, -16, 1024});
      number("unit.elements", after, [=](Making& p) -> std::int64_t& { return unit(p).elements; }, {16, -16, -1024});
      number("unit.role", after, [=](Making& p) -> std::int16_t& { return unit(p).role; }, {1});
      flag("unit.counts", after, [=](Making& p) -> bool& { return unit(p).counts; });
    }
    for (int r = 0; r < asked_.layout.roles(); ++r) {
      number("the elements of a flat buffer", after, [=](Making& p) -> std::int64_t& { return of(p.shared.flat.role_elements[r]); }, {-16, -1024});
      number("the elements of frozen parameters", after, [=](Making& p) -> std::int64_t& { return of(p.shared.flat.frozen_elements[r]); }, {16});
      number("the elements of gradients", after, [=](Making& p) -> std::int64_t& { return of(p.shared.flat.gradient_elements[r]); }, {-16, -1024});
      if (whole_.shared.tie_room[r] > 0)
        number("the room of ties", after, [=](Making& p) -> std::int64_t& { return of(p.shared.tie_room[r]); }, {-64});
    }
  }
  void tables() {
    const After after = After::sharing;
    for (int b = 0; b < whole_.shared.bucket_count + whole_.shared.frozen_count; ++b) {
      const auto bucket = [=](Making& p) -> FlatBucket& { return of(p.shared.buckets[b]); };
      number("bucket.begin", after, [=](Making& p) -> std::int64_t& { return bucket(p).begin; }, {16, -16});
      number("bucket.elements", after, [=](Making& p) -> std::int64_t& { return bucket(p).elements; }, {16, -16});
      number("bucket.payload", after, [=](Making& p) -> std::int64_t& { return bucket(p).payload; });
      number("bucket.lowest_node", After::placing, [=](Making& p) -> std::int32_t& { return bucket(p).lowest_node; });
      number("bucket.highest_node", After::placing, [=](Making& p) -> std::int32_t& { return bucket(p).highest_node; });
      if (whole_.storage.parts > 1) number("bucket.slot", after, [=](Making& p) -> std::int16_t& { return bucket(p).slot; }, {1, -1});
      flag("bucket.shared", after, [=](Making& p) -> bool& { return bucket(p).shared; });
      flag("bucket.frozen", After::placing, [=](Making& p) -> bool& { return bucket(p).frozen; });
      number("bucket.owner_begin", after, [=](Making& p) -> std::int64_t& { return bucket(p).owner_begin; }, {16});
    }
    for (int u = 0; u < whole_.shared.use_count; ++u) {
      const auto use = [=](Making& p) -> TiedUse& { return of(p.shared.uses[u]); };
      number("use.owner", After::placing, [=](Making& p) -> std::int16_t& { return use(p).owner; });
      number("use.node", After::placing, [=](Making& p) -> std::int16_t& { return use(p).node; });
      number("use.bucket", After::placing, [=](Making& p) -> std::int16_t& { return use(p).bucket; }, {-1});
    }
    for (int i = 0; i < whole_.shared.piece_count; ++i) {
      const auto piece = [=](Making& p) -> StepPiece& { return of(p.shared.pieces[i]); };
      number("piece.bucket", after, [=](Making& p) -> std::int16_t& { return piece(p).bucket; });
      number("piece.group", after, [=](Making& p) -> std::int16_t& { return piece(p).group; });
      number("piece.begin", after, [=](Making& p) -> std::int64_t& { return piece(p).begin; }, {16, -16, 1});
      number("piece.elements", after, [=](Making& p) -> std::int64_t& { return piece(p).elements; }, {16, -16, 1});
    }
    for (int k = 0; k < asked_.graph.parameter_count && asked_.groups.any(); ++k)
      number("the group of a parameter", After::reading, [=](Making& p) -> std::int16_t& { return of(p.request.groups.of_parameter[k]); });
    for (int g = 0; g < asked_.groups.count; ++g) {
      const auto group = [=](Making& p) -> ParameterGroup& { return of(p.request.groups.list[g]); };
      number("the numerator of a group", After::reading, [=](Making& p) -> int& { return group(p).numerator; }, {1});
      number("the denominator of a group", After::reading, [=](Making& p) -> int& { return group(p).denominator; }, {1});
      flag("whether a group decays", After::reading, [=](Making& p) -> bool& { return group(p).decays; });
    }
    if (whole_.storage.parameters || whole_.storage.gradients)
      for (int n = 0; n < asked_.graph.node_count; ++n)
        if (asked_.graph.nodes[n].parameter_count > 0 && whole_.shared.bucket_of_node[n] > 0)
          number("the unit of a layer", after, [=](Making& p) -> std::int16_t& { return of(p.shared.bucket_of_node[n]); }, {-1});
  }
  void memory() {
    const After after = After::placing;
    for (int r = 0; r < asked_.layout.roles(); ++r) {
      for (const tests::ArenaNumber& at : tests::arena_numbers)
        number(at.name, after, [r, at](Making& p) -> std::int64_t& { return at.of(of(p.programs[0].arenas[r])); }, {64, -64, 4});
      for (int k = 0; k < region_kinds; ++k)
        if (whole_.programs[0].arenas[r].regions[k].bytes() > 0)
          add("arena.type", after, [r, k](Making& p) { of(p.programs[0].arenas[r]).regions[k].type = ElementType::bfloat16; });
      number("arena.total", after, [r](Making& p) -> std::int64_t& { return of(p.programs[0].arenas[r]).total; }, {64, -64, 4});
    }
    for (int mode = 0; mode < 2; ++mode)
      for (int i = 0; i < asked_.layout.chunk_count * pool_kinds; ++i) {
        if (whole_.programs[mode].pools[i].slots == 0) continue;
        const auto pool = [=](Making& p) -> Pool& { return of(p.programs[mode].pools[i]); };
        number("pool.base", after, [=](Making& p) -> std::int64_t& { return pool(p).base; }, {64, -64, 4});
        number("pool.slot_bytes", after, [=](Making& p) -> std::int64_t& { return pool(p).slot_bytes; }, {64, -64});
        number("pool.slots", after, [=](Making& p) -> int& { return pool(p).slots; });
        number("pool.role", after, [=](Making& p) -> std::int16_t& { return pool(p).role; }, {1});
      }
  }

  /// The first collective of each purpose and kind stands for all of them.
  void collectives(int mode) {
    const After after = After::placing;
    const Program& program = whole_.programs[mode];
    bool seen[6][3]{};
    for (int c = 0; c < program.collective_count; ++c) {
      const Collective& is = program.collectives[c];
      if (std::exchange(seen[static_cast<int>(is.purpose)][static_cast<int>(is.kind)], true)) continue;
      const auto collective = [=](Making& p) -> Collective& { return of(p.programs[mode].collectives[c]); };
      add("collective.kind", after, [=](Making& p) {
        CollectiveKind& kind = collective(p).kind;
        kind = kind == CollectiveKind::all_gather ? CollectiveKind::all_reduce : CollectiveKind::all_gather;
      });
      add("collective.axis", after, [=](Making& p) {
        Axis& axis = collective(p).axis;
        axis = axis == Axis::tensor ? Axis::data : Axis::tensor;
      });
      add("collective.purpose", after, [=](Making& p) {
        Purpose& purpose = collective(p).purpose;
        purpose = purpose == Purpose::value ? Purpose::loss : Purpose::value;
      });
      add("collective.type", after, [=](Making& p) { collective(p).type = ElementType::bfloat16; });
      flag("collective.accumulates", after, [=](Making& p) -> bool& { return collective(p).accumulates; });
      number("collective.slices", after, [=](Making& p) -> std::int16_t& { return collective(p).slices; });
      number("collective.elements", after, [=](Making& p) -> std::int64_t& { return collective(p).elements; }, {16, -16});
      number("collective.payload", after, [=](Making& p) -> std::int64_t& { return collective(p).payload; });
      end("collective.source", [=](Making& p) -> Address& { return collective(p).source; });
      end("collective.target", [=](Making& p) -> Address& { return collective(p).target; });
      if (is.accumulates) end("collective.arrived", [=](Making& p) -> Address& { return collective(p).arrived; });
    }
    for (int i = 0; i < program.lists[program.roles - 1].end; ++i) {
      if (program.instructions[i].collective < 0) continue;
      number("the collective of a line", after, [=](Making& p) -> std::int16_t& { return of(p.programs[mode].instructions[i].collective); });
      return;
    }
  }
  template <class Field> void end(const std::string& name, Field field) {
    const After after = After::placing;
    number(name + ".begin", after, [=](Making& p) -> std::int64_t& { return field(p).begin; }, {16, -16});
    number(name + ".stride", after, [=](Making& p) -> std::int64_t& { return field(p).stride; }, {16});
    number(name + ".copy", after, [=](Making& p) -> std::int16_t& { return field(p).copy; });
    number(name + ".pool", after, [=](Making& p) -> std::int16_t& { return field(p).pool; }, {1});
    add(name + ".region", after, [=](Making& p) {
      RegionKind& region = field(p).region;
      region = region == RegionKind::gradients ? RegionKind::parameters : RegionKind::gradients;
    });
    add(name + ".along", after, [=](Making& p) {
      Axis& along = field(p).along;
      along = along == Axis::stage ? Axis::data : Axis::stage;
    });
  }

  const LoweringRequest& asked_;
  Making whole_;
  std::vector<Fault> all_;
};

}  // namespace heddle::tests
