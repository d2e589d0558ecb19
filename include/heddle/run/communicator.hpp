// SPDX-License-Identifier: MIT
// Room: run. What user code communicates with: a rank's endpoint of any transport, and the groups of a mesh.
// Sees: mesh, seams/concepts, seams/error.  Does not see: programs, any transport.
// In: a TransportEndpoint and a Mesh.  Out: a Communicator for the typed collectives.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/core/written.hpp"
#include "heddle/mesh/collectives.hpp"
#include "heddle/mesh/mesh.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// The mesh that an SPMD function is run on.
/// Errors  M01, M02, M10
[[nodiscard]] inline Mesh sound(const Mesh& mesh) {
  if (const Diagnosis found = check_mesh(mesh); !found.ok()) throw Error{found};
  return mesh;
}

/// The groups of a mesh, axis after axis in its order, as mesh_group() numbers them. Axes of one rank have none.
[[nodiscard]] inline std::vector<std::vector<int>> mesh_groups(const Mesh& mesh) {
  std::vector<std::vector<int>> groups;
  for (int i = 0; i < mesh.count; ++i) {
    if (mesh.sizes[i] == 1) continue;
    for (int g = 0; g < mesh.ranks() / mesh.sizes[i]; ++g) {
      std::vector<int> members;
      for (int k = 0; k < mesh.sizes[i]; ++k) members.push_back(mesh.member(g, mesh.axes[i], k).value);
      groups.push_back(members);
    }
  }
  return groups;
}
[[nodiscard]] constexpr int mesh_group(const Mesh& mesh, Rank rank, Axis a) {
  int first = 0;
  for (int i = 0; i < mesh.count && mesh.axes[i] != a; ++i)
    if (mesh.sizes[i] > 1) first += mesh.ranks() / mesh.sizes[i];
  return first + mesh.group(rank, a);
}

/// One rank of an SPMD function. Each call is a start and its wait: it returns when this rank's part is done.
///
/// What it moves lies outside every Program: no promise on deadlock, bytes or bits speaks of it. All ranks of a group must make the same calls in
/// the same order, else a call ends with RankLost after the deadline, or with T01.
/// Errors  P20 for a root that is not there; P22 a copy that shares memory with its original; those of the transport
/// Tested  run/communicator_test, backend/spmd_threads_test, backend/spmd_mpi_test
template <TransportEndpoint Endpoint> class MeshCommunicator {
 public:
  MeshCommunicator(Endpoint& endpoint, const Mesh& mesh, Rank rank) : endpoint_(endpoint), mesh_(mesh), rank_(rank) {}

  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] const Mesh& mesh() const { return mesh_; }
  [[nodiscard]] int ranks(Axis a) const { return mesh_.size(a); }
  [[nodiscard]] int coordinate(Axis a) const { return ranks(a) == 1 ? 0 : mesh_.coordinate(rank_, a); }

  [[noreturn]] static void refuse(const Diagnosis& found) { throw Error{found}; }

  void all_reduce(Axis a, float* data, std::int64_t elements) {
    if (ranks(a) == 1) return;
    endpoint_.all_reduce_wait(group(a), endpoint_.all_reduce_start(group(a), data, elements));
  }
  void reduce_scatter(Axis a, const float* whole, float* part, std::int64_t elements) {
    if (ranks(a) == 1) return copy(whole, part, elements);
    endpoint_.reduce_scatter_wait(group(a), endpoint_.reduce_scatter_start(group(a), whole, part, elements));
  }
  void all_gather(Axis a, const float* part, float* whole, std::int64_t elements) {
    if (ranks(a) == 1) return copy(part, whole, elements);
    endpoint_.all_gather_wait(group(a), endpoint_.all_gather_start(group(a), part, whole, elements));
  }
  void broadcast(Axis a, int root, float* data, std::int64_t elements) {
    if (root < 0 || root >= ranks(a))
      throw Error{Code{'P', 20}, written({"broadcast over ", name_of(a), " names root ", root, ", but the axis has ", ranks(a),
                                          " ranks, counted from 0. Fix: name one of them."})};
    if (coordinate(a) != root) {
      const int from = mesh_.moved(rank_, a, root).value;
      return endpoint_.receive_wait(from, endpoint_.receive_start(from, data, elements));
    }
    std::vector<std::int64_t> started;
    for (int k = 0; k < ranks(a); ++k) started.push_back(k == root ? -1 : endpoint_.send_start(mesh_.moved(rank_, a, k).value, data, elements));
    for (int k = 0; k < ranks(a); ++k)
      if (k != root) endpoint_.send_wait(mesh_.moved(rank_, a, k).value, started[static_cast<std::size_t>(k)]);
  }

 private:
  [[nodiscard]] int group(Axis a) const { return mesh_group(mesh_, rank_, a); }
  static void copy(const float* source, float* target, std::int64_t elements) {
    for (std::int64_t i = 0; i < elements; ++i) target[i] = source[i];
  }

  Endpoint& endpoint_;
  Mesh mesh_;
  Rank rank_;
};

}  // namespace heddle::run_room
