// SPDX-License-Identifier: MIT
// Room: transport. One collective between processes: slices are exchanged, summed along the fixed tree, and exchanged back.
// Sees: seams/pledge, transport/mpi_calls, transport/tree_sum, transport/mismatch, core/ring_volume.  Does not see: deadlines, lost ranks.
// In: the start of one member.  Out: steps that return at once; the bits of every other transport.
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

#include "heddle/core/ring_volume.hpp"
#include "heddle/seams/pledge.hpp"
#include "heddle/transport/mismatch.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/mpi_calls.hpp"
#include "heddle/transport/sent_counters.hpp"
#include "heddle/transport/tree_sum.hpp"

namespace heddle::transport_room {

/// What the collectives of one group share in one process: who its members are, and memory for the slices that are being summed. One of them at
/// a time uses it, in the order of their numbers. A sum of 100 elements by 3 members takes 3 slices of 48 floats, 576 bytes.
struct MpiGroup {
  MPI_Comm comm = MPI_COMM_NULL;
  int number = 0;
  std::vector<int> ranks;  // by position
  int position = 0;
  int first_tag = 0;
  std::int64_t turn = 0;  // the lowest number that has not passed its sum
  std::vector<float> scratch;
  AddElements add = nullptr;  // as in PendingLimits

  [[nodiscard]] int members() const { return static_cast<int>(ranks.size()); }
  /// Scratch for the sum of a whole of so many elements: one slice per member.
  [[nodiscard]] static constexpr std::int64_t slice_room(std::int64_t elements, int members) {
    return (elements / members / elements_per_line + 1) * elements_per_line;
  }
  [[nodiscard]] std::int64_t slice_room(std::int64_t elements) const { return slice_room(elements, members()); }
  [[nodiscard]] static constexpr Bytes scratch_of(std::int64_t elements, int members) {
    return Bytes{float_bytes * slice_room(elements, members) * members};
  }
  void reserve(std::int64_t elements) {
    const auto needed = static_cast<std::size_t>(slice_room(elements) * members());
    if (scratch.size() < needed) scratch.resize(needed);
  }
};

/// One member's part of one collective.
///
/// Every member first tells the others what it has started, and sends them what they need of its buffer. When all agree the slices are received:
/// a gather's into the whole, others' into the scratch of the group, where they are summed; an all-reduce then sends the sums round. Its parts go
/// on whenever the process is in any call of the transport.
/// Moves   (n-1)/n x elements x 4 for a reduce-scatter or an all-gather, twice that for an all-reduce, and 40 bytes to each member   [bytes]
/// Tested  transport/mpi_collective_test, conformance/transport_mpi_test
class MpiCollective {
 public:
  static constexpr int tags = 3;  // what was started, first exchange, second exchange

  /// Of one, that nothing has gone wrong with.
  [[nodiscard]] static constexpr Bytes memory(int most_members) {
    constexpr auto of_a_member = static_cast<std::int64_t>(sizeof(Notice) + sizeof(const float*));
    return Bytes{static_cast<std::int64_t>(sizeof(MpiCollective)) + MpiRequests::bytes_of(4 * most_members) + most_members * of_a_member};
  }
  explicit MpiCollective(int most_members)
      : notices_(2 * most_members), sends_(most_members), receives_(most_members), theirs_(static_cast<std::size_t>(most_members)),
        pointers_(theirs_.size()) {}

  void start(MpiGroup& group, int slot, std::int64_t k, const CallPledge& call, StartedCollective what, const float* source, float* target,
             SentCounters& traffic) {
    group_ = &group;
    slot_ = slot;
    k_ = k;
    notice_ = {what, call};
    source_ = source;
    target_ = target;
    traffic_ = &traffic;
    odd_ = -1;
    stage_ = Stage::agreeing;
    each_other([&](int q, int rank) {
      notices_.receive(q, group.comm, rank, tag(0), &theirs_[at(q)], sizeof(Notice));
      notices_.send(members() + q, group.comm, rank, tag(0), &notice_, sizeof notice_);
    });
    each_other([&](int q, int) {
      const Range range = first_sent(q);
      send(q, tag(1), source_ + range.first, range.length);
    });
  }

