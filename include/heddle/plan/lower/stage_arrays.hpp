// SPDX-License-Identifier: MIT
// Room: plan. What is noted of the places where a pipeline may be cut: tables of a constant, or of a graph that is data.
// Sees: policy/cut, plan/lower/tables.  Does not see: graphs, processes, threads.
// In: a number of nodes.  Out: StageArrays, AllottedStages, with their initial values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/plan/lower/tables.hpp"
#include "heddle/policy/cut.hpp"

namespace heddle::plan_room {

/// Parameters up to a place: whole units before the one that it goes through, and that unit up to there and in all, without padding.
/// Between two Linear<16, 16> of a first block, 1,088 bytes each, closed is 0, open is 1,088 and unit is 2,176.
struct FlatUpTo {
  std::int64_t closed = 0;
  std::int64_t open = 0;
  std::int64_t unit = 0;
};
/// Scratch of one piece, by whether its input lies there and whether its output does.
/// Of a Tanh on 64 bytes of[1][0] is 64: its output lies elsewhere.
struct PieceScratch {
  std::int64_t of[2][2]{};
};

/// What is noted of the places and the pieces of a graph, as arrays of a constant: compilers read those several times faster than what a pointer
/// shows. A graph of 3 nodes has 4 places.
template <int Nodes> struct StageArrays {
  static constexpr int most = Nodes > 0 ? Nodes : 1;
  using Cut = BalancedCut<most>;
  std::int64_t flops[std::size_t{most + 1}]{};     ///< of all pieces before a place
  std::int64_t boundary[std::size_t{most + 1}]{};  ///< [bytes] of the value that passes there
  FlatUpTo flat[std::size_t{most + 1}]{};
  FlatUpTo frozen[std::size_t{most + 1}]{};               ///< of parameters that are not trained
  std::int64_t largest_unit[std::size_t{most}]{};         ///< of a piece, and of units that go on in the next
  std::int64_t largest_frozen_unit[std::size_t{most}]{};  ///< where they are sliced
  std::int64_t framed[std::size_t{most + 1}]{};           ///< saved by all pieces before a place, if nothing is cut
  std::int64_t reread[std::size_t{most + 1}]{};           ///< gradients that the weight parts of a split backward read again
  std::int64_t arrives[std::size_t{most + 1}]{};          ///< of these: what lies where the gradient of the stage's output does
  std::int64_t sent[std::size_t{most + 1}]{};             ///< more is saved if the stage ends there
  std::int64_t received[std::size_t{most + 1}]{};         ///< more is saved if it begins there
  std::int64_t zeros[std::size_t{most}]{};                ///< [elements] of a piece: what one coordinate of axis tensor adds and others leave out
  PieceScratch scratch[std::size_t{most}]{};
  bool in_place[std::size_t{most}]{};    ///< of a piece: its output takes the place of its input
  int readers[std::size_t{most + 1}]{};  ///< by value
  explicit constexpr StageArrays(int) {}
};
/// CutArrays for a graph that is data.
struct AllottedCut {
  Tables<std::int64_t, int> tables{};
  int* piece_node;
  std::int64_t* flops;
  int* last_reader;
  explicit constexpr AllottedCut(int nodes)
      : piece_node(tables.make<int>(nodes + 1)), flops(tables.make<std::int64_t>(nodes + 1)), last_reader(tables.make<int>(nodes + 1)) {}
};
/// StageArrays for a graph that is data.
/// Tested  plan/lower/stage_arrays_test
struct AllottedStages {
  using Cut = CutPieces<AllottedCut>;
  Tables<std::int64_t, int, bool, FlatUpTo, PieceScratch> tables{};
  std::int64_t *flops, *boundary, *largest_unit, *largest_frozen_unit, *framed, *reread, *arrives, *sent, *received, *zeros;
  FlatUpTo *flat, *frozen;
  PieceScratch* scratch;
  bool* in_place;
  int* readers;
  explicit constexpr AllottedStages(int nodes)
      : flops(bytes(nodes)), boundary(bytes(nodes)), largest_unit(bytes(nodes)), largest_frozen_unit(bytes(nodes)), framed(bytes(nodes)),
        reread(bytes(nodes)), arrives(bytes(nodes)), sent(bytes(nodes)), received(bytes(nodes)), zeros(bytes(nodes)),
        flat(tables.make<FlatUpTo>(nodes + 1)), frozen(tables.make<FlatUpTo>(nodes + 1)), scratch(tables.make<PieceScratch>(nodes + 1)),
        in_place(tables.make<bool>(nodes + 1)), readers(tables.make<int>(nodes + 1)) {}

 private:
  constexpr std::int64_t* bytes(int nodes) { return tables.make<std::int64_t>(nodes + 1); }
};

}  // namespace heddle::plan_room
