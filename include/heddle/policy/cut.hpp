// SPDX-License-Identifier: MIT
// Room: policy. Cuts a graph into consecutive chunks: by the types of explicit parts, or balanced by static cost.
// Sees: graph, policy/layout.  Does not see: memory, processes.
// In: part types or a number of chunks.  Out: Layout::first_node.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/type_name.hpp"
#include "heddle/graph/trace.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// The leaf types of a part in order of execution, to be found again in the model.
/// Repeat<2, Residual<ReLU>> has 4 of them: ReLU and the sum, twice.
template <int Nodes> struct TypeList {
  TypeId types[std::size_t{Nodes > 0 ? Nodes : 1}]{};
  int count = 0;

  template <class L> constexpr int layer(int value) {
    if constexpr (Composite<L>)
      return L::trace(*this, value);
    else
      types[count++] = type_id<L>();
    return value;
  }
  template <class L> constexpr int child(int, int value) { return layer<L>(value); }
  template <class L> constexpr int named(std::string_view, int value) { return layer<L>(value); }
  template <int Times, class Block> constexpr int repeat(int value) {
    for (int t = 0; t < Times; ++t) layer<Block>(value);
    return value;
  }
  template <class Op> constexpr int join(int, int value, const Joint& = {}) {
    types[count++] = type_id<Op>();
    return value;
  }
  template <class L> constexpr int source(int, int value) {
    types[count++] = type_id<L>();
    return value;
  }
  template <class...> constexpr void siblings() {}
};

template <class Part> [[nodiscard]] constexpr auto types_of() {
  constexpr int nodes = Traced<Part>::counted.nodes;
  TypeList<nodes> list;
  list.template layer<Part>(0);
  return list;
}

/// Places the next stage at node `position`; returns the node after it.
/// Errors  S01 if the model continues with another layer than the part
template <class Part> constexpr int place_part(const Graph& graph, Layout& layout, int stage, int position) {
  const auto part = types_of<Part>();
  for (int i = 0; i < part.count; ++i) {
    const int node = position + i;
    if (node < graph.node_count && graph.leaves[graph.nodes[node].leaf].type == part.types[i]) continue;
    Diagnosis fault{Code{'S', 1}, ""};
    fault << "stage " << stage << " (" << type_name<Part>().view() << ')';
    if (node >= graph.node_count)
      fault << " has more layers than are left: " << graph.model.view() << " ends after its " << graph.node_count << " layers, before layer " << i
            << " of that stage. Fix: let the stages hold each layer of the model once, in order.";
    else
      fault << " does not go on with " << graph.describe(node).view() << " of " << graph.model.view()
            << ": that layer is skipped or out of order. Fix: let the stages hold each layer of the model once, in order.";
    layout.refuse(fault);
    return graph.node_count;
  }
  layout.first_node[stage] = position;
  layout.first_node[stage + 1] = position + part.count;
  return position + part.count;
}

/// True where exactly one value passes from the nodes before to the nodes after: no skip edge is cut.
[[nodiscard]] constexpr bool clean_boundary(const Graph& graph, int boundary) {
  for (int n = boundary; n < graph.node_count; ++n)
    for (int k = 0; k < graph.nodes[n].operand_count; ++k)
      if (graph.nodes[n].operands[k] < boundary) return false;
  return true;
}

/// What a cut notes of a graph, as arrays of a constant.
/// CutArrays<3> has room for 3 pieces, and for the place behind the last.
template <int Most> struct CutArrays {
  int piece_node[std::size_t{Most + 1}]{};      ///< node that begins piece i
  std::int64_t flops[std::size_t{Most + 1}]{};  ///< of piece i, wherever the model is cut
  int last_reader[std::size_t{Most + 1}]{};     ///< by value: a node; 0: nobody
  explicit constexpr CutArrays(int) {}
};

