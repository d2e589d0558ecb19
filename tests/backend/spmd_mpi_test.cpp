// SPDX-License-Identifier: MIT
#include "heddle/backend/spmd_mpi.hpp"

#include <doctest/doctest.h>

#include <string>

#include "backend/spmd.hpp"
#include "transport/mpi_ranks.hpp"

using namespace heddle;
using heddle::tests::FirstRanks;

// Runs with eight processes; a mesh of fewer ranks takes the first.
namespace {

struct ProcessWorld {
  template <class Job> static std::string run_to_the_end(const Mesh& mesh, Job job, std::chrono::nanoseconds deadline = std::chrono::minutes{1}) {
    const FirstRanks ranks{mesh.ranks()};
    if (!ranks.taking_part()) return "";
    std::string found = "has not come to its end";
    try {
      spmd_processes(
          mesh, [&](auto& comm) { job(comm, found); }, deadline);
    } catch (const std::exception&) {  // job has found what it is
    }
    return found;
  }
  template <class Job> static std::string run(const Mesh& mesh, Job job) {
    return run_to_the_end(mesh, [&](auto& comm, std::string& found) { found = job(comm); });
  }
  template <class ThePlan, class Job> static std::string run_on(Job job) {
    const FirstRanks ranks{devices<ThePlan>};
    if (!ranks.taking_part()) return "";
    std::string found = "has not come to its end";
    spmd_processes<ThePlan>([&](auto& comm) { found = job(comm); });
    return found;
  }
};

}  // namespace

TEST_CASE("typed collectives between processes do what their types say") { conformance::every_collective<ProcessWorld>(); }

TEST_CASE("a process that throws in any collective is named by those who share it") {
  conformance::a_rank_that_throws_ends_the_waits_of_the_others<ProcessWorld>();
}

TEST_CASE("a process that leaves early is named after the deadline") {
  conformance::a_rank_that_leaves_early_is_named_after_the_deadline<ProcessWorld>();
  MpiProcess::instance().finalize_at_the_end(true);  // its process lives on
}

TEST_CASE("another number of processes than ranks, and other meshes, are refused in every process") {
  const auto refusal = [](const Mesh& mesh) -> std::string {
    try {
      spmd_processes(mesh, [](auto&) {});
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was refused";
  };
  const FirstRanks four{4};
  if (!four.taking_part()) return;
  CHECK(refusal(Mesh{{axis::data}, {0}, 1}).find("[heddle.M02]") == 0);
  CHECK(refusal(Mesh{{axis::data, axis::data}, {2, 2}, 2}).find("[heddle.M01]") == 0);
  CHECK(refusal(conformance::two_by_three).find("[heddle.R03] the plan has 6 devices, but MPI has started 4 processes") == 0);
  const Mesh lines{{axis::data}, {4}, 1};
  const Mesh square{{axis::data, axis::tensor}, {2, 2}, 2};
  CHECK(refusal(four.rank() == 1 ? square : lines).find("[heddle.R08] rank 1 runs another program than ranks 0, 2 and 3") == 0);
  CHECK(refusal(lines) == "nothing was refused");
}
