// SPDX-License-Identifier: MIT
#include "heddle/run/movable.hpp"

#include <doctest/doctest.h>

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

template <class Action> std::string sentence(Action action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.code() == Code{'R', 27});
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
