// SPDX-License-Identifier: MIT
// What a card does with its memory apart from kernels and products.
#include "touch.hpp"

#include <algorithm>
#include <cstring>

namespace cuda_emulator {
namespace {

template <class T> T folded(Fold fold, T a, T b) {
  switch (fold) {
    case Fold::most: return std::max(a, b);
    case Fold::least: return std::min(a, b);
    case Fold::product: return a * b;
    default: return a + b;
  }
}
template <class T, class Load, class Store> void fold_ranks(const RanksFold& of, Load load, Store store) {
  for (std::size_t i = of.begin; i < of.end; ++i) {
    T all = load(of.sources[of.first], i);
    for (std::size_t rank = 1; rank < of.ranks; ++rank) all = folded(of.fold, all, load(of.sources[(of.first + rank) % of.ranks], i));
    store(i, of.fold == Fold::mean ? all / static_cast<T>(of.ranks) : all);
  }
}

}  // namespace

void touch_copy(void* target, const void* source, std::size_t bytes) { std::memmove(target, source, bytes); }
void touch_fill(void* target, int value, std::size_t bytes) { std::memset(target, value, bytes); }
void touch_fold(const RanksFold& of) {
  const auto plain = [&]<class T>(T) {
    fold_ranks<T>(
        of, [](const void* numbers, std::size_t i) { return static_cast<const T*>(numbers)[i]; },
        [&](std::size_t i, T x) { static_cast<T*>(of.target)[i] = x; });
  };
  if (of.type == CUDA_R_64F) return plain(double{});
  if (of.type == CUDA_R_32I) return plain(std::int32_t{});
  if (of.type == CUDA_R_32F) return plain(float{});
  fold_ranks<float>(
      of, [&](const void* numbers, std::size_t i) { return load_number(numbers, of.type, static_cast<std::int64_t>(i)); },
      [&](std::size_t i, float x) { store_number(of.target, of.type, static_cast<std::int64_t>(i), x); });
}

}  // namespace cuda_emulator
