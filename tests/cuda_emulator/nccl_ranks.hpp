// SPDX-License-Identifier: MIT
// Room: tests. Ranks of NCCL that are threads of one process: who is in a communicator, and where its ranks meet.
// Sees: state, work.  Does not see: the functions of NCCL's API.
// In: operations of ranks.  Out: Operation, Communicator, Clique, Split, join, join_split, look_for_ranks, connect,
// begin_operations, leave.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "nccl_processes.hpp"
#include "work.hpp"

namespace cuda_emulator {

/// One operation of one rank. Rank 0 sends 400 bytes to peer 1: {Kind::send, p, nullptr, 100, ncclFloat32, ncclSum, 1}.
struct Operation {
  enum class Kind : unsigned char { all_reduce, reduce_scatter, all_gather, broadcast, reduce, send, receive };
  Kind kind{};
  const void* source = nullptr;
  void* target = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t fold = ncclSum;
  int peer = 0;  ///< or the root
  [[nodiscard]] const char* name() const;
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] bool between_two() const { return kind == Kind::send || kind == Kind::receive; }
};

/// One operation of all its ranks: with 2 of 3 there, 1 is missing.
struct Meeting {
  std::vector<Operation> operations;  // by rank
  std::vector<char> arrived;
  std::size_t missing = 0;
  bool done = false;
  bool lost = false;    // a rank that was there has aborted, so nobody gets on
  std::string name{};   // of what ranks put into a folder, where they are processes
  std::size_t own = 0;  // which of them is in this process
  int turn = 0;         // of the communicator
};
using Meetings = std::map<long, std::shared_ptr<Meeting>>;

/// What NCCL makes at the first operation that needs it: the connections of a kind of collective, or those from one rank to another. All whom it
/// joins have to come: from rank 2 to rank 0 is {2, 0}, and done when both have posted theirs.
struct Connection {
  int from = -1, to = -1;  // -1: all ranks of a communicator
  int ends = 0;            // so many posts make it
  [[nodiscard]] std::string name() const { return "connects." + std::to_string(from) + "." + std::to_string(to); }
};

struct Communicator;
/// One split of a communicator, which all its ranks call: colors 0, 0, 1 and -1 of 4 ranks make a communicator of 2 and one of 1.
struct Split {
  /// What one rank asks for; one of a negative color is in no communicator afterwards.
  struct Part {
    int color, key, rank;
    std::shared_ptr<Communicator> made;
  };
  std::vector<Part> parts;
  bool done = false;
};

/// The ranks of one unique id. Rank 2 of 4 that has not come leaves it with 3 joined.
struct Clique {
  int ranks = 0;
  int joined = 0;
  std::set<int> devices;
  ncclResult_t error = ncclSuccess;
  Meetings collectives;
  std::map<std::pair<int, int>, Meetings> pairs;   // by sender and receiver
  std::map<long, std::shared_ptr<Split>> splits;   // those that are not done
  Folder folder;                                   // of ranks that are processes
  std::map<std::string, std::set<int>> connected;  // by connection: who has posted the first operation that needs it
  int turn = 0;                                    // from which rank on its sums are taken, beside what the seed says
};

struct Communicator {
  std::shared_ptr<Clique> clique;
  int rank = 0;
  int device = 0;
  bool blocking = true;
  bool shares = false;                                            ///< what is split of it has its flag
  std::shared_ptr<bool> aborted = std::make_shared<bool>(false);  ///< its operations end, and those of all that have this flag
  ncclResult_t error = ncclSuccess;
  int polls_left = 0;  ///< a communicator that does not block says ncclInProgress so many times
  long next_collective = 0;
  std::map<int, long> next_send, next_receive;  // by peer
  long next_split = 0;
  std::shared_ptr<Split> splitting;
  std::set<std::string> connections;   ///< that its operations have asked for
  std::vector<Connection> connecting;  ///< those of them that others have not come to yet
  ncclComm_t* split_to = nullptr;      ///< where the handle of its part of a split goes when that is complete
  std::shared_ptr<Communicator> part;
  [[nodiscard]] bool complete() const { return clique->joined == clique->ranks && (splitting == nullptr || splitting->done); }
};

/// A rank comes; it is not complete before all have come.
[[nodiscard]] std::shared_ptr<Communicator> join(const ncclUniqueId& id, int ranks, int rank, bool blocking);
/// A rank of a communicator asks for its part of a split; that is complete when all have asked.
[[nodiscard]] std::shared_ptr<Communicator> join_split(Communicator& parent, int color, int key);
/// An operation of a rank is posted: where it is the first that needs a connection the communicator is in progress until the others have come to it.
void connect(Communicator& communicator, const Operation& operation);
/// Whether a connection is still waited for.
[[nodiscard]] bool connects(Communicator& communicator);
/// A rank goes. Where it aborts, operations in which it already was never end.
void leave(Communicator& communicator, bool aborts);
/// Operations that one stream begins together; they end together.
using RankOperation = std::pair<std::shared_ptr<Communicator>, Operation>;
[[nodiscard]] std::shared_ptr<Unfinished> begin_operations(const std::vector<RankOperation>& operations);
/// Whether all ranks of a communicator have come, where they are processes: asked again and again.
void look_for_ranks(Communicator& communicator);
/// What ranks that are gone have left.
void forget_lost_ranks();

}  // namespace cuda_emulator
