// SPDX-License-Identifier: MIT
#include "heddle/seams/system_limits.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "run/fake_machine.hpp"

using namespace heddle;
using heddle::tests::FakeMachine;

namespace {
std::string root_of(const FakeMachine& machine) { return machine.surroundings().root.string(); }
}  // namespace

TEST_CASE("a file that is not there, a folder and an empty file have no text") {
  FakeMachine machine;
  machine.file("empty", "").file("long", std::string(10000, 'x') + "\n");
  CHECK(file_text(root_of(machine) + "/nothing").empty());
  CHECK(file_text(root_of(machine)).empty());
  CHECK(file_text(root_of(machine) + "/empty").empty());
  CHECK(file_text(root_of(machine) + "/long").size() == 10001);
}

TEST_CASE("threads have a core each by affinity and quota, and by all cores where nothing is known") {
  FakeMachine machine;
  CHECK(have_a_core_each(1, read_core_limits(root_of(machine))));
  CHECK_FALSE(have_a_core_each(1 << 20, read_core_limits(root_of(machine))));
  machine.plain(8, "0-3", 1 << 20, 1 << 20);
  CHECK(have_a_core_each(4, read_core_limits(root_of(machine))));
  CHECK_FALSE(have_a_core_each(5, read_core_limits(root_of(machine))));
  machine.file("proc/self/cgroup", "0::/box\n").file("sys/fs/cgroup/box/cpu.max", "150000 100000\n");
  CHECK(read_core_limits(root_of(machine)).usable() == 1.5);
  CHECK(have_a_core_each(1, read_core_limits(root_of(machine))));
  CHECK_FALSE(have_a_core_each(2, read_core_limits(root_of(machine))));
}

TEST_CASE("the affinity is that of the thread that asks, where the system says it") {
  FakeMachine machine;
  machine.plain(8, "0-7", 1 << 20, 1 << 20).file("proc/thread-self/status", "Cpus_allowed_list:\t3\n");
  CHECK(read_core_limits(root_of(machine)).allowed == std::vector<int>{3});
}

TEST_CASE("the tightest limit of threads holds, and none is 0") {
  FakeMachine machine;
  CHECK(thread_limit(root_of(machine)) == 0);
  machine.file("proc/self/cgroup", "0::/a/b\n").file("sys/fs/cgroup/a/b/pids.max", "max\n").file("sys/fs/cgroup/a/pids.max", "40\n");
  CHECK(thread_limit(root_of(machine)) == 40);
  machine.file("sys/fs/cgroup/a/b/pids.max", "30\n");
  CHECK(thread_limit(root_of(machine)) == 30);
  CHECK(read_memory_limits(root_of(machine)).usable() == Bytes{0});
}
