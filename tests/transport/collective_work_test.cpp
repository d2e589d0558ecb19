// SPDX-License-Identifier: MIT
#include "heddle/transport/collective_work.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

using namespace heddle;

TEST_CASE("owners of a range follow each other and cover it once") {
  std::vector<int> covered(30, 0);
  int last = -1;
  for_each_owner(7, 3, 28, [&](int owner, std::int64_t begin, std::int64_t end) {
    CHECK(owner == last + 1);
    CHECK((begin < end && begin / 7 == owner && (end - 1) / 7 == owner));
    for (std::int64_t i = begin; i < end; ++i) ++covered[static_cast<std::size_t>(i)];
    last = owner;
  });
  CHECK(last == 3);
  CHECK(std::accumulate(covered.begin(), covered.end(), 0) == 25);
  CHECK((covered[2] == 0 && covered[3] == 1 && covered[27] == 1 && covered[28] == 0));
}

TEST_CASE("any partition of the whole gives the sums and copies of one range") {
  for (const Movement kind : {Movement::all_reduce, Movement::reduce_scatter, Movement::all_gather}) {
    const auto run = [&](const std::vector<std::int64_t>& cuts) {
      std::vector<std::vector<float>> buffers(6, std::vector<float>(30));  // sources, then targets
      for (std::size_t i = 0; i < buffers.size(); ++i) std::iota(buffers[i].begin(), buffers[i].end(), static_cast<float>(i) * 0.1F);
      const float* sources[3];
      float* targets[3];
      for (std::size_t q = 0; q < 3; ++q) {
        sources[q] = buffers[q].data();
        targets[q] = buffers[q + 3].data();
      }
      const CollectiveBuffers all{kind, 3, 30, sources, targets};
      for (std::size_t c = 0; c + 1 < cuts.size(); ++c) work_on_range(all, cuts[c], cuts[c + 1]);
      return buffers;
    };
    const auto whole = run({0, 30});
    CHECK(run({0, 1, 9, 12, 25, 25, 30}) == whole);
    if (kind == Movement::all_gather) CHECK(whole[3][15] == whole[1][5]);
    if (kind == Movement::reduce_scatter) CHECK((whole[4][5] == (whole[0][15] + whole[1][15]) + whole[2][15] && whole[4][10] == 10 + 4 * 0.1F));
  }
}
