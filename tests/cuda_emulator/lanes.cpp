// SPDX-License-Identifier: MIT
// A block goes on as long as one of its threads can; when none can, all must wait at one barrier.
#include "lanes.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
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

bool is_tensor_float(std::uint32_t bits) { return (bits & 0x1FFFU) == 0 || (bits & 0x7F800000U) == 0x7F800000U; }
double number_of(std::uint32_t bits) { return static_cast<double>(std::bit_cast<float>(bits)); }
double product_of(std::uint32_t left, std::uint32_t right, bool pairs) {
  if (!pairs) return number_of(left) * number_of(right);
  return number_of(left << 16U) * number_of(right << 16U) + number_of(left & 0xFFFF0000U) * number_of(right & 0xFFFF0000U);
}

}  // namespace

std::string place(const heddle::compute_room::KernelLine& where) {
  const std::string file = where.file;
  return file.substr(file.rfind('/') + 1) + ":" + std::to_string(where.line);
}

Turns::Turns(std::vector<Lane>& lanes, std::mt19937_64& random) : lanes_(lanes), random_(random), one_warp_ahead_(random() % 2 == 0), first_(0) {
  const std::size_t warps = (lanes.size() + lanes_of_warp - 1) / lanes_of_warp;
  if (one_warp_ahead_) first_ = random() % warps * lanes_of_warp;
  meeting_.resize(warps);
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
  if (lane.phase != Lane::Phase::shuffle && lane.phase != Lane::Phase::product) return;
  const std::size_t warp = static_cast<std::size_t>(lane.thread) / lanes_of_warp;
  if (++meeting_[warp] == static_cast<int>(lanes_of_warp)) meet(warp);
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
void Turns::meet(std::size_t warp) {
  meeting_[warp] = 0;
  Lane* const lanes = lanes_.data() + warp * lanes_of_warp;
  const bool product = lanes[0].phase == Lane::Phase::product;
  const bool all_meet = std::all_of(lanes, lanes + lanes_of_warp, [&](const Lane& lane) {
    if (lane.phase != lanes[0].phase || !same_place(lane.where, lanes[0].where)) return false;
    return product ? lane.part->depth == lanes[0].part->depth : lane.bytes == lanes[0].bytes && lane.bytes <= most_bytes_of_shuffle;
  });
  if (!all_meet) {
    wrong_ = "the lanes of warp " + std::to_string(warp) + " do not meet at one shuffle or product" + who_waits_where();
    return;
  }
  if (product)
    multiply(lanes);
  else
    exchange(lanes);
  for (std::size_t i = 0; i < lanes_of_warp; ++i) {
    lanes[i].phase = Lane::Phase::ready;
    ready_.push_back(warp * lanes_of_warp + i);
  }
}
void Turns::exchange(Lane* lanes) {
  for (std::size_t i = 0; i < lanes_of_warp; ++i) tsan::copy_unseen(values_.data() + i * lanes[i].bytes, lanes[i].mine, lanes[i].bytes);
  for (std::size_t i = 0; i < lanes_of_warp; ++i)
    tsan::copy_unseen(lanes[i].theirs, values_.data() + static_cast<std::size_t>(lanes[i].from_lane) * lanes[i].bytes, lanes[i].bytes);
}
/// Products are exact, and sums of 8 or 16 of them are rounded once: a card, which rounds in between, is not nearer to the sum.
void Turns::multiply(Lane* lanes) {
  ++products_;
  const bool pairs = lanes[0].part->depth == heddle::compute_room::BFloat16Pair::depth;
  for (std::size_t i = 0; i < lanes_of_warp; ++i)
    for (const std::uint32_t bits : {lanes[i].part->left[0], lanes[i].part->left[1], lanes[i].part->left[2], lanes[i].part->left[3],
                                     lanes[i].part->right[0], lanes[i].part->right[1]})
      if (!pairs && !is_tensor_float(bits)) {
        wrong_ = "thread " + std::to_string(lanes[i].thread) + " multiplies a factor that is not rounded to TF32 in " + place(lanes[i].where);
        return;
      }
  for (std::size_t lane = 0; lane < lanes_of_warp; ++lane)
    for (std::size_t own = 0; own < 4; ++own) {
      const std::size_t row = own / 2, first = 4 * (lane / 4), column = 4 * (2 * (lane % 4) + own % 2);
      float& to = lanes[lane].part->sums[own];
      double sum = static_cast<double>(to);
      for (std::size_t word = 0; word < 8; ++word)
        sum += product_of(lanes[first + word % 4].part->left[row + word / 4 * 2], lanes[column + word % 4].part->right[word / 4], pairs);
      to = static_cast<float>(sum);
    }
}
std::string Turns::who_waits_where() const {
  std::vector<std::pair<std::string, int>> groups;
  for (const Lane& lane : lanes_) {
    std::string at = "at the end";
    if (lane.phase == Lane::Phase::barrier) at = "at sync in " + place(lane.where);
    if (lane.phase == Lane::Phase::shuffle) at = "at a shuffle in " + place(lane.where);
    if (lane.phase == Lane::Phase::product) at = "at a product in " + place(lane.where);
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
