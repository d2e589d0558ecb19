// SPDX-License-Identifier: MIT
#include "heddle/transport/name_of_machine.hpp"

#include <doctest/doctest.h>

#include <cstring>

using namespace heddle;

namespace {

NameOfMachine of(const char* name, const char* boot) {
  NameOfMachine machine;
  std::strncpy(machine.name.data(), name, machine.name.size() - 1);
  std::strncpy(machine.boot.data(), boot, machine.boot.size() - 1);
  return machine;
}

}  // namespace

TEST_CASE("a machine is the one that has started then, whatever it is called; without that its name counts") {
  CHECK(this_machine() == this_machine());
  CHECK(this_machine().name[0] != '\0');
  CHECK(of("node7", "b1") == of("container", "b1"));
  CHECK_FALSE(of("node", "b1") == of("node", "b2"));
  CHECK_FALSE(of("node", "b1") == of("node", ""));
  CHECK(of("node7", "") == of("node7", ""));
  CHECK_FALSE(of("node7", "") == of("node8", ""));
}
