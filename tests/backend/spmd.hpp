// SPDX-License-Identifier: MIT
// What an SPMD function may rely on, whatever its ranks are. A World has run(mesh, job), where job(comm) returns what a rank found wrong,
// run_on<Plan>(job), and run_to_the_end(mesh, job, deadline), where job(comm, found) may throw. All return what the ranks that live here found.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "heddle/heddle.hpp"
#include "heddle/mesh/norm.hpp"
#include "heddle/mesh/statistics.hpp"
#include "heddle/seams/error.hpp"

namespace conformance {

using namespace heddle;
using Buffer = std::vector<float>;

inline constexpr Mesh two_by_three{{axis::tensor, axis::data}, {2, 3}, 2};

/// The same on every rank, from numbers that are exact in float.
[[nodiscard]] inline float number_of(int rank) { return static_cast<float>(1 << rank); }
template <class Comm> [[nodiscard]] float number_of(Comm& comm) { return number_of(comm.rank().value); }
/// Ranks 0, 2 and 4, or 1, 3 and 5.
[[nodiscard]] inline float sum_over_data(int rank) { return rank % 2 == 0 ? 21.0F : 42.0F; }

template <class Comm> auto my_loss(Comm& comm, Distributed<float, Partial<axis::data>> local) { return all_reduce<axis::data>(comm, local); }

template <class World> void all_reduce_sums_over_its_axes() {
  CHECK(World::run(two_by_three, [](auto& comm) -> std::string {
          const float mine = number_of(comm);
          if (my_loss(comm, Distributed<float, Partial<axis::data>>{mine}).value() != sum_over_data(comm.rank().value)) return "over data";
          const auto both = all_reduce<axis::data, axis::tensor>(comm, Distributed<float, Partial<axis::data, axis::tensor>>{mine});
          return both.value() == 63 ? "" : "over both";
        }) == "");
}

/// The last rank to come is late; nobody goes on before it has said so in `arrived`, which all ranks see.
template <class World> void a_barrier_waits_for_every_rank_of_its_axes() {
  const std::filesystem::path arrived = std::filesystem::temp_directory_path() / ("heddle_barrier_" + std::to_string(::getppid()));
  CHECK(World::run(two_by_three, [&](auto& comm) -> std::string {
          if (comm.rank().value == 5) {
            std::this_thread::sleep_for(std::chrono::milliseconds{100});
            std::ofstream{arrived} << "here";
          }
          barrier<axis::tensor, axis::data>(comm);
          const bool there = std::filesystem::exists(arrived);
          barrier<axis::data, axis::tensor>(comm);  // before it is taken away
          if (comm.rank().value == 0) std::filesystem::remove(arrived);
          return there ? "" : "went on too early";
        }) == "");
}

template <class World> void what_is_linear_commutes() {
  CHECK(World::run(two_by_three, [](auto& comm) -> std::string {
          const Distributed<float, Partial<axis::data>> a{number_of(comm)};
          const Distributed<float, Partial<axis::data>> b{3 * number_of(comm) + 1};
          const auto late = all_reduce<axis::data>(comm, 2 * a - b / 4);
          const auto early = 2 * all_reduce<axis::data>(comm, a) - all_reduce<axis::data>(comm, b) / 4;
          return late == early ? "" : "not linear";
        }) == "");
}

template <class World> void broadcast_gives_the_value_of_the_root() {
  CHECK(World::run(two_by_three, [](auto& comm) -> std::string {
          const float mine = comm.rank().value == 3 ? -0.0F : 1.0F;  // coordinates 1 on tensor, 1 on data
          const float x = broadcast<axis::data, axis::tensor>(comm, mine, 1).value();
          return x == 0 && std::signbit(x) ? "" : "another value";
        }) == "");
}

template <class World> void scatter_and_gather_are_all_reduce() {
  CHECK(World::run(two_by_three, [](auto& comm) -> std::string {
          const int r = comm.rank().value;
          Buffer mine(6), sum(6);
          for (std::size_t i = 0; i < 6; ++i) mine[i] = static_cast<float>(i) * number_of(comm);
          for (std::size_t i = 0; i < 6; ++i) sum[i] = static_cast<float>(i) * sum_over_data(r);
          const Distributed<Buffer, Partial<axis::data>> terms{mine};
          const auto part = reduce_scatter<axis::data>(comm, terms);
          const auto first = static_cast<std::size_t>(r / 2 * 2);
          if (part.part() != Buffer{sum[first], sum[first + 1]}) return "another part";
          if (all_gather<axis::data>(comm, part).value() != sum) return "joined in another order";
          return all_reduce<axis::data>(comm, terms).value() == sum ? "" : "another sum";
        }) == "");
}

template <class World> void a_norm_over_two_axes_clips_as_that_of_the_whole() {
  CHECK(World::run(two_by_three, [](auto& comm) -> std::string {
          const Distributed<Buffer, Shard<axis::tensor>, Shard<axis::data, 1>> mine{{static_cast<float>(comm.rank().value)}};
          const auto norm = all_reduce<axis::tensor, axis::data>(comm, squared_norm(mine));
          return clip_factor(norm, 1.0F).value() == 1.0F / (std::sqrt(55.0F) + 1e-6F) ? "" : "another factor";  // 0 + 1 + 4 + 9 + 16 + 25
        }) == "");
}

template <class World> void a_mean_of_unequal_counts_is_weighted() {
  CHECK(World::run(Mesh{{axis::data}, {3}, 1}, [](auto& comm) -> std::string {
          const float rows = number_of(comm);  // 1, 2 and 4 rows, each with the value of its rank
          const Distributed<WeightedSum, Partial<axis::data>> mine{{rows * static_cast<float>(comm.rank().value), rows}};
          const Distributed<float, Mean<axis::data>> mean = mean_over<axis::data>(comm, mine);
          return mean.value() == 10.0F / 7.0F ? "" : "another mean";
        }) == "");
}

template <class World> void a_function_runs_on_the_mesh_of_a_plan() {
  struct Small : Sequential<Linear<8, 4>, Linear<4, 2>> {};
  using Training = Plan<Small, CrossEntropy, SGD, Batch<8>, Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>>;
  CHECK(World::template run_on<Training>([](auto& comm) -> std::string {
          const Distributed<float, Partial<axis::stage, axis::data>> one{1.0F};
          return all_reduce<axis::data, axis::stage>(comm, one).value() == 4 ? "" : "another mesh";
        }) == "");
}

/// In every collective, on every rank in turn: who shares the group is told who has stopped and why, and nobody hangs.
template <class World> void a_rank_that_throws_ends_the_waits_of_the_others() {
  for (int thrower = 0; thrower < two_by_three.ranks(); ++thrower)
    for (const int place : {0, 1, 2, 3}) {
      CAPTURE(thrower);
      CAPTURE(place);
      CHECK(World::run_to_the_end(two_by_three, [&](auto& comm, std::string& found) {
              const bool shares = comm.rank().value % 2 == thrower % 2;
              const auto meet = [&](int here) {
                if (comm.rank().value == thrower && here == place) throw std::runtime_error("nothing to do");
              };
              try {
                const Distributed<Buffer, Partial<axis::data>> terms{Buffer(6, 1.0F)};
                meet(0);
                static_cast<void>(all_reduce<axis::data>(comm, terms));
                meet(1);
                const auto part = reduce_scatter<axis::data>(comm, terms);
                meet(2);
                static_cast<void>(all_gather<axis::data>(comm, part));
                meet(3);
                static_cast<void>(broadcast<axis::data>(comm, 1.0F, thrower / 2));  // the root is who throws
                found = shares ? "a survivor was not told" : "";
              } catch (const RankLost& lost) {
                const std::string words = lost.what();
                found = lost.rank() == Rank{thrower} && words.find("nothing to do") != std::string::npos && shares ? "" : words;
                throw;
              } catch (const std::exception& own) {
                found = comm.rank().value == thrower && std::string{own.what()} == "nothing to do" ? "" : own.what();
                throw;
              }
            }) == "");
    }
}

/// Outside every Program nothing refuses such a function; the deadline ends it.
template <class World> void a_rank_that_leaves_early_is_named_after_the_deadline() {
  CHECK(World::run_to_the_end(
            two_by_three,
            [](auto& comm, std::string& found) {
              const int r = comm.rank().value;
              found = "";
              if (r == 2) return;
              try {
                static_cast<void>(all_reduce<axis::data>(comm, Distributed<float, Partial<axis::data>>{1.0F}));
                if (r % 2 == 0) found = "a sum without one of its terms";
              } catch (const RankLost& lost) {
                if (lost.rank() != Rank{2} || r % 2 != 0) found = lost.what();
                throw;
              }
            },
            std::chrono::milliseconds{400}) == "");
}

template <class World> void every_collective() {
  all_reduce_sums_over_its_axes<World>();
  a_barrier_waits_for_every_rank_of_its_axes<World>();
  what_is_linear_commutes<World>();
  broadcast_gives_the_value_of_the_root<World>();
  scatter_and_gather_are_all_reduce<World>();
  a_norm_over_two_axes_clips_as_that_of_the_whole<World>();
  a_mean_of_unequal_counts_is_weighted<World>();
  a_function_runs_on_the_mesh_of_a_plan<World>();
}

}  // namespace conformance
