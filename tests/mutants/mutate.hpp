// SPDX-License-Identifier: MIT
// Room: tests. Every small mistake in a Program: a line or entry that is missing, twice or too late, and every other axis, place, slice or peer.
// Sees: plan/program.  Does not see: policies, processes, the checks.
// In: a Program.  Out: its mutants, one after another.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dump/words.hpp"
#include "heddle/core/random.hpp"
#include "heddle/plan/check/collectives.hpp"
#include "heddle/plan/program/program.hpp"
#include "mutants/insertions.hpp"
#include "plan/arena_numbers.hpp"

namespace heddle::tests {

/// What is changed.
enum class Mistake : std::uint8_t {
  line_deleted,
  line_doubled,
  lines_swapped,
  line_axis,
  line_peer,
  line_bucket,
  line_micro_batch,
  line_when,
  entry_deleted,
  entry_doubled,
  entries_swapped,
  entry_inserted,
  entry_axis,
  entry_bucket,
  entry_when,
  entry_place,
  body_places,
  entry_node,
  entry_type,
  entry_input,
  entry_phase,
  entry_fused,
  transfer_place,
  slot,
  entry_size,
  transfer_size,
  pool,
  arena,
  parameter,
  unit,
  collective
};
inline constexpr int mistakes = static_cast<int>(Mistake::collective) + 1;
[[nodiscard]] constexpr std::string_view name_of(Mistake mistake) {
  switch (mistake) {
    case Mistake::line_deleted: return "a line is deleted";
    case Mistake::line_doubled: return "a line stands twice";
    case Mistake::lines_swapped: return "two lines are swapped";
    case Mistake::line_axis: return "a line names another axis";
    case Mistake::line_peer: return "a line names another peer";
    case Mistake::line_bucket: return "a line names another bucket";
    case Mistake::line_micro_batch: return "a line names another micro-batch";
    case Mistake::line_when: return "a line applies to other steps";
    case Mistake::entry_deleted: return "an entry is deleted";
    case Mistake::entry_doubled: return "an entry stands twice";
    case Mistake::entries_swapped: return "two entries are swapped";
    case Mistake::entry_inserted: return "an entry is inserted: a sum, a copy, or one with another operand";
    case Mistake::entry_axis: return "an entry names another axis";
    case Mistake::entry_bucket: return "an entry names another bucket or parameter";
    case Mistake::entry_when: return "an entry applies to other micro-batches or steps";
    case Mistake::entry_place: return "an operand of an entry lies elsewhere";
    case Mistake::body_places: return "two places of a body are exchanged, or one stands for both";
    case Mistake::entry_node: return "an entry names another layer of the same sizes";
    case Mistake::entry_type: return "an entry has elements of another size";
    case Mistake::entry_input: return "an entry loads another input of the model";
    case Mistake::entry_phase: return "an entry is of another phase";
    case Mistake::entry_fused: return "an entry may run at once with the next one";
    case Mistake::transfer_place: return "an end of a transfer lies elsewhere";
    case Mistake::slot: return "a micro-batch has another slot";
    case Mistake::entry_size: return "an entry has another size, or other runs";
    case Mistake::transfer_size: return "a transfer has another size, or another room of ties";
    case Mistake::pool: return "a pool lies elsewhere, or has slots of another size";
    case Mistake::arena: return "a region of an arena lies elsewhere, or has another size";
    case Mistake::parameter: return "a parameter lies elsewhere, or has another size";
    case Mistake::unit: return "the norm counts another unit";
    case Mistake::collective: return "a collective is of another kind, axis or size, or lies elsewhere";
  }
  return "";
}

/// A Program whose lists, bodies, transfers, slots and tables can be changed.
class Changeable {
 public:
  explicit Changeable(const Program& original) : program_(original) {
    for (int r = 0; r < original.roles; ++r)
      lists.emplace_back(original.instructions + original.lists[r].begin, original.instructions + original.lists[r].end);
    const IndexRange* const ranges[directions] = {original.forward_bodies, original.backward_bodies, original.weight_bodies};
    for (int d = 0; d < directions; ++d)
      for (int c = 0; c < original.chunks; ++c) bodies[d].emplace_back(original.entries + ranges[d][c].begin, original.entries + ranges[d][c].end);
    transfers.assign(original.transfers, original.transfers + original.transfer_count);
    slots.assign(original.slots, original.slots + original.chunks * pool_kinds * original.batch.total_micro_batches());
    pools.assign(original.pools, original.pools + original.chunks * pool_kinds);
    arenas.assign(original.arenas, original.arenas + original.roles);
    parameters.assign(original.parameters, original.parameters + original.graph->parameter_count);
    units.assign(original.units, original.units + original.unit_count);
    collectives.assign(original.collectives, original.collectives + original.collective_count);
  }
  [[nodiscard]] const Program& original() const { return program_; }
  /// Valid until the next change.
  [[nodiscard]] Program view() {
    flat_.clear();
    list_ranges_.clear();
    entries_.clear();
    for (const auto& list : lists) {
      const int begin = static_cast<int>(flat_.size());
      flat_.insert(flat_.end(), list.begin(), list.end());
      list_ranges_.push_back({begin, static_cast<int>(flat_.size())});
    }
    for (int d = 0; d < directions; ++d) {
      body_ranges_[d].clear();
      for (const auto& body : bodies[d]) {
        const int begin = static_cast<int>(entries_.size());
        entries_.insert(entries_.end(), body.begin(), body.end());
        body_ranges_[d].push_back({begin, static_cast<int>(entries_.size())});
      }
    }
    Program p = program_;
    p.instructions = flat_.data();
    p.lists = list_ranges_.data();
    p.entries = entries_.data();
    p.forward_bodies = body_ranges_[0].data();
    p.backward_bodies = body_ranges_[1].data();
    p.weight_bodies = body_ranges_[2].data();
    p.transfers = transfers.data();
    p.slots = slots.data();
    p.pools = pools.data();
    p.arenas = arenas.data();
    p.parameters = parameters.data();
    p.units = units.data();
    p.collectives = collectives.data();
    p.collective_count = static_cast<int>(collectives.size());
    return p;
  }
  /// The same, where each line and entry moves what it says, as if the lowering had noted it so: of a changed axis, bucket, place or size.
  [[nodiscard]] Program noted_again() {
    Program p = view();
    collectives_ = collectives;
    const FollowingCollective following{p};
    for (Instruction& line : flat_)
      if (line.collective >= 0) line.collective = number_of(following.of(line));
    for (Entry& entry : entries_)
      if (entry.collective >= 0) entry.collective = number_of(following.of(entry));
    p.collectives = collectives_.data();
    p.collective_count = static_cast<int>(collectives_.size());
    return p;
  }

