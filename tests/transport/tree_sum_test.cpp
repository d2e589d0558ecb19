// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/transport/tree_sum.hpp"

using namespace heddle;

namespace {
std::vector<float> summed(std::vector<float> values) {
  std::vector<float*> buffers;
  for (float& value : values) buffers.push_back(&value);
  tree_sum_to_all(buffers.data(), static_cast<int>(buffers.size()), 0, 1);
  return values;
}
}  // namespace

TEST_CASE("the tree is that of a binary counter") {
  // Each a differs in its rounding from every other tree: 1e8 absorbs a 3, not a 6.
  const float a = 1e8F, b = 3.0F, c = -1e8F, d = 5.0F, e = 7.0F, f = 1e7F, g = 0.3F;
  CHECK(summed({a}) == std::vector<float>{a});
  CHECK(summed({a, b}).front() == a + b);
  CHECK(summed({a, b, c}).front() == (a + b) + c);
  CHECK(summed({a, b, c, d}).front() == (a + b) + (c + d));
  CHECK(summed({a, b, c, d, e}).front() == ((a + b) + (c + d)) + e);
  CHECK(summed({a, b, c, d, e, f}).front() == ((a + b) + (c + d)) + (e + f));
  CHECK(summed({a, b, c, d, e, f, g}).front() == ((a + b) + (c + d)) + ((e + f) + g));
  CHECK((a + b) + (c + d) != ((a + b) + c) + d);  // the values do tell trees apart
}

TEST_CASE("every buffer gets the sum, and any partition into ranges the same bits") {
  for (int members = 1; members <= 9; ++members) {
    CAPTURE(members);
    const std::int64_t elements = 1000;
    std::vector<std::vector<float>> whole;
    for (int q = 0; q < members; ++q) {
      whole.emplace_back(elements);
      for (std::size_t i = 0; i < whole.back().size(); ++i)
        whole.back()[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(q) * 104729) % 1013) * (q % 2 == 0 ? 1.1e-3F : -7.3F);
    }
    auto parts = whole;
    const auto pointers = [](std::vector<std::vector<float>>& all) {
      std::vector<float*> buffers;
      for (auto& one : all) buffers.push_back(one.data());
      return buffers;
    };
    tree_sum_to_all(pointers(whole).data(), members, 0, elements);
    const std::int64_t cuts[] = {0, 1, 18, 300, 777, 777, elements};
    for (int i = 0; i + 1 < 7; ++i) tree_sum_to_all(pointers(parts).data(), members, cuts[i], cuts[i + 1]);
    for (int q = 0; q < members; ++q) {
      CHECK(whole[static_cast<std::size_t>(q)] == whole[0]);
      CHECK(parts[static_cast<std::size_t>(q)] == whole[0]);
    }
  }
}

TEST_CASE("a sum in one place has the bits of the sum in all, in place of any buffer as well") {
  for (int members = 1; members <= 9; ++members)
    for (int place = -1; place < members; ++place) {
      std::vector<std::vector<float>> values;
      for (int q = 0; q < members; ++q)
        for (auto& one = values.emplace_back(600); float& value : one)
          value = static_cast<float>((&value - one.data()) * 7919 % 1013) * (q % 2 == 0 ? 1.1e-3F : -7.3F) + static_cast<float>(q);
      auto all = values;
      std::vector<float*> buffers;
      std::vector<const float*> sources;
      for (auto& one : all) buffers.push_back(one.data());
      for (auto& one : values) sources.push_back(one.data());
      std::vector<float> elsewhere(555);
      float* const target = place < 0 ? elsewhere.data() : values[static_cast<std::size_t>(place)].data() + 20;
      tree_sum_to_all(buffers.data(), members, 0, 600);
      tree_sum_to_one(sources.data(), members, 20, 575, target);
      CHECK(std::equal(target, target + 555, all[0].begin() + 20));
    }
}

TEST_CASE("nothing outside the range is touched") {
  std::vector<float> a(40, 1.0F), b(40, 2.0F), c(40, 3.0F);
  float* buffers[] = {a.data(), b.data(), c.data()};
  tree_sum_to_all(buffers, 3, 5, 30);
  CHECK(std::count(a.begin(), a.end(), 6.0F) == 25);
  CHECK((a[4] == 1.0F && b[4] == 2.0F && c[30] == 3.0F && c[5] == 6.0F && b[29] == 6.0F));
}

TEST_CASE("a transport may be told how to add: the sums run along the same tree") {
  const AddElements noted = [](float* target, const float* a, const float* b, std::int64_t elements) {
    for (std::int64_t i = 0; i < elements; ++i) target[i] = 2 * a[i] + b[i];  // no sum: it shows the tree
  };
  for (int members = 2; members <= 5; ++members) {
    std::vector<std::vector<float>> values;
    std::vector<float*> buffers;
    for (int q = 0; q < members; ++q) values.push_back({static_cast<float>(q + 1), 0, static_cast<float>(100 * q)});
    for (auto& of : values) buffers.push_back(of.data());
    float one[3] = {};
    tree_sum_to_one(buffers.data(), members, 0, 3, one, noted);
    tree_sum_to_all(buffers.data(), members, 0, 3, noted);
    for (int q = 0; q < members; ++q) CHECK(values[static_cast<std::size_t>(q)][0] == one[0]);
    if (members == 2) CHECK(one[0] == 2 * 1 + 2);
    if (members == 3) CHECK(one[0] == 2 * (2 * 1 + 2) + 3);
  }
}
