// SPDX-License-Identifier: MIT
// Room: compute. Sums of squares on a card, as of the gradients of a unit: of equal parts, each in an order that the part alone decides, then a tree.
// Sees: compute/cuda/block, compute/cuda/launch, core.  Does not see: layers, units, policies, programs.
// In: elements in equal parts, which lines of them count.  Out: LineRange, SquareShares, SumSquares, TreeOfParts, square_sum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/compute/cuda/block.hpp"
#include "heddle/compute/cuda/launch.hpp"
#include "heddle/core/host_device.hpp"

namespace heddle::compute_room {

/// Lines of 16 floats: elements 32 to 63 are the lines {2, 4}.
struct LineRange {
  static constexpr std::int64_t elements = 16;
  std::int32_t begin = 0;
  std::int32_t end = 0;
};
/// Lines that do not count, in their order, as far as one launch needs them: 1 KiB of arguments. Of a block whose LayerNorm
/// another rank counts they are the one range of its weight and bias.
struct LinesLeftOut {
  static constexpr int most = 128;
  std::int32_t count = 0;
  LineRange lines[most];

  void append(LineRange range) { lines[count++] = range; }
  /// The first range that does not end before line `begin`.
  [[nodiscard]] HEDDLE_DEVICE int from(std::int64_t begin) const {
    int at = 0;
    while (at < count && lines[at].end <= begin) ++at;
    return at;
  }
  /// Whether a line is left out, by ranges from number `at` on.
  [[nodiscard]] HEDDLE_DEVICE bool has(int at, std::int64_t line) const {
    bool found = false;
    for (; at < count && lines[at].begin <= line; ++at) found = found || line < lines[at].end;
    return found;
  }
};

/// How elements in equal parts are cut for the sum of their squares: a warp has a share of a part, at least 2,048 elements of a longer one. All of it
/// depends on the length of a part alone. 7,088,128 gradients in 64 parts have 55 shares in each, which are 3,520 warps in 880 blocks.
struct SquareShares {
  static constexpr int most_parts = 64, most = 256, threads = 128;  // shares of a part; threads of a block
  static constexpr std::int64_t tile = 1024;                        // 8 loads of 16 bytes by each lane of a warp, all on their way at once
  std::int64_t part;                                                // [elements]
  std::int64_t each;                                                // [elements] of a share
  int parts;
  int shares;  // of a part
  SquareShares(std::int64_t elements, int in_parts) : part(elements / in_parts), parts(in_parts) {
    each = std::max(2 * tile, ((part + most - 1) / most + tile - 1) / tile * tile);
    shares = static_cast<int>((part + each - 1) / each);
  }
  [[nodiscard]] int all() const { return parts * shares; }
  [[nodiscard]] int share_of(std::int64_t line) const {
    const std::int64_t element = line * LineRange::elements, of_part = element / part;
    return static_cast<int>(of_part * shares + (element - of_part * part) / each);
  }
  [[nodiscard]] HEDDLE_HOST_DEVICE std::int64_t begin(int share) const { return share / shares * part + share % shares * each; }
  [[nodiscard]] HEDDLE_HOST_DEVICE std::int64_t end(int share) const {
    const std::int64_t of_part = (share / shares + 1) * part, of_share = begin(share) + each;
    return of_share < of_part ? of_share : of_part;
  }
  [[nodiscard]] std::int32_t begin_line(int share) const { return static_cast<std::int32_t>(begin(share) / LineRange::elements); }
  [[nodiscard]] std::int32_t end_line(int share) const { return static_cast<std::int32_t>(end(share) / LineRange::elements); }
};

/// sums[share] = or += the squares of a share, of shares from `first` to before `end`, one a warp. A lane has every 32nd four of elements. The lines
/// that are left out are arguments that no thread copies: they would be 1 KiB of each.
struct SumSquares {
  static constexpr const char* name = "SumSquares";
  static constexpr bool cooperative = true;
  static constexpr int most_threads = SquareShares::threads, blocks_at_once = 8;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, const SquareShares& cut, int first, int end, const float* values, const LinesLeftOut& out, float* sums,
                                bool add) const {
    const int share = first + (b.index() * b.threads() + b.thread()) / warp_threads, lane = b.thread() % warp_threads;
    if (share >= end) return;
    const std::int64_t begin = cut.begin(share), stop = cut.end(share);
    const int at = out.from(begin / LineRange::elements);
    const bool whole = at == out.count || out.lines[at].begin * LineRange::elements >= stop;
    const std::int64_t own = begin + lane * Pack<float>::count;
    float sum = whole ? of_lane(own, stop, values, [](std::int64_t) { return false; })
                      : of_lane(own, stop, values, [&](std::int64_t i) { return out.has(at, i / LineRange::elements); });
    sum = warp_fold<Sum>(b, sum);
    if (lane == 0) sums[share] = (add ? sums[share] : 0.0F) + sum;
  }

