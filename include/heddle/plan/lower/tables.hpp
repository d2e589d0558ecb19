// SPDX-License-Identifier: MIT
// Room: plan. Storage of the phases: lists that know what they hold at most, and tables for one phase, at compile time as at run time.
// Sees: core.  Does not see: graph, policies, processes, threads.
// In: capacities.  Out: List, Tables, the sentence of a list that is too short.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"

namespace heddle::plan_room {

/// Elements that are appended one by one to storage of another owner.
///
/// Room for 2 elements, 3 appended: count is 2, refused is 1, and the third stands where the second stood.
/// Tested  plan/lower/tables_test
template <class T> struct List {
  T* data = nullptr;  ///< one element at least, also where the capacity is 0
  int capacity = 0;
  int count = 0;
  int refused = 0;  ///< elements that found no room

  constexpr T& append() {
    if (count < capacity) return data[count++];
    ++refused;
    return data[count > 0 ? count - 1 : 0];
  }
  [[nodiscard]] constexpr T& operator[](int i) const { return data[i]; }
};

/// S14: the sentence of a list that was too short; ok if none was.
/// Tested  plan/lower/tables_test, plan/lower/lowered_plan_test
[[nodiscard]] constexpr Diagnosis check_room(std::string_view elements, int capacity, int refused) {
  if (refused == 0) return {};
  return Diagnosis{Code{'S', 14}, ""} << "the plan makes " << std::int64_t{capacity} + refused << ' ' << elements << ", but there is room for "
                                      << capacity << ". Fix: make room for " << std::int64_t{capacity} + refused << ", or lower a smaller plan.";
}
template <class T> [[nodiscard]] constexpr Diagnosis check_room(std::string_view elements, const List<T>& list) {
  return check_room(elements, list.capacity, list.refused);
}
/// S14 where nobody can make room: an index has 16 bits, a table a fixed size. Of 40,000 micro-batches 32,767 have an index.
/// Tested  plan/lower/tables_test, plan/lower/lowered_plan_test
[[nodiscard]] constexpr Diagnosis check_limit(std::string_view elements, std::int64_t limit, std::int64_t made) {
  if (made <= limit) return {};
  return Diagnosis{Code{'S', 14}, ""} << "the plan makes " << made << ' ' << elements << ", but there is room for " << limit
                                      << ". Fix: lower a smaller plan.";
}

/// Tables of one type, which live as long as their owner.
template <class T> class TablesOfType {
 public:
  constexpr TablesOfType() = default;
  constexpr TablesOfType(TablesOfType&& other) noexcept : last_(other.last_) { other.last_ = nullptr; }
  constexpr TablesOfType& operator=(TablesOfType&& other) noexcept {
    Table* const mine = last_;
    last_ = other.last_;
    other.last_ = mine;
    return *this;
  }
  constexpr ~TablesOfType() {
    while (last_ != nullptr) {
      Table* const gone = last_;
      last_ = gone->before;
      delete[] gone->data;
      delete gone;
    }
  }
  constexpr T* add(int elements) {
    last_ = new Table{last_, nullptr};
    last_->data = new T[static_cast<std::size_t>(elements > 0 ? elements : 1)]();
    return last_->data;
  }

 private:
  /// One table of the chain: the array, and the table that was made before it; the destructor follows the chain.
  struct Table {
    Table* before;
    T* data;
  };
  Table* last_ = nullptr;
};

/// Tables of several types. Elements have their initial values, addresses stay when the owner is moved, one element is there at least.
/// Nothing of it is virtual: nvcc 13 takes no virtual destructor in a constant expression.
template <class... Types> class Tables : TablesOfType<Types>... {
 public:
  template <class T> constexpr T* make(int elements) { return TablesOfType<T>::add(elements); }
  template <class T> constexpr List<T> make_list(int capacity) { return List<T>{make<T>(capacity), capacity}; }
};

}  // namespace heddle::plan_room
