// SPDX-License-Identifier: MIT
// A file of its own: where the Debian package dataset-fashion-mnist is missing, this counts as skipped and nothing else does.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "heddle/io/gzip.hpp"

using namespace heddle;

TEST_CASE("Fashion-MNIST is read from its Debian package: 60,000 and 10,000 images of 784 pixels, every class equally often") {
  const std::filesystem::path folder{"/usr/share/datasets/fashion-mnist"};
  if (!std::filesystem::is_directory(folder)) {
    std::puts("SKIPPED: the package dataset-fashion-mnist is not installed");
    return;
  }
  for (const DataSplit split : {DataSplit::train, DataSplit::test}) {
    const IdxDataset data = load_idx(folder, split);
    const std::int64_t rows = split == DataSplit::train ? 60'000 : 10'000;
    CHECK(data.size() == rows);
    CHECK(data.features() == 784);
    CHECK(*std::min_element(data.images().begin(), data.images().end()) == 0.0F);
    CHECK(*std::max_element(data.images().begin(), data.images().end()) == 1.0F);
    std::vector<std::int64_t> times(10);
    for (const std::int32_t label : data.labels()) ++times[static_cast<std::size_t>(label)];
    CHECK(times == std::vector<std::int64_t>(10, rows / 10));
    CHECK(data.shuffled(Seed{1}, 0).batches<64>().size() == (rows + 63) / 64);
  }
}