 private:
  static constexpr int ahead = SquareShares::tile / (warp_threads * Pack<float>::count);
  static constexpr std::int64_t step = warp_threads * Pack<float>::count;
  template <class LeftOut> HEDDLE_DEVICE static float of_lane(std::int64_t own, std::int64_t stop, const float* values, const LeftOut& left_out) {
    Pack<float> sum{};
    const auto add_tile = [&](const auto& counts_of) {
      bool counts[ahead];
      Pack<float> x[ahead];
      for (int k = 0; k < ahead; ++k) counts[k] = counts_of(own + k * step);
      for (int k = 0; k < ahead; ++k) x[k] = counts[k] ? load_pack(values + own + k * step) : Pack<float>{};
      for (int k = 0; k < ahead; ++k)
        for (int e = 0; e < Pack<float>::count; ++e) sum.values[e] += x[k].values[e] * x[k].values[e];
    };
    for (; own + (ahead - 1) * step < stop; own += ahead * step) add_tile([&](std::int64_t i) { return !left_out(i); });
    if (own < stop) add_tile([&](std::int64_t i) { return i < stop && !left_out(i); });
    return (sum.values[0] + sum.values[1]) + (sum.values[2] + sum.values[3]);
  }
};

/// *to = or += the sum of `parts` numbers, a power of two, neighbours first; each is the sum of `shares` that lie behind one another. One block.
struct TreeOfParts {
  static constexpr const char* name = "TreeOfParts";
  static constexpr bool cooperative = true;
  static constexpr int most_threads = 1024, blocks_at_once = 1;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, int parts, int shares, const float* sums, float* to, bool add) const {
    float* const of_parts = b.template shared<float>(SquareShares::most_parts);
    const int lane = b.thread() % warp_threads, warp = b.thread() / warp_threads;
    for (int p = warp; p < parts; p += b.threads() / warp_threads) {
      constexpr int ahead = SquareShares::most / warp_threads;
      float of_shares[ahead], sum = 0;
      for (int k = 0; k < ahead; ++k) {
        const int s = k * warp_threads + lane;
        of_shares[k] = s < shares ? sums[p * shares + s] : 0.0F;
      }
      for (const float one : of_shares) sum += one;
      sum = warp_fold<Sum>(b, sum);
      if (lane == 0) of_parts[p] = sum;
    }
    b.sync();
    if (warp > 0) return;
    const int pairs = parts / 2;
    float sum = parts == 1 ? of_parts[0] : lane < pairs ? of_parts[2 * lane] + of_parts[2 * lane + 1] : 0.0F;
    for (int d = 1; d < pairs; d *= 2) sum += b.shuffle_xor(sum, d);
    if (lane == 0) *to = (add ? *to : 0.0F) + sum;
  }
};

/// The lines between those that count, which are brought into their order.
[[nodiscard]] inline std::vector<LineRange> lines_between(std::vector<LineRange> counted, std::int64_t elements) {
  std::sort(counted.begin(), counted.end(), [](LineRange x, LineRange y) { return x.begin < y.begin; });
  std::vector<LineRange> between;
  std::int32_t at = 0;
  for (const LineRange& range : counted) {
    if (range.begin > at) between.push_back(LineRange{at, range.begin});
    at = range.end;
  }
  if (const auto all = static_cast<std::int32_t>(elements / LineRange::elements); at < all) between.push_back(LineRange{at, all});
  return between;
}
/// Queues sums[share] of all shares, without the lines between. One launch leaves out 127 ranges; a share that has more alone is summed by several
/// launches, which its own lines decide.
inline void sum_shares_of_squares(cudaStream_t stream, const SquareShares& cut, const float* values, const std::vector<LineRange>& between,
                                  float* sums) {
  std::size_t next = 0;
  std::int32_t from = 0;  // lines before it are summed
  for (int first = 0; first < cut.all();) {
    LinesLeftOut out;
    const bool goes_on = from > cut.begin_line(first);
    if (goes_on) out.append(LineRange{cut.begin_line(first), from});
    while (next < between.size() && between[next].end <= from) ++next;
    std::size_t taken = next;
    for (; taken < between.size() && out.count < LinesLeftOut::most - 1; ++taken) out.append(between[taken]);
    int end = taken < between.size() ? cut.share_of(between[taken].begin) : cut.all();
    if (goes_on) end = std::min(end, first + 1);
    const bool stops_within = end == first;
    from = stops_within ? between[taken].begin : end < cut.all() ? cut.begin_line(end) : from;
    if (stops_within) out.append(LineRange{from, cut.end_line(first)});
    const int last = stops_within ? first + 1 : end;
    launch<SumSquares>(stream, extents_of(std::int64_t{last - first} * warp_threads, 1, SquareShares::threads), cut, first, last, values, out, sums,
                       goes_on);
    first = end;
  }
}
/// Floats of scratch: 64 KiB.
inline constexpr std::int64_t square_sum_scratch = std::int64_t{SquareShares::most_parts} * SquareShares::most;
/// *to = or += the squares of elements in equal parts, at most 64 and a power of two, in whole lines, of which those in `counted` count: two
/// launches, as long as at most 127 ranges lie between these. `scratch` has square_sum_scratch floats.
///
/// Law     a part has the bits that it has among other parts
/// Errors  R36
/// Tested  compute/cuda/square_sums_test
inline void square_sum(cudaStream_t stream, std::int64_t elements, int parts, const float* values, const std::vector<LineRange>& counted,
                       float* scratch, float* to, bool add) {
  const SquareShares cut(elements, parts);
  sum_shares_of_squares(stream, cut, values, lines_between(counted, elements), scratch);
  const int warps = std::min(parts, TreeOfParts::most_threads / warp_threads);
  launch<TreeOfParts>(stream, {1, warps * warp_threads, SquareShares::most_parts * sizeof(float)}, parts, cut.shares,
                      static_cast<const float*>(scratch), to, add);
}

}  // namespace heddle::compute_room
