// SPDX-License-Identifier: MIT
// Room: core. The one point where a Diagnosis becomes a compile error: the literal has the law, the argument the finished sentence.
// Sees: core/rule.  Does not see: every other room.
// In: a constexpr Diagnosis.  Out: exactly one error, or nothing.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"

namespace heddle::inline core {

/// The finished sentence as a template argument. g++ prints a string in full, clang the first 32 characters of each: it gets pieces.
struct Spelled {
#if defined(__clang__)
  static constexpr int piece = 30;
  char sentence[16][piece + 1]{};
  constexpr explicit Spelled(const Sentence& text) {
    for (int i = 0; i < text.length; ++i) sentence[i / piece][i % piece] = text.chars[i];
  }
#else
  char sentence[481]{};
  constexpr explicit Spelled(const Sentence& text) {
    for (int i = 0; i < text.length; ++i) sentence[i] = text.chars[i];
  }
#endif
};

template <bool Holds, Code Broken, Spelled Says, std::int64_t... Numbers> struct rule {
  static constexpr bool is(char letter, int number) { return Broken.letter == letter && Broken.number == number; }
  static_assert(Holds || !is('G', 1), "[heddle.G01] A layer takes another shape than the layer before it gives. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('G', 2), "[heddle.G02] A Residual adds values of different shapes. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('G', 3), "[heddle.G03] The loss does not accept the output of the model. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('G', 4), "[heddle.G04] A name stands twice or cannot stand in a state_dict. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('G', 5), "[heddle.G05] A type is no layer. The sentence with the missing member: Says.");
  static_assert(Holds || !is('G', 6), "[heddle.G06] A size of a layer is not positive. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('G', 7), "[heddle.G07] A shape is divided into another number of elements. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('G', 8), "[heddle.G08] A repeated block gives another shape than it takes. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('G', 9), "[heddle.G09] A model has nothing to train. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('G', 10), "[heddle.G10] The shape of the model's input is not known. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('M', 1), "[heddle.M01] An axis is claimed twice. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('M', 2), "[heddle.M02] An axis has no size. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('M', 3), "[heddle.M03] Stages and devices do not fit. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('M', 4), "[heddle.M04] A policy has a part that it does not know. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('P', 1), "[heddle.P01] A value that is still a sum over ranks reaches a sink. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('S', 1), "[heddle.S01] A layer is in no stage, twice or out of order. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('S', 2), "[heddle.S02] There are fewer micro-batches than stages. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('S', 3), "[heddle.S03] The schedule deadlocks under rendezvous. The witness: Says.");
  static_assert(Holds || !is('S', 4), "[heddle.S04] A send does not meet its receive. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('S', 5), "[heddle.S05] A micro-batch does not pass every chunk once each way. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('S', 6), "[heddle.S06] A gradient is not summed and reduced once before the step. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('S', 7), "[heddle.S07] The schedule is too long for a constant expression. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('C', 1), "[heddle.C01] A stage needs more memory than the plan allows. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('B', 1), "[heddle.B01] The batch does not divide and no remedy is named. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('B', 2), "[heddle.B02] The batch is smaller than the ranks and micro-batches that split it. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('B', 3), "[heddle.B03] The grain does not divide a micro-batch. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('B', 4), "[heddle.B04] Sums cannot be reproducible with these counts. The sentence with names and numbers: Says.");
  static_assert(Holds || !is('L', 1), "[heddle.L01] A part of the plan is missing. The sentence: Says.");
  static_assert(Holds || !is('L', 2), "[heddle.L02] A part of the plan is named twice. The sentence: Says.");
  static_assert(Holds || !is('L', 3), "[heddle.L03] Something in the plan is no part of a plan. The sentence: Says.");
};

/// Turns the broken rule in Holder::found into the one compile error: static_assert(sizeof(fired<Holder>)) at class or namespace scope.
/// A holder instead of a reference: nvcc 13 rewrites reference template arguments wrongly.
template <class Holder>
using fired = rule<Holder::found.ok(), Holder::found.code, Spelled{Holder::found.text}, Holder::found.numbers[0], Holder::found.numbers[1],
                   Holder::found.numbers[2], Holder::found.numbers[3]>;

}  // namespace heddle::inline core
