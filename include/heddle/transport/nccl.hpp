// SPDX-License-Identifier: MIT
// Room: transport. Ranks with a card each: what moves is queued behind what the rank computes, in one queue of NCCL's operations a card.
// Sees: nccl.h, transport, seams, core.  Does not see: plans, kernels, how a card makes its queues.
// In: peers, a rank, the queues of its card, an id that all ranks have.  Out: a TransportEndpoint; lane model: one for each device.
#pragma once

#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/ring_volume.hpp"
#include "heddle/core/row_of.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/endpoint.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/nccl_communicators.hpp"
#include "heddle/transport/nccl_peers.hpp"
#include "heddle/transport/window.hpp"

namespace heddle::transport_room {

/// How a rank that is a thread beside the others waits for NCCL. Errors  R01; R36 a peer that does not answer, though all live as long as this one
[[nodiscard]] inline WaitForNccl until_of_thread(NcclPeers& peers, int rank) {
  return [&peers, rank](const NcclWait& wait) {
    peers.until(rank, [&] {
      const ncclResult_t state = wait.look();
      if (state == ncclRemoteError) refuse_nccl(state, wait.call);
      return state == ncclSuccess;
    });
  };
}

/// What one rank holds of a transport over NCCL. Its operations are queued one behind the other (NCCL promises nothing of two that a card runs at
/// once), in the order of the starts: the lane model under which every Program is checked to end. A wait only says that what is computed from now on
/// comes behind what was started, so no call of this waits for another rank, but for NCCL's own making of a connection at the first use of it. Along
/// the tree an all-reduce of 4 ranks is an exchange of quarters, a sum as every transport takes it and a gather: the bits of threads, and the bytes
/// of a ring.
///
/// `Lanes` has the queues of the card:
///   queue()                         the cudaStream_t of NCCL's operations
///   fork()                          what that queue is given from now on comes behind what was computed before
///   mark(), join(mark)              a place in that queue; what is computed from now on comes behind it. A mark is joined once
///   parts(), parts_size()           room of the card for what is to be summed, in floats
///   copy(to, from, n), sum(to, from, members, n)   in that queue; the sum runs along the tree of tree_sum
///
/// Moves   as every transport: what the ledger says                                                              [bytes]
/// Errors  R01 RankLost once a rank was given up; R36 what NCCL refuses; T02 to T05 misuse. NCCL does not see counts that differ: checks of a Program
///         do, and the hashes that ranks compare
/// Tested  transport/nccl_test, backend/cuda_threads_test
template <class Lanes> class NcclEndpoint {
 public:
  /// `until` waits for NCCL; see NcclCommunicators.
  HEDDLE_COLD NcclEndpoint(NcclPeers& peers, int rank, Lanes lanes, const ncclUniqueId& id, WaitForNccl until)
      : peers_(peers), rank_(rank), lanes_(std::move(lanes)), communicators_(id, peers.groups(), rank, std::move(until)),
        sends_(channels(peers.groups().ranks(), peers.limits().transfers)), receives_(channels(peers.groups().ranks(), peers.limits().transfers)),
        collectives_(channels(peers.groups().count(), peers.limits().reductions)) {}

  [[nodiscard]] Rank rank() const { return Rank{rank_}; }
  [[nodiscard]] Lanes& mover() { return lanes_; }
  [[nodiscard]] NcclCommunicators& communicators() { return communicators_; }
  [[nodiscard]] const NcclCommunicators& communicators() const { return communicators_; }

  std::int64_t send_start(int peer, const float* source, std::int64_t elements) {
    groups().check_transfer(rank_, peer, elements);
    return start(
        sends_, peer, [&] { return described(peer, true); },
        [&] {
          traffic().count_send(elements);
          post(all(), "ncclSend", elements, [&](auto n) { return ncclSend(source, n, ncclFloat32, peer, all(), lanes_.queue()); });
        });
  }
  void send_wait(int peer, std::int64_t k) {
    groups().check_transfer(rank_, peer, 0);
    wait(sends_, peer, k, [&] { return described(peer, true); });
  }
  std::int64_t receive_start(int peer, float* target, std::int64_t elements) {
    groups().check_transfer(rank_, peer, elements);
    return start(
        receives_, peer, [&] { return described(peer, false); },
        [&] { post(all(), "ncclRecv", elements, [&](auto n) { return ncclRecv(target, n, ncclFloat32, peer, all(), lanes_.queue()); }); });
  }
  void receive_wait(int peer, std::int64_t k) {
    groups().check_transfer(rank_, peer, 0);
    wait(receives_, peer, k, [&] { return described(peer, false); });
  }

  std::int64_t all_reduce_start(int group, float* data, std::int64_t elements, SumOrder order = SumOrder::tree) {
    groups().check_collective(rank_, group, elements);
    if (order == SumOrder::tree) check_room(group, ring_elements_owned(elements, groups().members(group), groups().position(group, rank_)));
    return collect(Movement::all_reduce, group, elements, [&](const Share& share) {
      if (share.members == 1) return;
      if (order == SumOrder::any) {
        post(share.with, "ncclAllReduce", elements,
             [&](auto n) { return ncclAllReduce(data, data, n, ncclFloat32, ncclSum, share.with, lanes_.queue()); });
      } else {
        const auto first = [&](int position) { return ring_first_owned(elements, share.members, position); };
        reduce(share, data, data + first(share.position), first);
        gather(share, data, first);
      }
    });
  }
  void all_reduce_wait(int group, std::int64_t k) { wait(Movement::all_reduce, group, k); }

  std::int64_t reduce_scatter_start(int group, const float* whole, float* slice, std::int64_t elements, SumOrder order = SumOrder::tree) {
    groups().check_slices(rank_, group, elements);
    if (order == SumOrder::tree) check_room(group, elements / groups().members(group));
    return collect(Movement::reduce_scatter, group, elements, [&](const Share& share) {
      const std::int64_t part = elements / share.members;
      if (share.members == 1) return lanes_.copy(slice, whole, elements);
      if (order == SumOrder::any)
        post(share.with, "ncclReduceScatter", part,
             [&](auto n) { return ncclReduceScatter(whole, slice, n, ncclFloat32, ncclSum, share.with, lanes_.queue()); });
      else
        reduce(share, whole, slice, [&](int position) { return part * position; });
    });
  }
  void reduce_scatter_wait(int group, std::int64_t k) { wait(Movement::reduce_scatter, group, k); }

  std::int64_t all_gather_start(int group, const float* slice, float* whole, std::int64_t elements) {
    groups().check_slices(rank_, group, elements);
    return collect(Movement::all_gather, group, elements, [&](const Share& share) {
      if (share.members == 1) return lanes_.copy(whole, slice, elements);
      post(share.with, "ncclAllGather", elements / share.members,
           [&](auto n) { return ncclAllGather(slice, whole, n, ncclFloat32, share.with, lanes_.queue()); });
    });
  }
  void all_gather_wait(int group, std::int64_t k) { wait(Movement::all_gather, group, k); }

  /// A wait only queues.
  [[nodiscard]] bool passable(const Ticket& ticket) const {
    if (ticket.collective())
      groups().check_collective(rank_, ticket.with, 0);
    else
      groups().check_transfer(rank_, ticket.with, 0);
    return true;
  }
  /// What was queued ends, whatever it has computed.
  void abort() noexcept { communicators_.abort(); }

 private:
  /// Starts of one kind with one peer or group, and the marks behind them: with a limit of 4 the start 5 has the second.
  struct Channel {
    Window window;
    std::vector<int> marks;
  };
  /// This rank in a group: the third of four has {4, 2, ...}.
  struct Share {
    int members, position;
    ncclComm_t with;
  };

  [[nodiscard]] static RowOf<Channel> channels(int count, int limit) {
    return {static_cast<std::size_t>(count), [limit](std::size_t) {
              return Channel{Window{limit}, std::vector<int>(static_cast<std::size_t>(limit))};
            }};
  }
  [[nodiscard]] const GroupsOfRanks& groups() const { return peers_.groups(); }
  [[nodiscard]] SentCounters& traffic() { return peers_.traffic(rank_); }
  [[nodiscard]] ncclComm_t all() const { return communicators_.all(); }
  [[nodiscard]] OperationName described(int peer, bool sends) const {
    OperationName name{sends ? "send to rank " : "receive from rank "};
    name << std::to_string(peer);
    return name;
  }

  void check_room(int group, std::int64_t own) const {
    const int members = groups().members(group);
    if ((members - 1) * own > lanes_.parts_size())
      throw Error{Code{'T', 5}, written({"rank ", rank_, " is to sum ", own, " elements of ", members, " members, and its transport has room for ",
                                         lanes_.parts_size(), " of others. Fix: give the transport the largest sum of each group when it is made."})};
  }
  template <class Describe, class Post> std::int64_t start(RowOf<Channel>& channels, int index, Describe describe, Post post) {
    Channel& channel = channels[static_cast<std::size_t>(index)];
    if (peers_.lost().any()) throw peers_.lost().error(std::string{describe()}, channel.window.next());
    const std::int64_t k = channel.window.open(describe);
    lanes_.fork();
    post();
    channel.marks[static_cast<std::size_t>(k) % channel.marks.size()] = lanes_.mark();
    return k;
  }
  template <class Describe> void wait(RowOf<Channel>& channels, int index, std::int64_t k, Describe describe) {
    Channel& channel = channels[static_cast<std::size_t>(index)];
    channel.window.close(k, describe);
    lanes_.join(channel.marks[static_cast<std::size_t>(k) % channel.marks.size()]);
  }
  template <class Move> std::int64_t collect(Movement kind, int group, std::int64_t elements, Move move) {
    const Share share{groups().members(group), groups().position(group, rank_), communicators_.of_group(group)};
    return start(
        collectives_, group, [&] { return describe_collective(kind, group); },
        [&] {
          traffic().count_collective(group, kind, elements, share.members, share.position);
          move(share);
        });
  }
  void wait(Movement kind, int group, std::int64_t k) {
    groups().check_collective(rank_, group, 0);
    wait(collectives_, group, k, [&] { return describe_collective(kind, group); });
  }
  /// Of nothing no operation is made, on any rank.
  template <class Call> void post(ncclComm_t with, const char* name, std::int64_t elements, Call call) {
    if (elements > 0) communicators_.settle(with, call(static_cast<std::size_t>(elements)), name);
  }
  /// call(peer) with every other member, as one operation. Each says what NCCL has said; the group ends before that is looked at.
  template <class Call> void with_others(const Share& share, Call call) {
    check_nccl(ncclGroupStart(), "ncclGroupStart");
    ncclResult_t said = ncclSuccess;
    for (int q = 0; q < share.members; ++q)
      if (q != share.position) said = worse(said, call(q));
    const ncclResult_t ended = ncclGroupEnd();
    communicators_.settle(share.with, said, "ncclSend or ncclRecv");
    communicators_.settle(share.with, ended, "ncclGroupEnd");
  }
  /// Within a group a call that is in progress is well.
  [[nodiscard]] static ncclResult_t worse(ncclResult_t a, ncclResult_t b) { return a != ncclSuccess || b == ncclInProgress ? a : b; }
  [[nodiscard]] ncclResult_t exchange(const Share& share, int peer, const float* from, std::int64_t sent, float* to, std::int64_t received) {
    ncclResult_t said = ncclSuccess;
    if (sent > 0) said = worse(said, ncclSend(from, static_cast<std::size_t>(sent), ncclFloat32, peer, share.with, lanes_.queue()));
    if (received > 0) said = worse(said, ncclRecv(to, static_cast<std::size_t>(received), ncclFloat32, peer, share.with, lanes_.queue()));
    return said;
  }
  /// The part of this rank, from first(position) on, is summed over all members.
  template <class First> void reduce(const Share& share, const float* whole, float* sum, First first) {
    const std::int64_t own = first(share.position + 1) - first(share.position);
    from_.assign(static_cast<std::size_t>(share.members), whole + first(share.position));
    float* room = lanes_.parts();
    with_others(share, [&](int q) {
      float* const part = room;
      from_[static_cast<std::size_t>(q)] = part;
      room += own;
      return exchange(share, q, whole + first(q), first(q + 1) - first(q), part, own);
    });
    lanes_.sum(sum, from_.data(), share.members, own);
  }
  /// Each member sends its part to all others.
  template <class First> void gather(const Share& share, float* whole, First first) {
    const std::int64_t own = first(share.position + 1) - first(share.position);
    with_others(share, [&](int q) { return exchange(share, q, whole + first(share.position), own, whole + first(q), first(q + 1) - first(q)); });
  }

  NcclPeers& peers_;
  int rank_;
  Lanes lanes_;
  NcclCommunicators communicators_;
  RowOf<Channel> sends_;        // (peers)
  RowOf<Channel> receives_;     // (peers)
  RowOf<Channel> collectives_;  // (groups)
  std::vector<const float*> from_;
};

}  // namespace heddle::transport_room
