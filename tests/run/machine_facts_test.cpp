// SPDX-License-Identifier: MIT
#include "heddle/run/machine_facts.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "run/fake_machine.hpp"

using namespace heddle;
namespace fs = std::filesystem;
using heddle::tests::FakeMachine;

namespace {

using Numbers = std::vector<int>;

/// Four GPUs, as CUDA_VISIBLE_DEVICES would leave them.
Numbers visible(const std::string& devices) {
  FakeMachine machine;
  for (int g = 0; g < 4; ++g) machine.gpu(g, "A", "GPU-" + std::to_string(g) + "abc");
  machine.variable("CUDA_VISIBLE_DEVICES", devices);
  return read_machine(machine.surroundings()).visible_gpus;
}

}  // namespace

TEST_CASE("lists of numbers are ranges and single numbers") {
  CHECK(numbers_of_list("0-3,8\n") == Numbers{0, 1, 2, 3, 8});
  CHECK(numbers_of_list("5") == Numbers{5});
  CHECK(numbers_of_list("").empty());
  CHECK(numbers_of_list("none").empty());
}

TEST_CASE("a machine of which nothing can be read is unknown, and no error") {
  const MachineFacts facts = read_machine(FakeMachine{}.surroundings());
  CHECK(facts.cores_online == 0);
  CHECK(facts.usable_cores() == 0);
  CHECK(facts.usable_memory() == Bytes{0});
  CHECK(facts.gpus.empty());
}

TEST_CASE("cores are those of the affinity") {
  FakeMachine machine;
  machine.plain(8, "0,4-5", 1000, 500);
  const MachineFacts facts = read_machine(machine.surroundings());
  CHECK(facts.cores_online == 8);
  CHECK(facts.allowed_cores == Numbers{0, 4, 5});
  CHECK(facts.quota_cores == 0);
  CHECK(facts.usable_cores() == 3);
  CHECK(facts.memory == Bytes{1000 * 1024});
  CHECK(facts.usable_memory() == Bytes{500 * 1024});
}

