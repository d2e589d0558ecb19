// SPDX-License-Identifier: MIT
// Room: run. A trainer that can be moved: its state stays where it is, and what is left behind says so in one sentence.
// Sees: seams/error.  Does not see: plans, ranks, what the state is.
// In: a state.  Out: Movable, which one trainer after the other may hold; FileKind, by which a file knows a trainer that it cannot call.
#pragma once

#include <cstdint>
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

/// What a file gets Heddle from. The numbers are large, so memory that holds no trainer hardly ever holds one of them.
enum class FileKind : std::uint64_t { headers = 0x6865'6464'6c65'2d68, library = 0x6865'6464'6c65'2d63 };
/// Of the file that is compiled. Rooms have other names in files of the other kind, so the linker never takes a function that compares with that
/// kind.
#ifdef HEDDLE_COMPILED
constexpr FileKind kind_of_this_file = FileKind::library;
#else
constexpr FileKind kind_of_this_file = FileKind::headers;
#endif

/// Holds a state that is never copied and never changes its address: threads, observers and references to options stay good when its holder is moved.
///
/// A struct of a user, or a function that returns it, may take its holder from a file of one kind to a file of the other: the state is never looked
/// at there. What is looked at is numbers and pointers, which lie alike under all flags, and the kind lies first: of a Trainer of Net, {library,
/// "Trainer", "Net", its state}.
///
/// Errors  R27 a call of what was moved from; R30 at build, a copy of its holder; R33 a call in a file of another kind than the one that made it
/// Tested  run/movable_test, run/trainer_test, fail/R30_copy_of_a_trainer
template <class State> class Movable {
 public:
  /// `who` is what the sentence calls the holder, "Trainer", and `model` what it holds; the words outlive it.
  template <class... Given>
  Movable(const char* who, std::string_view model, Given&&... given)
      : who_(who), model_(model), state_(std::make_shared<State>(std::forward<Given>(given)...)) {}
  Movable(Movable&&) noexcept = default;
  Movable& operator=(Movable&&) noexcept = default;
  ~Movable() = default;

  [[nodiscard]] State* operator->() const {
    if (kind_ != kind_of_this_file) refuse_kind();
    if (state_ == nullptr) refuse();
    return state_.get();
  }
  /// For as long as a call lasts that calls others back: they may move the holder, or give it another state.
  [[nodiscard]] std::shared_ptr<State> shared_state() const {
    if (kind_ != kind_of_this_file) refuse_kind();
    if (state_ == nullptr) refuse();
    return state_;
  }

 private:
  [[noreturn]] HEDDLE_COLD void refuse() const {
    const std::string who = who_;
    throw Error(Code{'R', 27}, written({"this ", who, " of ", model_, " was moved into another one, which has its parameters now. Fix: call the ",
                                        who, " that it was moved into, or assign a new one to it first."}));
  }
  [[noreturn]] HEDDLE_COLD void refuse_kind() const {
    constexpr bool compiled_here = kind_of_this_file == FileKind::library;
    constexpr const char* kinds[] = {"compiles Heddle itself", "uses heddle::compiled"};
    constexpr const char* none_there =
        " calls a Trainer or a Runner, but where it looks lies none: the file that made it lays the objects around it out otherwise, or it is gone. "
        "Fix: compile both files with the same flags, both for heddle::compiled or both for heddle::eigen.";
    if (kind_ != FileKind::headers && kind_ != FileKind::library)
      throw Error(Code{'R', 33}, written({"a file that ", kinds[compiled_here], none_there}));
    constexpr const char* two_kinds =
        ", and the two may lay its state out in two ways. Fix: compile both files for heddle::compiled, or both for heddle::eigen.";
    const std::string who = who_;
    throw Error(Code{'R', 33}, written({"this ", who, " of ", model_, " was made in a file that ", kinds[!compiled_here],
                                        " and is called in one that ", kinds[compiled_here], two_kinds}));
  }
  FileKind kind_ = kind_of_this_file;
  const char* who_;
  std::string_view model_;
  std::shared_ptr<State> state_;
};

}  // namespace heddle::run_room
