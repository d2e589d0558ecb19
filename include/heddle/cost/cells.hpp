// SPDX-License-Identifier: MIT
// Room: cost. Room for a number of values that is known when a walk begins, also in a constant expression.
// Sees: core.  Does not see: plans, machines, processes.
// In: how many, and of what.  Out: Cells<T>.
#pragma once

#include <cstddef>

#include "heddle/core/rooms.hpp"

namespace heddle::cost_room {

/// Cells<double>{4, -1} are four times -1. Numbers of the walk are ints, so its cells are counted so.
template <class T> class Cells {
 public:
  constexpr Cells() = default;
  constexpr explicit Cells(int count, T value = T{}) : first_(new T[static_cast<std::size_t>(count)]), count_(count) {
    for (int i = 0; i < count; ++i) first_[i] = value;
  }
  constexpr Cells(Cells&& other) noexcept : first_(other.first_), count_(other.count_) {
    other.first_ = nullptr;
    other.count_ = 0;
  }
  constexpr Cells& operator=(Cells&& other) noexcept {
    T* const mine = first_;
    first_ = other.first_;
    other.first_ = mine;
    const int count = count_;
    count_ = other.count_;
    other.count_ = count;
    return *this;
  }
  constexpr ~Cells() { delete[] first_; }
  [[nodiscard]] constexpr T& operator[](int at) { return first_[at]; }
  [[nodiscard]] constexpr const T& operator[](int at) const { return first_[at]; }
  [[nodiscard]] constexpr int count() const { return count_; }

 private:
  T* first_ = nullptr;
  int count_ = 0;
};

}  // namespace heddle::cost_room
