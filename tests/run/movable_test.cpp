// SPDX-License-Identifier: MIT
#include "heddle/run/movable.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

using namespace heddle;

namespace {

struct Counted {
  explicit Counted(int* left) : left_when_gone(left) {}
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { ++*left_when_gone; }
  int* left_when_gone;
  int value = 3;
};

template <class Action> std::string sentence(Action action, int number = 27) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.code() == Code{'R', number});
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("the state keeps its address, and what was moved from says so") {
  static_assert(std::is_nothrow_move_constructible_v<Movable<Counted>> && !std::is_copy_constructible_v<Movable<Counted>>);
  int gone = 0;
  Movable<Counted> first{"Trainer", "Mnist", &gone};
  const Counted* const at = first.operator->();
  Movable<Counted> second{std::move(first)};
  CHECK(second.operator->() == at);
  const std::string refused =
      "[heddle.R27] this Trainer of Mnist was moved into another one, which has its parameters now. Fix: call the Trainer that it was moved into, or "
      "assign a new one to it first.";
  CHECK(sentence([&] { first->value = 4; }) == refused);  // NOLINT(bugprone-use-after-move): that is what is tested
  CHECK(sentence([&] { (void)first.shared_state(); }) == refused);
  first = std::move(second);
  CHECK(first->value == 3);
  CHECK(gone == 0);
}

TEST_CASE("a state that is replaced lives until the call that is under way has ended") {
  int gone = 0;
  Movable<Counted> one{"Trainer", "Mnist", &gone};
  {
    const auto held = one.shared_state();
    one = Movable<Counted>{"Trainer", "Mnist", &gone};
    CHECK(held->value == 3);
    CHECK(gone == 0);
  }
  CHECK(gone == 1);
}

TEST_CASE("a file of another kind is told both kinds before it looks at the state; consume.compiled links two such files") {
  int gone = 0;
  Movable<Counted> trainer{"Trainer", "Mnist", &gone};
  const auto found = [&](auto kind) { std::memcpy(static_cast<void*>(&trainer), &kind, sizeof kind); };
  static_assert(sizeof(FileKind) == 8 && kind_of_this_file == FileKind::headers);
  found(FileKind::library);
  const std::string refused =
      "[heddle.R33] this Trainer of Mnist was made in a file that uses heddle::compiled and is called in one that compiles Heddle itself, and the "
      "two may "
      "lay its state out in two ways. Fix: compile both files for heddle::compiled, or both for heddle::eigen.";
  CHECK(sentence([&] { trainer->value = 4; }, 33) == refused);
  CHECK(sentence([&] { (void)trainer.shared_state(); }, 33) == refused);
  Movable<Counted> moved{std::move(trainer)};
  CHECK(sentence([&] { moved->value = 4; }, 33) == refused);
  trainer = std::move(moved);
  found(std::uint64_t{0x7f00'0000'1000});
  CHECK(sentence([&] { trainer->value = 4; }, 33) ==
        "[heddle.R33] a file that compiles Heddle itself calls a Trainer or a Runner, but where it looks lies none: the file that made it lays the "
        "objects "
        "around it out otherwise, or it is gone. Fix: compile both files with the same flags, both for heddle::compiled or both for heddle::eigen.");
  found(FileKind::headers);
  CHECK(trainer->value == 3);
}