  /// Does what can be done now; true if the collective is complete for this member.
  bool advance() {
    if (stage_ == Stage::agreeing && others_agree()) receive_first();
    if (stage_ == Stage::summing && receives_.done()) sum();
    if (stage_ == Stage::turning && sends_.done()) send_sums();
    if (stage_ == Stage::ending && receives_.done() && sends_.done() && notices_.done()) {
      stage_ = Stage::done;
      drain_ = {};
    }
    return done();
  }

  [[nodiscard]] bool done() const { return stage_ == Stage::done; }
  /// Whether all members have come, and it has the turn.
  [[nodiscard]] bool moves() const { return stage_ != Stage::agreeing; }
  [[nodiscard]] bool needs(int rank) const {
    for (const int member : group_->ranks)
      if (member == rank) return rank != group_->ranks[at(group_->position)];
    return false;
  }
  /// Whether it is this one, or one that the group must sum before.
  [[nodiscard]] bool goes_first(const MpiCollective& other) const { return group_ == other.group_ && k_ <= other.k_; }
  /// Visits the ranks that something is still expected from, or that have not taken what was sent to them. Nobody while an earlier one has the turn.
  template <class Visit> void each_missing(Visit visit) {
    for (MpiRequests* const requests : {&notices_, &sends_, &receives_}) requests->done();
    each_other([&](int q, int rank) {
      const bool agrees = notices_.empty(q);
      const bool idle = agrees && notices_.empty(members() + q) && sends_.empty(q) && receives_.empty(q);
      if (stage_ == Stage::agreeing ? group_->turn == k_ && !agrees : !idle) visit(rank);
    });
  }
  [[nodiscard]] OperationName describe() const { return describe_collective(what().kind, group_->number); }
  void check_counts() const {
    if (odd_ < 0) return;
    const Notice& first = notice(0);
    const Notice& odd = notice(odd_);
    if (first.call != odd.call) throw calls_differ(group_->ranks[0], first.call, group_->ranks[at(odd_)], odd.call);
    throw collectives_differ(group_->ranks[0], first.what, group_->ranks[at(odd_)], odd.what, k_);
  }
  void cancel_receives() {
    each_other([&](int q, int) {
      notices_.cancel(q);
      receives_.cancel(q);
    });
  }
  /// True if nothing of it is pending any more, complete or cancelled.
  [[nodiscard]] bool quiet() { return notices_.done() && sends_.done() && receives_.done(); }
  /// True if MPI may still read and write what belongs to it.
  [[nodiscard]] bool abandon() {
    bool pending = false;
    for (MpiRequests* const requests : {&notices_, &sends_, &receives_}) pending = requests->abandon() || pending;
    return pending;
  }

 private:
  enum class Stage : std::uint8_t { agreeing, summing, turning, ending, done };
  /// What members tell each other before they move anything: the collective that each has started, and where a step stands.
  struct Notice {
    StartedCollective what;
    CallPledge call;
    friend bool operator==(const Notice&, const Notice&) = default;
  };
  /// The elements of one member: of a reduce-scatter of 8 elements over 4 members two each, those of the second from element 2.
  struct Range {
    std::int64_t first;
    std::int64_t length;
  };

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  static std::size_t bytes(std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(float); }
  [[nodiscard]] int members() const { return group_->members(); }
  [[nodiscard]] int tag(int part) const { return group_->first_tag + slot_ * tags + part; }
  [[nodiscard]] const Notice& notice(int position) const { return position == group_->position ? notice_ : theirs_[at(position)]; }
  [[nodiscard]] const StartedCollective& started(int position) const { return notice(position).what; }
  [[nodiscard]] const StartedCollective& what() const { return notice_.what; }
  template <class Visit> void each_other(Visit visit) {
    for (int q = 0; q < members(); ++q)
      if (q != group_->position) visit(q, group_->ranks[at(q)]);
  }