TEST_CASE("control groups of version 2: the tightest limit on the way up holds") {
  FakeMachine machine;
  machine.plain(8, "0-7", 1 << 20, 1 << 20).file("proc/self/cgroup", "0::/a/b\n");
  machine.file("sys/fs/cgroup/a/b/cpu.max", "max 100000\n").file("sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  machine.file("sys/fs/cgroup/a/b/memory.max", "4000000\n").file("sys/fs/cgroup/a/b/memory.current", "1000000\n");
  machine.file("sys/fs/cgroup/a/memory.max", "5000000\n").file("sys/fs/cgroup/a/memory.current", "4500000\n");
  machine.file("sys/fs/cgroup/memory.max", "max\n");
  const MachineFacts facts = read_machine(machine.surroundings());
  CHECK(facts.quota_cores == 1.5);
  CHECK(facts.usable_cores() == 1.5);
  CHECK(facts.memory_limit == Bytes{5'000'000});
  CHECK(facts.usable_memory() == Bytes{500'000});
}

TEST_CASE("control groups of version 1 have a folder for each controller") {
  FakeMachine machine;
  machine.plain(4, "0-3", 1 << 20, 1 << 20).file("proc/self/cgroup", "5:devices:/x\n4:memory:/box\n3:cpu,cpuacct:/box\n");
  machine.file("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "200000\n").file("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  machine.file("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "3000000\n").file("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1000000\n");
  machine.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");  // none
  const MachineFacts facts = read_machine(machine.surroundings());
  CHECK(facts.quota_cores == 2);
  CHECK(facts.memory_limit == Bytes{3'000'000});
  CHECK(facts.usable_memory() == Bytes{2'000'000});
}

TEST_CASE("no quota is -1 in version 1, and the cache of files does not count as used") {
  FakeMachine machine;
  machine.plain(4, "0-3", 1 << 20, 1 << 20).file("proc/self/cgroup", "0::/\n1:cpu:/\n");
  machine.file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n").file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  machine.file("sys/fs/cgroup/memory.max", "3000000\n").file("sys/fs/cgroup/memory.current", "2500000\n");
  machine.file("sys/fs/cgroup/memory.stat", "anon 500000\ninactive_file 2000000\nactive_file 0\n");
  const MachineFacts facts = read_machine(machine.surroundings());
  CHECK(facts.quota_cores == 0);
  CHECK(facts.used_memory == Bytes{500'000});
}

TEST_CASE("GPUs are those of the driver whose device file is there") {
  FakeMachine machine;
  machine.gpu(0, "NVIDIA H200", "GPU-0abc").gpu(1, "NVIDIA H200", "GPU-1abc", false).gpu(2, "NVIDIA A100", "GPU-2abc");
  machine.nvidia_smi = "GPU 0: not asked (UUID: GPU-9)\n";
  const MachineFacts facts = read_machine(machine.surroundings());
  REQUIRE(facts.gpus.size() == 2);
  CHECK(facts.gpus[0].name == "NVIDIA H200");
  CHECK(facts.gpus[1].name == "NVIDIA A100");
  CHECK(facts.gpus[1].uuid == "GPU-2abc");
  CHECK(facts.visible_gpus == Numbers{0, 1});
}

TEST_CASE("where the driver shows no files, nvidia-smi is asked") {
  FakeMachine machine;
  machine.nvidia_smi = "GPU 0: NVIDIA H200 (UUID: GPU-0abc)\n  MIG 1g.18gb Device 0: (UUID: MIG-1)\nGPU 1: NVIDIA H200 (UUID: GPU-1abc)\n";
  const MachineFacts facts = read_machine(machine.surroundings());
  REQUIRE(facts.gpus.size() == 2);
  CHECK(facts.gpus[1].name == "NVIDIA H200");
  CHECK(facts.gpus[1].uuid == "GPU-1abc");
}

TEST_CASE("nvidia-smi is a program that may be missing, print or never end") {
  FakeMachine machine;
  const std::string path = std::getenv("PATH"), folder = machine.surroundings().root / "bin";
  setenv("PATH", folder.c_str(), 1);
  CHECK(ask_nvidia_smi() == "");
  const auto is = [&](const std::string& lines) {
    machine.file("bin/nvidia-smi", "#!/bin/sh\n" + lines);
    fs::permissions(folder + "/nvidia-smi", fs::perms::owner_all);
  };
  is("echo \"GPU 0: $1\"\necho odd >&2\n");
  CHECK(ask_nvidia_smi() == "GPU 0: -L\n");
  is("echo half\nexec /bin/sleep 60\n");
  const auto begin = std::chrono::steady_clock::now();
  CHECK(ask_nvidia_smi(std::chrono::milliseconds{200}) == std::nullopt);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{10});
  setenv("PATH", path.c_str(), 1);
}

TEST_CASE("an nvidia-smi that does not end is no machine without GPUs") {
  FakeMachine machine;
  machine.nvidia_smi = std::nullopt;
  CHECK(read_machine(machine.surroundings()).nvidia_smi_hangs);
  machine.nvidia_smi = "";
  CHECK_FALSE(read_machine(machine.surroundings()).nvidia_smi_hangs);
  machine.nvidia_smi = std::nullopt;
  machine.gpu(0, "NVIDIA H200", "GPU-0abc");
  CHECK_FALSE(read_machine(machine.surroundings()).nvidia_smi_hangs);  // it is not asked
}

TEST_CASE("CUDA_VISIBLE_DEVICES may name an instance of MIG, of which a process has one") {
  const std::string listed =
      "GPU 0: NVIDIA H200 (UUID: GPU-0abc)\nGPU 1: NVIDIA H200 (UUID: GPU-1abc)\n  MIG 1g.18gb     Device  0: (UUID: MIG-aa)\n"
      "  MIG 1g.18gb     Device  1: (UUID: MIG-ab)\n";
  for (const bool by_driver : {false, true}) {
    const auto seen = [&](const std::string& devices) {
      FakeMachine machine;
      machine.nvidia_smi = listed;
      machine.variable("CUDA_VISIBLE_DEVICES", devices);
      for (int g = 0; by_driver && g < 2; ++g) machine.gpu(g, "NVIDIA H200", "GPU-" + std::to_string(g) + "abc");
      return read_machine(machine.surroundings()).visible_gpus;
    };
    CHECK(seen("MIG-aa") == Numbers{1});
    CHECK(seen("MIG-aa,MIG-ab") == Numbers{1});
    CHECK(seen("MIG-c").empty());
    CHECK(seen("MIG-c,0").empty());
    CHECK(seen("0") == Numbers{0});
  }
}

TEST_CASE("CUDA_VISIBLE_DEVICES is read as CUDA reads it") {
  CHECK(visible("2,0") == Numbers{2, 0});
  CHECK(visible("GPU-3,1") == Numbers{3, 1});
  CHECK(visible("").empty());
  CHECK(visible("-1").empty());
  CHECK(visible("0,7,1") == Numbers{0});  // what follows the first that is not there is hidden
  CHECK(visible("1,none,2") == Numbers{1});
  CHECK(visible("1,1").empty());
  CHECK(visible("99999999999999999999").empty());
}
