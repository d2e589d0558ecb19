// SPDX-License-Identifier: MIT
#include "heddle/run/communicator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "heddle/transport/threads.hpp"

using namespace heddle;

namespace {

Mesh mesh_of(std::vector<std::pair<Axis, int>> sizes) {
  Mesh mesh;
  for (const auto& [axis, size] : sizes) {
    mesh.axes[mesh.count] = axis;
    mesh.sizes[mesh.count++] = size;
  }
  return mesh;
}

}  // namespace

static_assert(Communicator<MeshCommunicator<Threads::Endpoint>>);

TEST_CASE("every rank is, along every axis, in the group of its number, at the position of its coordinate") {
  for (const Mesh& mesh : {mesh_of({}), mesh_of({{axis::data, 4}}), mesh_of({{axis::stage, 2}, {axis::data, 3}}),
                           mesh_of({{axis::tensor, 2}, {axis::stage, 1}, {axis::shard, 3}, {axis::data, 2}})}) {
    const auto groups = mesh_groups(mesh);
    std::size_t expected = 0;
    for (int i = 0; i < mesh.count; ++i)
      if (mesh.sizes[i] > 1) expected += static_cast<std::size_t>(mesh.ranks() / mesh.sizes[i]);
    CHECK(groups.size() == expected);
    for (int i = 0; i < mesh.count; ++i) {
      if (mesh.sizes[i] == 1) continue;
      for (int r = 0; r < mesh.ranks(); ++r) {
        const auto& members = groups.at(static_cast<std::size_t>(mesh_group(mesh, Rank{r}, mesh.axes[i])));
        CHECK(members.size() == static_cast<std::size_t>(mesh.sizes[i]));
        CHECK(members.at(static_cast<std::size_t>(mesh.coordinate(Rank{r}, mesh.axes[i]))) == r);
      }
    }
  }
}

TEST_CASE("along an axis of one rank, or one that the mesh does not have, nothing moves") {
  const Mesh alone = mesh_of({{axis::data, 1}});
  Threads world{1, mesh_groups(alone), PendingLimits{1, 1}, std::chrono::seconds{5}};
  MeshCommunicator comm{world.endpoint(Rank{0}), alone, Rank{0}};
  float x = 3;
  comm.all_reduce(axis::data, &x, 1);
  comm.all_reduce(axis::tensor, &x, 1);
  comm.broadcast(axis::tensor, 0, &x, 1);
  CHECK(x == 3);
  CHECK(comm.ranks(axis::tensor) == 1);
  CHECK(comm.coordinate(axis::tensor) == 0);
}

TEST_CASE("P20: a root that is not there is refused with the axis and its ranks") {
  const Mesh mesh = mesh_of({{axis::data, 2}});
  Threads world{2, mesh_groups(mesh), PendingLimits{1, 1}, std::chrono::seconds{5}};
  MeshCommunicator comm{world.endpoint(Rank{0}), mesh, Rank{0}};
  float x = 3;
  for (const int root : {-1, 2}) {
    try {
      comm.broadcast(axis::data, root, &x, 1);
      FAIL("not refused");
    } catch (const Error& error) {
      CHECK(error.code() == Code{'P', 20});
      CHECK(std::string{error.what()}.find("broadcast over data names root " + std::to_string(root) + ", but the axis has 2 ranks") !=
            std::string::npos);
    }
  }
}