  static constexpr int directions = 3;
  std::vector<std::vector<Instruction>> lists;                     // by role
  std::array<std::vector<std::vector<Entry>>, directions> bodies;  // forward, backward, weight; by chunk
  std::vector<Transfer> transfers;
  std::vector<std::int16_t> slots;
  std::vector<Pool> pools;
  std::vector<ArenaMap> arenas;  // by role
  std::vector<ParameterPlace> parameters;
  std::vector<FlatUnit> units;
  std::vector<Collective> collectives;

 private:
  std::int16_t number_of(const Collective& wanted) {
    const auto found = std::find(collectives_.begin(), collectives_.end(), wanted);
    const auto number = static_cast<std::int16_t>(found - collectives_.begin());
    if (found == collectives_.end()) collectives_.push_back(wanted);
    return number;
  }
  Program program_;
  std::vector<Instruction> flat_;
  std::vector<IndexRange> list_ranges_;
  std::vector<Entry> entries_;
  std::vector<Collective> collectives_;
  std::array<std::vector<IndexRange>, directions> body_ranges_;
};

/// visit(mistake, where, program) for every mutant; `where` tells it in words when it is called.
template <class Visit> class Mutator {
 public:
  Mutator(const Program& program, Visit& visit) : p_(program), changed_(program), visit_(visit) {}

  void each() {
    for (int r = 0; r < p_.roles; ++r)
      for (std::size_t i = 0; i < changed_.lists[static_cast<std::size_t>(r)].size(); ++i) line(r, i);
    for (int d = 0; d < Changeable::directions; ++d)
      for (int c = 0; c < p_.chunks; ++c)
        for (std::size_t e = 0; e < changed_.bodies[static_cast<std::size_t>(d)][static_cast<std::size_t>(c)].size(); ++e) entry(d, c, e);
    for (int d = 0; d < Changeable::directions; ++d)
      for (int c = 0; c < p_.chunks; ++c) body_places(d, c);
    for (std::size_t t = 0; t < changed_.transfers.size(); ++t) transfer(t);
    slots();
    for (std::size_t i = 0; i < changed_.pools.size(); ++i) pool(i);
    for (std::size_t r = 0; r < changed_.arenas.size(); ++r) arena(r);
    for (std::size_t k = 0; k < changed_.parameters.size() && p_.storage.parts == 1; ++k) parameter(k);
    for (std::size_t u = 0; u < changed_.units.size() && p_.clips; ++u)
      other(changed_.units[u].counts, std::array{!changed_.units[u].counts}, Mistake::unit, [=] { return "unit " + std::to_string(u); });
    for (std::size_t c = 0; c < changed_.collectives.size(); ++c) collective(c);
  }

 private:
  template <class Where> void tell(Mistake mistake, Where where) {
    visit_(mistake, where, mistake == Mistake::collective ? changed_.view() : changed_.noted_again());
  }

  template <class Item, class Where> void delete_double_swap(std::vector<Item>& all, std::size_t i, Mistake deleted, Where where) {
    const auto kind = [&](int k) { return static_cast<Mistake>(static_cast<int>(deleted) + k); };
    const std::vector<Item> before = all;
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    tell(kind(0), where);
    all = before;
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(i), before[i]);
    tell(kind(1), where);
    all = before;
    if (i + 1 == all.size()) return;
    std::swap(all[i], all[i + 1]);
    tell(kind(2), where);
    all = before;
  }
  /// Other values of one field, one after another.
  template <class Field, class Values, class Where> void other(Field& field, const Values& values, Mistake mistake, Where where) {
    const Field before = field;
    for (const Field value : values) {
      if (value == before) continue;
      field = value;
      tell(mistake, where);
    }
    field = before;
  }
  [[nodiscard]] std::vector<Axis> axes() const {
    std::vector<Axis> all;
    for (int k = 0; k < p_.mesh.count; ++k)
      if (p_.mesh.axes[k] != Axis::stage && p_.mesh.sizes[k] > 1) all.push_back(p_.mesh.axes[k]);
    return all;
  }
  /// Those of a role; ties are summed into those that have uses, and frozen ones are gathered alone.
  [[nodiscard]] std::vector<std::int16_t> buckets(int role, bool with_uses, bool gathers = false) const {
    std::vector<std::int16_t> all;
    for (std::int16_t b = 0; b < p_.bucket_count + (gathers ? p_.frozen_count : 0); ++b) {
      bool used = false;
      for (int u = 0; u < p_.use_count; ++u) used = used || p_.uses[u].bucket == b;
      if (p_.buckets[b].role == role && (used || !with_uses)) all.push_back(b);
    }
    return all;
  }
  [[nodiscard]] std::vector<std::int8_t> inputs() const {
    std::vector<std::int8_t> all;
    for (std::int8_t k = 0; k < p_.graph->input_count; ++k) all.push_back(k);
    return all;
  }
  [[nodiscard]] std::vector<std::int16_t> micro_batches() const {
    std::vector<std::int16_t> all;
    for (std::int16_t m = 0; m < p_.batch.total_micro_batches(); ++m) all.push_back(m);
    return all;
  }

