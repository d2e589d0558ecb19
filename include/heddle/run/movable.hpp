// SPDX-License-Identifier: MIT
// Room: run. A trainer that can be moved: its state stays where it is, and what is left behind says so in one sentence.
// Sees: seams/error.  Does not see: plans, ranks, what the state is.
// In: a state.  Out: Movable, which one trainer after the other may hold.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// R30, of `auto second = first;`.
template <class Holder> constexpr void refuse_copy() {
  static_assert(std::is_void_v<Holder>,
                "[heddle.R30] a Trainer is moved, not copied. Fix: hand it over by reference or with std::move; for a second one with the same "
                "parameters make another Trainer and write second.load(first).");
}

/// Holds a state that is never copied and never changes its address: threads, observers and references to options stay good when its holder is moved.
///
/// Errors  R27 a call of what was moved from; R30 at build, a copy of its holder
/// Tested  run/movable_test, run/trainer_test, fail/R30_copy_of_a_trainer
template <class State> class Movable {
 public:
  /// `who` is what the sentence calls the holder, "Trainer", and `model` what it holds; the words outlive it.
  template <class... Given>
  Movable(const char* who, std::string_view model, Given&&... given)
      : state_(std::make_shared<State>(std::forward<Given>(given)...)), model_(model), who_(who) {}
  Movable(Movable&&) noexcept = default;
  Movable& operator=(Movable&&) noexcept = default;
  ~Movable() = default;

  [[nodiscard]] State* operator->() const {
    if (state_ == nullptr) refuse();
    return state_.get();
  }
  /// For as long as a call lasts that calls others back: they may move the holder, or give it another state.
  [[nodiscard]] std::shared_ptr<State> shared_state() const {
    if (state_ == nullptr) refuse();
    return state_;
  }

 private:
  [[noreturn]] HEDDLE_COLD void refuse() const {
    const std::string who = who_;
    throw Error(Code{'R', 27}, written({"this ", who, " of ", model_, " was moved into another one, which has its parameters now. Fix: call the ",
                                        who, " that it was moved into, or assign a new one to it first."}));
  }
  std::shared_ptr<State> state_;
  std::string_view model_;
  const char* who_;
};

}  // namespace heddle::run_room
