// SPDX-License-Identifier: MIT
// Room: core. The one point where a Diagnosis becomes a compile error: the literal has the law, the argument the finished sentence.
// Sees: core/rule.  Does not see: every other room.
// In: a constexpr Diagnosis.  Out: exactly one error, or nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/rule.hpp"

namespace heddle::core_room {

/// The finished sentence as a template argument, which compilers print. Quotes become backticks: they would be printed with a backslash.
/// g++ prints a string whole, nvcc character by character. clang prints the first 36 characters of a string without zeros and the first
/// 10 elements of an array, so it gets rows of filled-up lines; clang 14 prints numbers.
#if defined(__clang__)
/// Spelled<2> holds a sentence of 2 lines of at most 36 characters, in one row of ten lines.
template <int Lines> struct Spelled {
  static constexpr int width = 36;
  static constexpr int most_lines = 10;
  char sentence[Lines / most_lines + 1][most_lines][width + 1]{};

  constexpr explicit Spelled(const Sentence& text) {
    int begin = 0;
    for (int line = 0; begin < text.length; ++line) {
      const int end = line_end(text, begin);
      char* const to = sentence[line / most_lines][line % most_lines];
      for (int i = 0; i < width; ++i) to[i] = begin + i >= end ? ' ' : text.chars[begin + i] == '\'' ? '`' : text.chars[begin + i];
      begin = end;
      while (begin < text.length && text.chars[begin] == ' ') ++begin;
    }
  }
  static constexpr int line_end(const Sentence& text, int begin) {
    if (text.length - begin <= width) return text.length;
    int end = begin + width;
    while (end > begin && text.chars[end] != ' ') --end;
    return end > begin ? end : begin + width;
  }
};
constexpr int spelled_extent(const Sentence& text) {
  int lines = 0;
  for (int begin = 0; begin < text.length; ++lines) {
    begin = Spelled<0>::line_end(text, begin);
    while (begin < text.length && text.chars[begin] == ' ') ++begin;
  }
  return lines;
}
#else
/// Spelled<5> holds a sentence of 5 characters and a zero behind them.
template <int Length> struct Spelled {
  char sentence[std::size_t{Length + 1}]{};
  constexpr explicit Spelled(const Sentence& text) {
    for (int i = 0; i < Length; ++i) sentence[i] = text.chars[i] == '\'' ? '`' : text.chars[i];
  }
};
constexpr int spelled_extent(const Sentence& text) { return text.length; }
#endif

// Not `!is(...)` of this class: g++ would print the whole argument list a second time in a note.
// One line a rule, because compilers quote the lines of the one that fails.
// clang-format off
/// A rule that holds or is broken: rule<true, ...> compiles, rule<false, Code{'B', 1}, ...> is the one error that says B01 and prints the sentence.
template <bool Holds, Code Broken, Spelled Says, std::int64_t... Numbers> struct rule {
  static_assert(Holds || Broken != Code{'A', 1}, "[heddle.A01] The batch is small for the devices. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'A', 2}, "[heddle.A02] The batch does not fill the ranks. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'A', 3}, "[heddle.A03] Stages are out of balance. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'A', 4}, "[heddle.A04] Stages are idle for most of a step. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'A', 5}, "[heddle.A05] An axis has size 1. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'A', 6}, "[heddle.A06] A stage has no parameters. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'A', 7}, "[heddle.A07] The reduction of gradients overlaps nothing. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'A', 8}, "[heddle.A08] Much of what is reduced is padding. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'A', 9}, "[heddle.A09] Chunks in turn gain little. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'A', 10}, "[heddle.A10] Every rank runs the same layer whole. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'A', 11}, "[heddle.A11] SequenceParallel splits nothing. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'A', 12}, "[heddle.A12] The model ends with what its loss applies. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 4}, "[heddle.L04] A set of plans cannot choose. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 1}, "[heddle.G01] A layer takes another shape than the layer before it gives. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 2}, "[heddle.G02] Branches give values that cannot be joined. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 3}, "[heddle.G03] The loss does not accept the output of the model. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 4}, "[heddle.G04] A name stands twice or cannot stand in a state_dict. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 5}, "[heddle.G05] A type is no layer. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 6}, "[heddle.G06] A size of a layer is not positive. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 7}, "[heddle.G07] A shape is divided into another number of elements. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 8}, "[heddle.G08] A repeated block gives another shape than it takes. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 9}, "[heddle.G09] A model has nothing to train. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 10}, "[heddle.G10] The input shape of the model is not known. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 13}, "[heddle.G13] A layer has no kernel for the backend. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 14}, "[heddle.G14] A kernel has no backward in two parts. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 15}, "[heddle.G15] A layer cannot use the parameters of another. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 16}, "[heddle.G16] Layers with the same parameters are split in two ways. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 18}, "[heddle.G18] A layer looks up what is no token id. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 19}, "[heddle.G19] A layer has more parameters, signatures or dimensions than are kept. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 20}, "[heddle.G20] The parameters of a layer do not follow what it takes. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 21}, "[heddle.G21] A size is too large to be counted. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 22}, "[heddle.G22] A model has too many layers to be described at build. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 23}, "[heddle.G23] A description contradicts itself. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 25}, "[heddle.G25] A layer has an argument of another kind. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 26}, "[heddle.G26] A model has no parameter of this name. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'G', 28}, "[heddle.G28] The inputs of a model are not what its layers take. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'M', 1}, "[heddle.M01] An axis is claimed twice. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'M', 2}, "[heddle.M02] An axis has no size. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'M', 3}, "[heddle.M03] Stages and devices do not fit. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'M', 4}, "[heddle.M04] A policy has a part that it does not know. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 1}, "[heddle.P01] A layer cannot be split evenly over axis tensor. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 2}, "[heddle.P02] Layers that are split by hand do not fit together. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 3}, "[heddle.P03] A layer states a signature that cannot be. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 4}, "[heddle.P04] A value does not lie as its reader takes it. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 5}, "[heddle.P05] TensorParallel has nothing to split. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 7}, "[heddle.P07] A loss takes parts, but its kernel makes no terms of them. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'M', 5}, "[heddle.M05] A sharded axis has a size that does not cut units evenly. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'M', 7}, "[heddle.M07] A replica has no share of the batch, or there are too many shares. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'M', 8}, "[heddle.M08] Nothing is gathered that could be kept. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 11}, "[heddle.P11] An operation that is not linear sees a sum that is not yet taken. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 12}, "[heddle.P12] Values of different placements are added or multiplied. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 13}, "[heddle.P13] A collective is called on a value that does not lie so along its axis. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 14}, "[heddle.P14] A value is not whole where a whole one is taken. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 15}, "[heddle.P15] A sum is taken for a mean, or has the wrong divisor. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 16}, "[heddle.P16] A mean of means does not weigh its rows equally. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 17}, "[heddle.P17] A norm is not reduced over the axes on which parameters are split. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 18}, "[heddle.P18] A collective is called with something that it cannot work on. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 19}, "[heddle.P19] The placements of a value contradict each other. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'P', 21}, "[heddle.P21] A view is given where numbers are to be held. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 1}, "[heddle.S01] A layer is in no stage, twice or out of order. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 2}, "[heddle.S02] There are fewer micro-batches than stages. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 3}, "[heddle.S03] The schedule deadlocks under rendezvous. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 4}, "[heddle.S04] A send does not meet its receive. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 5}, "[heddle.S05] A micro-batch does not pass every chunk once each way. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 6}, "[heddle.S06] A gradient is not summed and reduced once before the step. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 7}, "[heddle.S07] The schedule is too long for a constant expression. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 8}, "[heddle.S08] Micro-batches do not pass in whole groups. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 9}, "[heddle.S09] Gradients of tied weights are not summed over their owners once before the step. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 11}, "[heddle.S11] A layer runs without its gathered parameters, or over a gradient that is being reduced. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'B', 9}, "[heddle.B09] A cut goes through a unit over which a reproducible norm is summed. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 12}, "[heddle.S12] Gradients are clipped by a norm that is not the norm of all of them. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 13}, "[heddle.S13] An overflow that one rank sees is not known to all before the step. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 17}, "[heddle.S17] What is read is not what the graph and the layout say. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 18}, "[heddle.S18] A Program notes something else than follows from its model, layout and batch. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 19}, "[heddle.S19] Two things lie in the same memory, or outside of their room. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 20}, "[heddle.S20] A Program names what is not there. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 21}, "[heddle.S21] A loss that is not finite on one rank is not known to all before the step. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 15}, "[heddle.S15] Two micro-batches have one slot at the same time. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'S', 16}, "[heddle.S16] A collective is not within one stage, or a predicate depends on a rank. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'C', 1}, "[heddle.C01] A stage needs more memory than the plan allows. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'B', 1}, "[heddle.B01] The batch does not divide and no remedy is named. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'B', 2}, "[heddle.B02] The batch is smaller than the ranks and micro-batches that split it. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'B', 3}, "[heddle.B03] The grain does not divide a micro-batch. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'B', 4}, "[heddle.B04] Sums cannot be reproducible with these counts. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'B', 7}, "[heddle.B07] A cut adds the terms of a gradient in another order than one device. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'B', 8}, "[heddle.B08] A split product is added in another order than on one device. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 1}, "[heddle.L01] A part of the plan is missing. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 2}, "[heddle.L02] A part of the plan is named twice. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 3}, "[heddle.L03] Something in the plan is no part of a plan. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 5}, "[heddle.L05] Recompute names what the model does not have. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 6}, "[heddle.L06] A question is asked of what is no plan. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 7}, "[heddle.L07] The plan has no device of this number. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 9}, "[heddle.L09] What runs a plan has no backend. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 10}, "[heddle.L10] An Inference names what only training has. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 11}, "[heddle.L11] An Inference trains nothing. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 20}, "[heddle.L20] NoDecay and LearningRateFactor name what is not there. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 21}, "[heddle.L21] A factor of the learning rate is not above 0. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 22}, "[heddle.L22] A group changes an option that the optimizer does not have. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 23}, "[heddle.L23] Mixed names a type that values are not kept in. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 24}, "[heddle.L24] prove is given a plan with Mixed. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'L', 28}, "[heddle.L28] A file of the host's compiler needs a kernel that only nvcc can make. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'B', 10}, "[heddle.B10] A Batch says something else than how a smaller batch is taken. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'B', 11}, "[heddle.B11] The counts of a batch are too large. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'B', 12}, "[heddle.B12] Two plans do not end with the same bits. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'B', 14}, "[heddle.B14] A layer normalises more rows together than are summed as one. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'M', 12}, "[heddle.M12] A stage does not name one device. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'M', 13}, "[heddle.M13] A Hybrid combines what is no policy. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'M', 14}, "[heddle.M14] The axes have more ranks than an int counts. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'M', 15}, "[heddle.M15] The answers of policies contradict each other. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'C', 2}, "[heddle.C02] A budget of memory allows nothing. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'C', 3}, "[heddle.C03] A bucket holds nothing. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'C', 4}, "[heddle.C04] Bytes have no unit. Numbers and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'D', 12}, "[heddle.D12] The batch has targets of another type than the loss takes. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'D', 33}, "[heddle.D33] The rows have inputs of another element type than the model takes. Names and fix: in quotes after rule< in this output, or docs/errors.md.");
  static_assert(Holds || Broken != Code{'R', 12}, "[heddle.R12] a step may have no loss, norm or scale. Fix: write *result.loss.");
};
// clang-format on

/// Turns the broken rule in Holder::found into the one compile error: static_assert(sizeof(fired<Holder>)) at class or namespace scope.
/// A holder instead of a reference: nvcc 13 rewrites reference template arguments wrongly.
template <class Holder>
using fired = rule<Holder::found.ok(), Holder::found.code, Spelled<spelled_extent(Holder::found.sentence())>{Holder::found.sentence()},
                   Holder::found.numbers[0], Holder::found.numbers[1], Holder::found.numbers[2], Holder::found.numbers[3]>;

/// Fires a rule from an expression, which stays valid: heard(static_cast<fired<Holder>*>(nullptr)). Looking the name up completes the class.
constexpr bool heard(const void*) { return true; }

}  // namespace heddle::core_room