  void line(int role, std::size_t i) {
    auto& list = changed_.lists[static_cast<std::size_t>(role)];
    const Instruction original = list[i];
    const auto where = [=] { return "role " + std::to_string(role) + " line " + std::to_string(i) + " (" + std::string{word_of(original.op)} + ")"; };
    delete_double_swap(list, i, Mistake::line_deleted, where);
    Instruction& here = list[i];
    if (here.op == ListOp::reduce_start || here.op == ListOp::reduce_wait) other(here.axis, axes(), Mistake::line_axis, where);
    if (here.peer >= 0) {
      std::vector<std::int16_t> peers;
      for (std::int16_t r = 0; r < p_.roles; ++r)
        if (r != role) peers.push_back(r);
      other(here.peer, peers, Mistake::line_peer, where);
    }
    if (here.bucket >= 0) other(here.bucket, buckets(role, here.op == ListOp::tie), Mistake::line_bucket, where);
    const bool waits = here.op == ListOp::send_wait || here.op == ListOp::receive_wait;  // for what its start names, whatever it says
    if (here.micro_batch >= 0 && !waits) other(here.micro_batch, micro_batches(), Mistake::line_micro_batch, where);
    other(here.when, std::array{When::always, When::reporting}, Mistake::line_when, where);
  }
  void inserted(int direction, int chunk, std::size_t e) {
    auto& body = changed_.bodies[static_cast<std::size_t>(direction)][static_cast<std::size_t>(chunk)];
    const std::vector<Entry> before = body;
    for (const Entry& more : insertions(p_, before, e)) {
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(e) + 1, more);
      tell(Mistake::entry_inserted, [=, what = more.what, behind = before[e].what] {
        return "body " + std::to_string(direction) + " of chunk " + std::to_string(chunk) + " entry " + std::to_string(e) + " (" +
               std::string{words_of(what).does} + " behind " + std::string{words_of(behind).does} + ")";
      });
      body = before;
    }
  }
  void entry(int direction, int chunk, std::size_t e) {
    auto& body = changed_.bodies[static_cast<std::size_t>(direction)][static_cast<std::size_t>(chunk)];
    const Entry original = body[e];
    inserted(direction, chunk, e);
    const auto where = [=] {
      return std::string{direction == 0   ? "forward"
                         : direction == 1 ? "backward"
                                          : "weight"} +
             " body of chunk " + std::to_string(chunk) + " entry " + std::to_string(e) + " (" + std::string{words_of(original.what).does} + ")";
    };
    delete_double_swap(body, e, Mistake::entry_deleted, where);
    Entry& here = body[e];
    const bool of_bucket = here.what == BodyOp::reduce_start || here.what == BodyOp::reduce_wait || here.what == BodyOp::gather_start ||
                           here.what == BodyOp::gather_wait || here.what == BodyOp::zero_gaps || here.what == BodyOp::add_slice;
    const bool of_value = here.what == BodyOp::reduce_value || here.what == BodyOp::gather_value || here.what == BodyOp::scatter_value;
    if (here.what == BodyOp::reduce_start || here.what == BodyOp::reduce_wait || of_value || here.what == BodyOp::reduce_parameter ||
        here.what == BodyOp::reduce_phase)
      other(here.axis, axes(), Mistake::entry_axis, where);
    const bool gathers = here.what == BodyOp::gather_start || here.what == BodyOp::gather_wait;
    if (of_bucket) other(here.bucket, buckets(p_.device_of_chunk[chunk], false, gathers), Mistake::entry_bucket, where);
    if (here.what == BodyOp::reduce_parameter) {
      std::vector<std::int16_t> parameters;
      for (std::int16_t k = 0; k < p_.graph->nodes[here.node].parameter_count; ++k) parameters.push_back(k);
      other(here.bucket, parameters, Mistake::entry_bucket, where);
    }
    if (here.what == BodyOp::leaf_forward || here.what == BodyOp::leaf_backward || here.what == BodyOp::leaf_backward_input ||
        here.what == BodyOp::leaf_backward_weight)
      other(here.node, same_sizes(chunk, here.node), Mistake::entry_node, where);
    if (here.what == BodyOp::leaf_backward && p_.graph->nodes[here.node].operand_count == 2)
      other(here.operand, std::array{std::int8_t{0}, std::int8_t{1}}, Mistake::entry_node, where);
    if (here.phase > 0 && here.what <= BodyOp::leaf_backward_weight) {
      const Phases& phases = here.what == BodyOp::leaf_forward ? p_.graph->leaf(here.node).forward_phases : p_.graph->leaf(here.node).backward_phases;
      std::vector<std::int8_t> others;
      for (int phase = 1; phase <= phases.count(); ++phase) others.push_back(static_cast<std::int8_t>(phase));
      other(here.phase, others, Mistake::entry_phase, where);
    }
    if (here.what == BodyOp::leaf_forward || passes_back(here.what) || (here.what == BodyOp::add && here.node >= 0))
      other(here.fused, std::array{true, false}, Mistake::entry_fused, where);
    if (here.what == BodyOp::load_input || here.what == BodyOp::copy)
      other(here.type, std::array{here.type == ElementType::uint8 ? ElementType::float32 : ElementType::uint8}, Mistake::entry_type, where);
    if (here.what == BodyOp::load_input) other(here.operand, inputs(), Mistake::entry_input, where);
    if (here.features > 0) other(here.features, std::array{here.features - 1}, Mistake::entry_size, where);
    if (here.what == BodyOp::gather_value || here.what == BodyOp::scatter_value || here.what == BodyOp::slice_value)
      other(here.runs, std::array{std::int64_t{1}, here.features / p_.graph->split.ranks}, Mistake::entry_size, where);
    other(here.when, std::array{When::always, When::reporting}, Mistake::entry_when, where);
    if (p_.batch.total_micro_batches() > 1) other(here.when, std::array{When::first_micro_batch, When::last_micro_batch}, Mistake::entry_when, where);
    for (Place* place : {&here.a, &here.b, &here.c, &here.d, &here.e}) {
      const auto operand = [=, &here] {
        return where() + ": operand " + std::to_string(place == &here.a ? 0 : place == &here.b ? 1 : place == &here.c ? 2 : place == &here.d ? 3 : 4);
      };
      other_place(*place, pool_of_chunk(chunk), Mistake::entry_place, operand);
    }
  }
  /// In all entries of a body one place stands for another, and that one for the first or for itself. Of many pairs some are drawn.
  void body_places(int direction, int chunk) {
    constexpr std::size_t most_pairs = 12;
    auto& body = changed_.bodies[static_cast<std::size_t>(direction)][static_cast<std::size_t>(chunk)];
    const std::vector<Entry> before = body;
    std::vector<Place> places;
    for (const Entry& entry : before)
      for (const Place& place : {entry.a, entry.b, entry.c, entry.d, entry.e})
        if (place.set() && std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    const std::size_t pairs = places.size() * (places.empty() ? 0 : places.size() - 1) / 2;
    std::size_t pair = 0;
    for (std::size_t i = 0; i < places.size(); ++i)
      for (std::size_t j = i + 1; j < places.size(); ++j, ++pair) {
        if (bits64(Seed{1}, pairs, pair) % pairs >= most_pairs) continue;
        for (const bool exchanged : {true, false}) {
          for (Entry& entry : body)
            for (Place* place : {&entry.a, &entry.b, &entry.c, &entry.d, &entry.e})
              if (*place == places[i])
                *place = places[j];
              else if (exchanged && *place == places[j])
                *place = places[i];
          tell(Mistake::body_places, [=, a = places[i], b = places[j]] {
            return "body " + std::to_string(direction) + " of chunk " + std::to_string(chunk) + (exchanged ? " (exchanged)" : " (one for both)") +
                   ' ' + std::to_string(a.pool) + '+' + std::to_string(a.offset) + " and " + std::to_string(b.pool) + '+' + std::to_string(b.offset);
          });
          body = before;
        }
      }
  }
  /// Layers of the chunk that take and give as much, with parameters of the same sizes: their kernels touch the same bytes.
  [[nodiscard]] std::vector<std::int32_t> same_sizes(int chunk, int node) const {
    std::vector<std::int32_t> all;
    const Leaf& leaf = p_.graph->leaf(node);
    for (std::int32_t n = p_.first_node[chunk]; n < p_.first_node[chunk + 1]; ++n) {
      const Leaf& other = p_.graph->leaf(n);
      bool same = other.in.elements() == leaf.in.elements() && other.out.elements() == leaf.out.elements() &&
                  other.parameter_count == leaf.parameter_count && other.saves == leaf.saves;
      for (int k = 0; k < leaf.parameter_count && same; ++k) same = other.parameters[k].shape.elements() == leaf.parameters[k].shape.elements();
      if (same) all.push_back(n);
    }
    return all;
  }
  [[nodiscard]] static std::int16_t pool_of_chunk(int chunk) { return static_cast<std::int16_t>(chunk * pool_kinds); }
  template <class Where> void other_place(Place& place, std::int16_t frame, Mistake mistake, Where where) {
    if (!place.set()) return;
    const Place here = place;
    const auto told = [=, &place] {
      return where() + " from " + std::to_string(here.pool) + '+' + std::to_string(here.offset) + " to " + std::to_string(place.pool) + '+' +
             std::to_string(place.offset);
    };
    const std::int16_t elsewhere = here.pool == Place::scratch ? frame : Place::scratch;
    other(place, std::array{Place{here.pool, here.offset + 64}, Place{here.pool, here.offset - 64}, Place{elsewhere, here.offset}}, mistake, told);
  }
  void transfer(std::size_t t) {
    Transfer& here = changed_.transfers[t];
    const auto where = [=] { return "transfer " + std::to_string(t); };
    if (here.elements > 16) other(here.elements, std::array{here.elements - 16}, Mistake::transfer_size, where);
    if (here.use >= 0) return other(here.target.offset, std::array{here.target.offset + 64}, Mistake::transfer_size, where);
    other_place(here.source, pool_of_chunk(here.from_chunk), Mistake::transfer_place, where);
    other_place(here.target, pool_of_chunk(here.to_chunk), Mistake::transfer_place, where);
  }
  void slots() {
    for (int pool = 0; pool < p_.chunks * pool_kinds; ++pool) {
      std::vector<std::int16_t> all;
      for (std::int16_t s = 0; s < p_.pools[pool].slots; ++s) all.push_back(s);
      for (int m = 0; m < p_.batch.total_micro_batches() && p_.pools[pool].slots > 1; ++m) {
        const auto where = [=] { return "pool " + std::to_string(pool) + " micro-batch " + std::to_string(m); };
        other(changed_.slots[static_cast<std::size_t>(pool * p_.batch.total_micro_batches() + m)], all, Mistake::slot, where);
      }
    }
  }

  /// Numbers of bytes 64 more or less, but not below 0.
  template <class Where> void bytes(std::int64_t& field, Mistake mistake, Where where) {
    other(field, std::array{field + 64, field >= 64 ? field - 64 : field}, mistake, where);
  }
  void pool(std::size_t i) {
    Pool& here = changed_.pools[i];
    if (here.slots == 0) return;
    bytes(here.base, Mistake::pool, [=] { return "pool " + std::to_string(i) + " (base)"; });
    bytes(here.slot_bytes, Mistake::pool, [=] { return "pool " + std::to_string(i) + " (bytes of a slot)"; });
  }
  void arena(std::size_t r) {
    for (const tests::ArenaNumber& at : tests::arena_numbers)
      bytes(at.of(changed_.arenas[r]), Mistake::arena, [r, of = at.name] { return "role " + std::to_string(r) + " (" + of + ")"; });
  }
  void parameter(std::size_t k) {
    ParameterPlace& here = changed_.parameters[k];
    other(here.begin, std::array{here.begin + 16, here.begin >= 16 ? here.begin - 16 : here.begin}, Mistake::parameter,
          [=] { return "parameter " + std::to_string(k) + " (begin)"; });
    if (here.elements > 1)
      other(here.elements, std::array{here.elements - 1}, Mistake::parameter, [=] { return "parameter " + std::to_string(k) + " (elements)"; });
  }

  /// What lines and entries say stays as it is: other ends, another kind and size are what the table alone says.
  void collective(std::size_t number) {
    Collective& here = changed_.collectives[number];
    if (!named(static_cast<std::int16_t>(number))) return;
    const auto where = [=](const char* what) { return [=] { return "collective " + std::to_string(number) + " (" + what + ")"; }; };
    other(here.axis, axes(), Mistake::collective, where("axis"));
    other(here.kind, std::array{CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather}, Mistake::collective,
          where("kind"));
    if (here.elements > 16) other(here.elements, std::array{here.elements - 16}, Mistake::collective, where("elements"));
    if (here.kind == CollectiveKind::reduce_scatter && here.purpose == Purpose::gradient)
      other(here.accumulates, std::array{!here.accumulates}, Mistake::collective, where("accumulation"));
    if (here.kind != CollectiveKind::all_reduce) end(here.source, where("source"));
    end(here.target, where("target"));
    if (here.accumulates) end(here.arrived, where("arrival"));
  }
  template <class Where> void end(Address& here, Where where) {
    other(here.begin, std::array{here.begin + 16, here.begin - 16}, Mistake::collective, where);
    if (here.stride > 0) other(here.stride, std::array{std::int64_t{0}, here.stride - 16}, Mistake::collective, where);
    if (here.region == RegionKind::fresh || here.region == RegionKind::arrived || here.region == RegionKind::gathered)
      other(here.copy, std::array{static_cast<std::int16_t>(1 - here.copy)}, Mistake::collective, where);
    if (here.region == RegionKind::gradients || here.region == RegionKind::parameters)
      other(here.region, std::array{RegionKind::gradients, RegionKind::parameters}, Mistake::collective, where);
  }
  [[nodiscard]] bool named(std::int16_t number) const {
    const auto names = [=](const auto& lists) {
      return std::any_of(lists.begin(), lists.end(), [=](const auto& list) {
        return std::any_of(list.begin(), list.end(), [=](const auto& at) { return at.collective == number; });
      });
    };
    return names(changed_.lists) || names(changed_.bodies[0]) || names(changed_.bodies[1]) || names(changed_.bodies[2]);
  }

  const Program& p_;
  Changeable changed_;
  Visit& visit_;
};

}  // namespace heddle::tests