  /// The slice of a whole that a position owns.
  [[nodiscard]] Range owned(StartedCollective what, int position) const {
    if (what.kind == Movement::all_reduce)
      return {ring_first_owned(what.elements, members(), position), ring_elements_owned(what.elements, members(), position)};
    const std::int64_t slice = what.elements / members();
    return {position * slice, slice};
  }
  /// What this member sends to position q first: q's slice of its whole, or its own slice.
  [[nodiscard]] Range first_sent(int q) const { return what().kind == Movement::all_gather ? Range{0, owned(what(), q).length} : owned(what(), q); }
  /// Elements that position q sends to this member first, given what q started.
  [[nodiscard]] std::int64_t first_received(int q) const { return owned(started(q), group_->position).length; }

  void send(int q, int message_tag, const float* from, std::int64_t elements) {
    traffic_->count_message(group_->number, what().kind, elements);
    sends_.send(q, group_->comm, group_->ranks[at(q)], message_tag, from, bytes(elements));
  }
  void receive(int q, int message_tag, float* to, std::int64_t elements) {
    receives_.receive(q, group_->comm, group_->ranks[at(q)], message_tag, to, bytes(elements));
  }

  /// Everybody knows what everybody has started, so all members decide alike.
  bool others_agree() {
    if (group_->turn != k_) return false;
    for (int q = 0; q < members(); ++q)
      if (!notices_.done(q)) return false;
    for (int q = members() - 1; q > 0; --q)
      if (notice(q) != notice(0)) odd_ = q;
    return true;
  }
  void receive_first() {
    if (odd_ >= 0) return drain();
    const Range mine = owned(what(), group_->position);
    if (what().kind == Movement::all_gather) {
      each_other([&](int q, int) { receive(q, tag(1), target_ + owned(what(), q).first, owned(what(), q).length); });
      if (target_ + mine.first != source_) std::memcpy(target_ + mine.first, source_, bytes(mine.length));
      return finish_turn(Stage::ending);
    }
    group_->reserve(what().elements);
    const std::int64_t room = group_->slice_room(what().elements);
    each_other([&](int q, int) { receive(q, tag(1), group_->scratch.data() + q * room, mine.length); });
    stage_ = Stage::summing;
  }
  /// Takes what is on its way where nobody looks at it: the sentence says that nothing was moved.
  void drain() {
    std::int64_t elements = 0;
    each_other([&](int q, int) { elements += first_received(q); });
    drain_.resize(static_cast<std::size_t>(elements));
    float* to = drain_.data();
    each_other([&](int q, int) {
      receive(q, tag(1), to, first_received(q));
      to += first_received(q);
    });
    finish_turn(Stage::ending);
  }
  void sum() {
    const Range mine = owned(what(), group_->position);
    const std::int64_t room = group_->slice_room(what().elements);
    for (int q = 0; q < members(); ++q) pointers_[at(q)] = q == group_->position ? source_ + mine.first : group_->scratch.data() + q * room;
    const bool scatters = what().kind == Movement::reduce_scatter;
    tree_sum_to_one(pointers_.data(), members(), 0, mine.length, scatters ? target_ : target_ + mine.first, group_->add);
    finish_turn(scatters ? Stage::ending : Stage::turning);
  }
  /// The slices that were sent first have left: their places may be overwritten.
  void send_sums() {
    const Range mine = owned(what(), group_->position);
    each_other([&](int q, int) {
      receive(q, tag(2), target_ + owned(what(), q).first, owned(what(), q).length);
      send(q, tag(2), target_ + mine.first, mine.length);
    });
    stage_ = Stage::ending;
  }
  void finish_turn(Stage next) {
    group_->turn = k_ + 1;
    stage_ = next;
  }

  MpiGroup* group_ = nullptr;
  int slot_ = 0;
  std::int64_t k_ = 0;
  Notice notice_;
  const float* source_ = nullptr;
  float* target_ = nullptr;
  SentCounters* traffic_ = nullptr;
  int odd_ = -1;
  Stage stage_ = Stage::done;
  MpiRequests notices_;   // by position: theirs, then mine
  MpiRequests sends_;     // by position
  MpiRequests receives_;  // by position
  std::vector<Notice> theirs_;
  std::vector<const float*> pointers_;
  std::vector<float> drain_;
};

}  // namespace heddle::transport_room
