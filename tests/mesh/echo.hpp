// SPDX-License-Identifier: MIT
// Room: tests. A communicator of one rank whose neighbours hold the same: a sum is a multiple, a gather a repetition.
// Sees: mesh.  Does not see: processes, transports.
#pragma once

#include <algorithm>
#include <string>

#include "heddle/mesh/collectives.hpp"

namespace heddle::tests {

struct Echo {
  int size[axis_count]{1, 1, 1, 1, 1, 1};
  std::string calls;

  Echo(Axis a, int n) { size[static_cast<int>(a)] = n; }
  Echo(Axis a, int n, Axis b, int m) : Echo(a, n) { size[static_cast<int>(b)] = m; }

  [[nodiscard]] Rank rank() const { return Rank{0}; }
  [[nodiscard]] int ranks(Axis a) const { return size[static_cast<int>(a)]; }
  void all_reduce(Axis a, float* data, std::int64_t elements) {
    note("all_reduce", a, elements);
    for (std::int64_t i = 0; i < elements; ++i) data[i] *= static_cast<float>(ranks(a));
  }
  void reduce_scatter(Axis a, const float* whole, float* part, std::int64_t elements) {
    note("reduce_scatter", a, elements);
    for (std::int64_t i = 0; i < elements / ranks(a); ++i) part[i] = whole[i] * static_cast<float>(ranks(a));
  }
  void all_gather(Axis a, const float* part, float* whole, std::int64_t elements) {
    note("all_gather", a, elements);
    const std::int64_t n = elements / ranks(a);
    for (int r = 0; r < ranks(a); ++r) std::copy(part, part + n, whole + r * n);
  }
  void broadcast(Axis a, int root, float*, std::int64_t elements) { note("broadcast from " + std::to_string(root), a, elements); }

 private:
  void note(const std::string& what, Axis a, std::int64_t elements) {
    calls += what + ' ' + std::string{name_of(a)} + ' ' + std::to_string(elements) + "; ";
  }
};
static_assert(Communicator<Echo>);

}  // namespace heddle::tests
