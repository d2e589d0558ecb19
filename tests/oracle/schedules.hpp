// SPDX-License-Identifier: MIT
// Room: tests. Lists for the rendezvous oracle: pipelines as people write them, random programs, and what a slip of the hand makes of either.
// Sees: tests/oracle/rendezvous.  Does not see: the lowering.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "oracle/rendezvous.hpp"

namespace heddle::tests {

/// How a role of a pipeline communicates around a compute.
enum class Form {
  blocking,    ///< a send and its wait, a receive and its wait, one after another
  grouped,     ///< a send and the receive that goes with it are started together
  late_waits,  ///< a send is waited for after the next one was started
  early        ///< receives are started a compute ahead of their use
};

/// What a role of the pipeline does next: F or B of a micro-batch.
struct Compute {
  bool backward;
  int micro_batch;
};

inline std::vector<Compute> one_f_one_b(int stages, int role, int micro_batches) {
  std::vector<Compute> order;
  const int warm_up = std::min(micro_batches, stages - 1 - role);
  for (int i = 0; i < warm_up; ++i) order.push_back({false, i});
  for (int i = warm_up; i < micro_batches; ++i) {
    order.push_back({false, i});
    order.push_back({true, i - warm_up});
  }
  for (int i = micro_batches - warm_up; i < micro_batches; ++i) order.push_back({true, i});
  return order;
}
inline std::vector<Compute> gpipe(int, int, int micro_batches) {
  std::vector<Compute> order;
  for (int i = 0; i < micro_batches; ++i) order.push_back({false, i});
  for (int i = 0; i < micro_batches; ++i) order.push_back({true, i});
  return order;
}

/// A pipeline's lists: each compute receives its input and sends its output, in the given form. Values have 8 elements, gradients 9.
class PipelineWriter {
 public:
  PipelineWriter(int stages, int micro_batches, Form form, bool gpipe_order) : writing_(stages), stages_(stages), form_(form) {
    for (int r = 0; r < stages; ++r) {
      const auto order = gpipe_order ? gpipe(stages, r, micro_batches) : one_f_one_b(stages, r, micro_batches);
      write(r, order);
    }
  }
  [[nodiscard]] const RoleLists& lists() const { return writing_.lists; }

 private:
  void write(int r, const std::vector<Compute>& order) {
    std::vector<int> received(order.size(), -1), pending;
    const auto post = [&](std::size_t i) {
      const int from = peer(order[i].backward ? r + 1 : r - 1);
      if (from >= 0 && received[i] < 0) received[i] = writing_.receive_start(r, from, size(order[i].backward));
    };
    for (std::size_t i = 0; i < order.size(); ++i) {
      post(i);
      if (form_ == Form::early && i + 1 < order.size()) post(i + 1);
      if (received[i] >= 0) writing_.wait(r, received[i]);
      const int to = peer(order[i].backward ? r - 1 : r + 1);
      if (to < 0) continue;
      const int sent = writing_.send_start(r, to, size(order[i].backward));
      if (form_ == Form::late_waits) {
        pending.push_back(sent);
        if (pending.size() > 1) {
          writing_.wait(r, pending.front());
          pending.erase(pending.begin());
        }
        continue;
      }
      // The peer that a value goes to is the one that the next compute's gradient comes from.
      if ((form_ == Form::grouped || form_ == Form::early) && i + 1 < order.size() && order[i + 1].backward != order[i].backward) post(i + 1);
      writing_.wait(r, sent);
    }
    for (const int sent : pending) writing_.wait(r, sent);
  }
  [[nodiscard]] int peer(int other) const { return other < 0 || other >= stages_ ? -1 : other; }
  static std::int64_t size(bool backward) { return backward ? 9 : 8; }

  Writing writing_;
  int stages_;
  Form form_;
};

/// Sound lists in one global order, then disturbed: starts and waits drift, the starts of a role may change places.
inline RoleLists random_lists(Random& random) {
  struct Post {
    bool send;
    int peer;
    std::int64_t elements;
    int wait_after;  // posts of this role between its start and its wait
  };
  const int roles = 2 + below(random, 3);
  const int transfers = 1 + below(random, 8);
  const int kind = below(random, 16);
  const int drift = kind > 10 ? 1 : 3;  // 1: each call blocks
  std::vector<std::vector<Post>> posts(at(roles));
  for (int t = 0; t < transfers; ++t) {
    const int a = below(random, at(roles));
    const int b = (a + 1 + below(random, at(roles - 1))) % roles;
    posts[at(a)].push_back({true, b, 8, below(random, at(drift))});
    posts[at(b)].push_back({false, a, 8, below(random, at(drift))});
  }
  Writing writing{roles};
  for (int r = 0; r < roles; ++r) {
    auto& mine = posts[at(r)];
    if (kind > 6 && mine.size() > 1) std::swap(mine[at(below(random, mine.size()))], mine[at(below(random, mine.size()))]);
    std::vector<std::pair<int, int>> waits;  // due after that many posts, start
    const int last = static_cast<int>(mine.size());
    for (int i = 0; i <= last; ++i) {
      for (auto& [due, started] : waits)
        if (started >= 0 && (due <= i || i == last)) writing.wait(r, std::exchange(started, -1));
      if (i == last) break;
      const Post& post = mine[at(i)];
      waits.emplace_back(i + 1 + post.wait_after,
                         writing.start(r, post.send ? EventKind::send_start : EventKind::receive_start, post.peer, post.elements));
    }
  }
  return writing.lists;
}

/// Puts the events of a role in another order; waits keep their starts. Events that are not in `order` are gone.
inline void reorder(std::vector<Event>& list, const std::vector<int>& order) {
  std::vector<int> place(list.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) place[at(order[i])] = static_cast<int>(i);
  std::vector<Event> changed;
  for (const int i : order) {
    Event e = list[at(i)];
    if (is_wait(e)) e.start = place[at(e.start)];
    changed.push_back(e);
  }
  list = changed;
}

enum class Slip { swapped, dropped, moved, retargeted, resized, wait_dropped };
inline constexpr Slip all_slips[] = {Slip::swapped, Slip::dropped, Slip::moved, Slip::retargeted, Slip::resized, Slip::wait_dropped};

/// One slip of the hand in one role. Lists without events stay as they are.
inline void corrupt(RoleLists& lists, Slip slip, Random& random) {
  const int role = below(random, lists.size());
  const int roles = static_cast<int>(lists.size());
  auto& list = lists[at(role)];
  if (list.empty()) return;
  const int n = static_cast<int>(list.size());
  const int i = below(random, list.size());
  const int j = below(random, list.size());
  const int start = is_wait(list[at(i)]) ? list[at(i)].start : i;
  std::vector<int> order;
  for (int k = 0; k < n; ++k) {
    const bool of_the_start = k == start || (is_wait(list[at(k)]) && list[at(k)].start == start);
    if (slip == Slip::dropped && of_the_start) continue;
    if (slip == Slip::wait_dropped && k != start && of_the_start) continue;
    order.push_back(k);
    if (of_the_start && slip == Slip::retargeted) {
      int& peer = list[at(k)].peer;
      peer = (peer + 1) % roles == role ? (peer + 2) % roles : (peer + 1) % roles;
    }
    if (of_the_start && slip == Slip::resized) ++list[at(k)].elements;
  }
  if (slip == Slip::swapped) std::swap(order[at(i)], order[at(j)]);
  if (slip == Slip::moved) {
    order.erase(order.begin() + i);
    order.insert(order.begin() + std::min(j, n - 1), i);
  }
  reorder(list, order);
}

}  // namespace heddle::tests
