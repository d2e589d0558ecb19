// SPDX-License-Identifier: MIT
// Room: plan. What the phases over all lines write and note, in two forms: arrays of a constant, and tables of any length.
// Sees: plan/lower/tables, plan/program.  Does not see: graph, policies, processes, threads.
// In: sizes.  Out: ends of computes, lists of instructions, pools and slots.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

inline constexpr int most_listed = 1 << 26;  ///< instructions of one mode: a list of them has two gigabytes

/// When forwards and backwards have ended, by chunk and micro-batch, as arrays of a constant: compilers read those several times faster than what a
/// pointer shows. 2 chunks with 4 micro-batches have 8 ends each way.
template <int Count> struct EndTables {
  int forward_end[std::size_t{Count}]{};  // std::int32_t is an int
  int backward_end[std::size_t{Count}]{};
  explicit constexpr EndTables(int) {}
};
/// The same for any number of them.
struct AllottedEnds {
  Tables<int> tables{};
  int* forward_end;
  int* backward_end;
  explicit constexpr AllottedEnds(int count) : forward_end(tables.make<int>(count)), backward_end(tables.make<int>(count)) {}
};

/// The lists while they are written, in tables of another owner that have their initial values; 2 roles have 2 ranges of one array.
struct Lists {
  Instruction* instructions;  // of all roles
  int most_instructions;
  IndexRange* lists;  // by role
  IndexRange* ties;   // by role: starts of tied gradients; the pools of bodies are free before
};

/// Owns the lists of all roles that are a constant: one array of lines, in which each role has a range.
template <int Roles, int Most> struct ListTables {
  Instruction instructions[std::size_t{Most > 0 ? Most : 1}]{};
  IndexRange lists[std::size_t{Roles}]{};
  IndexRange ties[std::size_t{Roles}]{};
  Diagnosis fault;
};

/// The same, and what the emitter notes. 2 transfers and 4 micro-batches have 8 receives.
template <int Roles, int Most, int Transfers, int MicroBatches, int Computes, int Makespan> struct ListWork : ListTables<Roles, Most> {
  static constexpr int most_instructions = Most;
  int next_out[std::size_t{Transfers + 1}]{};                 ///< by transfer: the next one that leaves the same chunk the same way, -1 ends the list
  int next_in[std::size_t{Transfers + 1}]{};                  ///< by transfer: the next one to the same chunk the same way
  int received[std::size_t{Transfers * MicroBatches + 1}]{};  ///< where the receive starts in the list
  int ending[std::size_t{Makespan + 1}]{};                    ///< by time: 1 + a compute that ends then
  int ending_too[std::size_t{Computes + 1}]{};                ///< by compute: the next one that ends at the same time
};
/// The same for any number of them.
struct AllottedListWork : Lists {
  Tables<int> tables{};
  int *next_out, *next_in, *received, *ending, *ending_too;
  constexpr AllottedListWork(const Lists& out, int transfers, int micro_batches, int computes, int makespan)
      : Lists(out), next_out(tables.make<int>(transfers)), next_in(tables.make<int>(transfers)),
        received(tables.make<int>(transfers * micro_batches)), ending(tables.make<int>(makespan + 1)), ending_too(tables.make<int>(computes)) {}
};

/// Owns pools and slots that are a constant: 2 chunks have 8 pools, and with 4 micro-batches 32 slot numbers.
template <int Chunks, int MicroBatches> struct SlotTable {
  Pool pools[std::size_t{Chunks * pool_kinds}]{};
  std::int16_t slots[std::size_t{Chunks * pool_kinds * MicroBatches}]{};  ///< by pool and micro-batch
};

/// The same, and what a walk notes, as arrays of a constant: compilers read those several times faster than what a pointer shows.
/// 2 chunks with 4 micro-batches have 32 states.
template <int Chunks, int MicroBatches> struct SlotWork : SlotTable<Chunks, MicroBatches> {
  int state[std::size_t{Chunks * pool_kinds * MicroBatches}]{};      ///< by pool and micro-batch
  bool occupied[std::size_t{Chunks * pool_kinds * MicroBatches}]{};  ///< by pool and slot
};

/// The same in tables of another owner, zeroed.
struct ShownSlotWork {
  Pool* pools;
  std::int16_t* slots;
  int* state;
  bool* occupied;
};

}  // namespace heddle::plan_room
