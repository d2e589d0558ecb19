// SPDX-License-Identifier: MIT
// Room: core. A number of objects that are made at once and stay where they are.
// Sees: the standard library.  Does not see: every other room.
// In: how many, and what makes each.  Out: RowOf<T>.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>

#include "heddle/core/rooms.hpp"

namespace heddle::core_room {

/// What is never copied, moved or grown after it was made needs a tenth of the functions that a std::vector has: RowOf<Window> windows(4, [&](auto) {
/// return Window{8}; }). An object whose constructor throws leaves none behind.
///
/// Tested  core/row_of_test
template <class T> class RowOf {
 public:
  RowOf() = default;
  explicit RowOf(std::size_t count) : RowOf(Room{count}) {
    for (; size_ < room_; ++size_) ::new (static_cast<void*>(first_ + size_)) T();
  }
  /// Object i is what make(i) gives.
  template <class Make> RowOf(std::size_t count, Make make) : RowOf(Room{count}) {
    for (; size_ < room_; ++size_) ::new (static_cast<void*>(first_ + size_)) T(make(size_));
  }
  RowOf(const RowOf&) = delete;
  RowOf& operator=(const RowOf&) = delete;
  ~RowOf() {
    while (size_ > 0) first_[--size_].~T();
    std::allocator<T>{}.deallocate(first_, room_);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T* begin() { return first_; }
  [[nodiscard]] T* end() { return first_ + size_; }
  [[nodiscard]] const T* begin() const { return first_; }
  [[nodiscard]] const T* end() const { return first_ + size_; }
  [[nodiscard]] T& operator[](std::size_t at) { return first_[at]; }
  [[nodiscard]] const T& operator[](std::size_t at) const { return first_[at]; }
  [[nodiscard]] T& at(std::size_t place) { return first_[checked(place)]; }
  [[nodiscard]] const T& at(std::size_t place) const { return first_[checked(place)]; }

 private:
  /// How many elements there is to be memory for: Room{4} takes that of 4, and makes none.
  struct Room {
    std::size_t count;
  };
  explicit RowOf(Room room) : first_(std::allocator<T>{}.allocate(room.count)), room_(room.count) {}
  [[nodiscard]] std::size_t checked(std::size_t place) const {
    if (place >= size_) throw std::out_of_range{"RowOf::at"};
    return place;
  }

  T* first_ = nullptr;
  std::size_t room_ = 0;
  std::size_t size_ = 0;
};

}  // namespace heddle::core_room
