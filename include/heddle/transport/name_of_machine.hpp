// SPDX-License-Identifier: MIT
// Room: transport. Which machine a process is on, so that processes of one machine know each other.
// Sees: the system.  Does not see: ranks, cards, MPI.
// In: nothing.  Out: NameOfMachine, this_machine.
#pragma once

#include <unistd.h>

#include <array>
#include <fstream>

#include "heddle/core/rooms.hpp"

namespace heddle::transport_room {

/// The machine of a process. Two containers on one machine have two names and one boot, two machines may have one name.
/// A NameOfMachine has 64 + 40 = 104 bytes; that of node7 begins with "node7".
///
/// Tested  transport/name_of_machine_test
struct NameOfMachine {
  std::array<char, 64> name{};
  std::array<char, 40> boot{};
  friend bool operator==(const NameOfMachine& a, const NameOfMachine& b) {
    return a.boot[0] != '\0' || b.boot[0] != '\0' ? a.boot == b.boot : a.name == b.name;
  }
};
[[nodiscard]] inline NameOfMachine this_machine() {
  NameOfMachine machine;
  if (gethostname(machine.name.data(), machine.name.size() - 1) != 0) machine.name[0] = '?';
  std::ifstream boot{"/proc/sys/kernel/random/boot_id"};
  boot.read(machine.boot.data(), static_cast<std::streamsize>(machine.boot.size() - 1));
  return machine;
}

}  // namespace heddle::transport_room
