// SPDX-License-Identifier: MIT
// A block goes on as long as one of its threads can; when none can, all must wait at one barrier.
#include "lanes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sanitizers.hpp"

namespace cuda_emulator {
namespace {

constexpr auto lanes_of_warp = static_cast<std::size_t>(heddle::compute_room::warp_threads);
constexpr std::size_t most_bytes_of_shuffle = 16;

bool same_place(const heddle::compute_room::KernelLine& a, const heddle::compute_room::KernelLine& b) {
  return a.line == b.line && std::strcmp(a.file, b.file) == 0;
}

}  // namespace

std::string place(const heddle::compute_room::KernelLine& where) {
  const std::string file = where.file;
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(where.line);
}

Turns::Turns(std::vector<Lane>& lanes, std::mt19937_64& random) : lanes_(lanes), random_(random), one_warp_ahead_(random() % 2 == 0), first_(0) {
  const std::size_t warps = (lanes.size() + lanes_of_warp - 1) / lanes_of_warp;
  if (one_warp_ahead_) first_ = random() % warps * lanes_of_warp;
  shuffling_.resize(warps);
  values_.resize(lanes_of_warp * most_bytes_of_shuffle);
  everybody_is_ready();
}
void Turns::everybody_is_ready() {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const std::size_t thread = (i + first_) % lanes_.size();
    lanes_[thread].phase = Lane::Phase::ready;
    ready_.push_back(thread);
  }
}
Lane* Turns::next() {
  if (!wrong_.empty() || done_ == lanes_.size()) return nullptr;
  if (ready_.empty()) open_barrier();
  if (ready_.empty()) return nullptr;
  const std::size_t pick = one_warp_ahead_ ? ready_.size() - 1 : random_() % ready_.size();
  const std::size_t thread = std::exchange(ready_[pick], ready_.back());
  ready_.pop_back();
  return &lanes_[thread];
}
void Turns::paused(Lane& lane) {
  if (lane.phase == Lane::Phase::done) ++done_;
  if (lane.phase != Lane::Phase::shuffle) return;
  const std::size_t warp = static_cast<std::size_t>(lane.thread) / lanes_of_warp;
  if (++shuffling_[warp] == static_cast<int>(lanes_of_warp)) exchange(warp);
}
void Turns::open_barrier() {
  const bool all_meet = std::all_of(lanes_.begin(), lanes_.end(),
                                    [&](const Lane& lane) { return lane.phase == Lane::Phase::barrier && same_place(lane.where, lanes_[0].where); });
  if (!all_meet) {
    wrong_ = "its threads do not meet" + who_waits_where();
    return;
  }
  ++barriers_;
  everybody_is_ready();
}
void Turns::exchange(std::size_t warp) {
  shuffling_[warp] = 0;
  Lane* const lanes = lanes_.data() + warp * lanes_of_warp;
  for (std::size_t i = 0; i < lanes_of_warp; ++i) {
    if (!same_place(lanes[i].where, lanes[0].where) || lanes[i].bytes != lanes[0].bytes || lanes[i].bytes > most_bytes_of_shuffle) {
      wrong_ = "the lanes of warp " + std::to_string(warp) + " do not meet at one shuffle" + who_waits_where();
      return;
    }
    tsan::copy_unseen(values_.data() + i * lanes[i].bytes, lanes[i].mine, lanes[i].bytes);
  }
  for (std::size_t i = 0; i < lanes_of_warp; ++i) {
    tsan::copy_unseen(lanes[i].theirs, values_.data() + static_cast<std::size_t>(lanes[i].from_lane) * lanes[i].bytes, lanes[i].bytes);
    lanes[i].phase = Lane::Phase::ready;
    ready_.push_back(warp * lanes_of_warp + i);
  }
}
std::string Turns::who_waits_where() const {
  std::vector<std::pair<std::string, int>> groups;
  for (const Lane& lane : lanes_) {
    std::string at = "at the end";
    if (lane.phase == Lane::Phase::barrier) at = "at sync in " + place(lane.where);
    if (lane.phase == Lane::Phase::shuffle) at = "at a shuffle in " + place(lane.where);
    const auto found = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == at; });
    if (found == groups.end())
      groups.emplace_back(at, 1);
    else
      ++found->second;
  }
  std::string text;
  for (const auto& [at, count] : groups) text += "; " + std::to_string(count) + (count == 1 ? " is " : " are ") + at;
  return text;
}

}  // namespace cuda_emulator
