// SPDX-License-Identifier: MIT
#include "heddle/mesh/mesh.hpp"

#include <doctest/doctest.h>

#include <set>
#include <vector>

using namespace heddle;

namespace {

constexpr Mesh mesh_of(std::initializer_list<std::pair<Axis, int>> axes) {
  Mesh mesh;
  for (const auto& [a, size] : axes) {
    mesh.axes[mesh.count] = a;
    mesh.sizes[mesh.count++] = size;
  }
  return mesh;
}

const std::vector<Mesh> meshes = {
    mesh_of({}),
    mesh_of({{axis::data, 4}}),
    mesh_of({{axis::stage, 2}, {axis::data, 4}}),
    mesh_of({{axis::data, 4}, {axis::stage, 2}}),
    mesh_of({{axis::tensor, 2}, {axis::stage, 3}, {axis::shard, 5}, {axis::data, 2}}),
    mesh_of({{axis::expert, 1}, {axis::context, 3}, {axis::stage, 1}, {axis::data, 2}}),
};

}  // namespace

TEST_CASE("a mesh without axes is one rank, and an axis that nobody claimed has size 1") {
  constexpr Mesh one = mesh_of({});
  static_assert(one.ranks() == 1);
  static_assert(one.size(axis::stage) == 1);
  CHECK(one.coordinate(Rank{0}, axis::data) == 0);
}

TEST_CASE("the innermost axis varies fastest: model-parallel groups are consecutive ranks") {
  constexpr Mesh two = mesh_of({{axis::stage, 2}, {axis::data, 4}});
  static_assert(two.ranks() == 8);
  static_assert(two.stride(axis::stage) == 1 && two.stride(axis::data) == 2);
  static_assert(two.coordinate(Rank{5}, axis::stage) == 1 && two.coordinate(Rank{5}, axis::data) == 2);
  static_assert(two.group(Rank{4}, axis::stage) == two.group(Rank{5}, axis::stage));
  static_assert(two.member(1, axis::data, 2) == Rank{5});
  CHECK(two.group(Rank{4}, axis::data) != two.group(Rank{5}, axis::data));
}

TEST_CASE("ranks and coordinates are one to one") {
  for (const Mesh& mesh : meshes) {
    std::set<std::vector<int>> seen;
    for (int r = 0; r < mesh.ranks(); ++r) {
      std::vector<int> at;
      int back = 0;
      for (int i = 0; i < mesh.count; ++i) {
        const int c = mesh.coordinate(Rank{r}, mesh.axes[i]);
        CHECK((c >= 0 && c < mesh.sizes[i]));
        at.push_back(c);
        back += c * mesh.stride(mesh.axes[i]);
      }
      CHECK(back == r);
      CHECK(seen.insert(at).second);
    }
  }
}

TEST_CASE("groups along an axis share every other coordinate, and each rank is in one group at its own position") {
  for (const Mesh& mesh : meshes)
    for (int i = 0; i < mesh.count; ++i) {
      const Axis a = mesh.axes[i];
      std::set<int> members;
      for (int g = 0; g < mesh.ranks() / mesh.size(a); ++g)
        for (int q = 0; q < mesh.size(a); ++q) {
          const Rank rank = mesh.member(g, a, q);
          CHECK(mesh.group(rank, a) == g);
          CHECK(mesh.coordinate(rank, a) == q);
          CHECK(mesh.moved(mesh.member(g, a, 0), a, q) == rank);
          for (int k = 0; k < mesh.count; ++k)
            if (mesh.axes[k] != a) CHECK(mesh.coordinate(rank, mesh.axes[k]) == mesh.coordinate(mesh.member(g, a, 0), mesh.axes[k]));
          CHECK(members.insert(rank.value).second);
        }
      CHECK(static_cast<int>(members.size()) == mesh.ranks());
    }
}

TEST_CASE("groups are numbered in the order of their lowest ranks") {
  for (const Mesh& mesh : meshes)
    for (int i = 0; i < mesh.count; ++i)
      for (int g = 1; g < mesh.ranks() / mesh.sizes[i]; ++g) CHECK(mesh.member(g - 1, mesh.axes[i], 0) < mesh.member(g, mesh.axes[i], 0));
}

TEST_CASE("a mesh has each axis once, with at least one rank, and ranks that can be counted") {
  for (const Mesh& mesh : meshes) CHECK(check_mesh(mesh).ok());
  static_assert(check_mesh(mesh_of({{axis::data, 0}})).sentence().view() == "[heddle.M02] axis data has size 0. Fix: use a size of at least 1.");
  static_assert(check_mesh(mesh_of({{axis::data, -4}})).code == Code{'M', 2});
  static_assert(check_mesh(mesh_of({{axis::data, 2}, {axis::stage, 3}, {axis::data, 4}})).sentence().view() ==
                "[heddle.M01] axis data is named twice in a mesh, with sizes 2 and 4. Fix: name it once.");
  static_assert(check_mesh(mesh_of({{axis::data, 65536}, {axis::stage, 65536}})).code == Code{'M', 10});
  static_assert(check_mesh(mesh_of({{axis::data, 1024}, {axis::stage, 1024}})).ok());  // 2^20 ranks, and no more
  static_assert(check_mesh(mesh_of({{axis::data, 1024}, {axis::stage, 1025}})).code == Code{'M', 10});
  static_assert(
      check_mesh(mesh_of({{axis::data, 1}, {axis::shard, 2}, {axis::tensor, 1}, {axis::stage, 1}, {axis::context, 1}, {axis::expert, 1}})).ok());
  static_assert(check_mesh(Mesh{{axis::data}, {1}, 7}).code == Code{'M', 10});
  CHECK(check_mesh(Mesh{{axis::data}, {1}, -1}).sentence().view() ==
        "[heddle.M10] a mesh has -1 axes, but there are 6. Fix: let count be the number of axes that are named.");
  CHECK(check_mesh(Mesh{{axis::data}, {4}}).sentence().view() ==
        "[heddle.M10] a mesh has 0 axes by its count, but size 4 stands at place 1. Fix: let count, the third member, be the number of axes that are "
        "named, as in Mesh{{axis::data}, {4}, 1}.");
  static_assert(check_mesh(Mesh{{axis::data, axis::stage}, {4, 2}, 1})
                    .sentence()
                    .view()
                    .starts_with("[heddle.M10] a mesh has 1 axis by its count, but size 2 stands at place 2."));
}