/// The pieces of a graph between which it may be cut, and chunks made of them. Their tables are CutArrays, or as long as a graph that is data.
///
/// The operations are those that training runs, without what runs again under Recompute: that depends on the cut. A chunk that begins with the first
/// layer with parameters makes a gradient of its input, which the same layer does not make where it lies in the first chunk.
///
/// Repeat<5, Linear<64, 64, NoBias>> has 5 pieces of 2, 3, 3, 3 and 3 products: 2 chunks get 8 and 6 of them.
template <class Arrays> struct CutPieces : Arrays {
  using Arrays::flops, Arrays::last_reader, Arrays::piece_node;
  int trained = 0;                  ///< the piece that begins with the first layer with parameters, 0: no piece but perhaps the first does
  std::int64_t extra = 0;           ///< more operations in a chunk that begins with it
  std::int64_t before_trained = 0;  ///< operations of the pieces before it
  int pieces = 0;
  int chunks = 1;
  std::int64_t total = 0;
  std::int64_t largest = 0;

  constexpr CutPieces(const Graph& traced, int asked, bool trains = true) : Arrays(traced.node_count), chunks(asked) {
    const int untrained = trains ? traced.last_untrained() : traced.node_count;  // without training no layer runs a backward
    for (int n = 0; n < traced.node_count; ++n)
      for (int k = 0; k < traced.nodes[n].operand_count; ++k) last_reader[traced.nodes[n].operands[k]] = n;
    int joined = 0;  // nodes up to here read a value from before the one in hand
    for (int n = 0; n < traced.node_count; ++n) {
      if (n == 0 || n > joined) piece_node[pieces++] = n;
      if (last_reader[n] > joined) joined = last_reader[n];
      if (traced.nodes[n].operand_count == 0 && last_reader[n + 1] > joined) joined = last_reader[n + 1];  // an input is loaded where it is read
      const std::int64_t work = traced.work(n, untrained).total();
      if (n == untrained && n > 0 && piece_node[pieces - 1] == n) {
        trained = pieces - 1;
        before_trained = total;
      }
      flops[pieces - 1] += work;
      total += work;
      if (flops[pieces - 1] > largest) largest = flops[pieces - 1];
      if (trained > 0 && trained == pieces - 1) extra += traced.work(n, untrained, untrained).total() - work;
    }
    piece_node[pieces] = traced.node_count;
  }
  /// Of a chunk of pieces begin to end - 1, given the flops of these.
  [[nodiscard]] constexpr std::int64_t with_extra(int begin, std::int64_t sum) const { return begin > 0 && begin == trained ? sum + extra : sum; }
  /// Chunks of at most `most` flops; false if more than `chunks` are needed. A cut without a chunk that begins with `trained` is tried first, and is
  /// enough where the pieces before it have no work.
  constexpr bool fill(std::int64_t most, int* first_node) const {
    if (extra > 0 && fill(most, first_node, trained)) return true;
    if (extra > 0 && before_trained == 0 && chunks < pieces) return false;
    return fill(most, first_node, 0);
  }

 private:
  /// Fills chunk by chunk, with a piece left for each chunk that must still follow. Piece `joined`, if it is not 0, lies with the one before it.
  constexpr bool fill(std::int64_t most, int* first_node, int joined) const {
    int chunk = 0;
    std::int64_t filled = 0;
    first_node[0] = 0;
    for (int i = 0; i < pieces; ++i) {
      if (joined > 0 && i == joined) continue;
      const std::int64_t next = joined > 0 && i + 1 == joined ? flops[i] + flops[joined] : flops[i];
      const int left = pieces - i - (i < joined ? 1 : 0);
      if (i > 0 && (filled + next > most || left <= chunks - 1 - chunk)) {
        if (++chunk == chunks) return false;
        first_node[chunk] = piece_node[i];
        filled = with_extra(i, 0);
      }
      filled += next;
      if (filled > most) return false;
    }
    first_node[chunk + 1] = piece_node[pieces];
    return chunk + 1 == chunks;
  }
};

/// Owns the tables of a graph of at most so many nodes.
template <int MostNodes> using BalancedCut = CutPieces<CutArrays<MostNodes>>;

/// Cuts into `chunks` so that the slowest has the fewest flops; never through a skip connection.
/// Errors  M03 if there are fewer places to cut than chunks ask for
template <int MostNodes> constexpr void cut_balanced(const Graph& graph, Layout& layout, std::int64_t asked) {
  if (graph.node_count > MostNodes)
    return layout.refuse(Diagnosis{Code{'M', 3}, ""} << graph.model.view() << " has " << graph.node_count << " layers, but Balanced cuts at most "
                                                     << MostNodes << ". Fix: name the stages.");
  const BalancedCut<MostNodes> cut{graph, asked < 1 || asked > Layout::most_chunks ? 1 : static_cast<int>(asked), layout.trains};
  if (asked < 1 || asked > cut.pieces || asked > Layout::most_chunks)
    return layout.refuse(Diagnosis{Code{'M', 3}, ""} << "a balanced cut into " << asked << " needs " << asked - 1 << " cuts, but "
                                                     << graph.model.view() << " with " << graph.node_count << " layers can be cut in "
                                                     << cut.pieces - 1 << " places (never through a skip connection). Fix: ask for at most "
                                                     << (cut.pieces < Layout::most_chunks ? cut.pieces : Layout::most_chunks) << " stages.");
  std::int64_t low = cut.largest;
  std::int64_t high = cut.total + cut.extra;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (cut.fill(middle, layout.first_node))
      high = middle;
    else
      low = middle + 1;
  }
  cut.fill(high, layout.first_node);
}

}  // namespace heddle::policy_room
