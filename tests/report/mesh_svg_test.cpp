// SPDX-License-Identifier: MIT
#include "heddle/report/mesh_svg.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "heddle/heddle.hpp"
#include "report/svg_reader.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Small : Sequential<Named<"first", Linear<64, 64>>, ReLU, Linear<64, 64>, ReLU, Named<"last", Linear<64, 10>>> {};
template <class Policy> using Of = Plan<Small, CrossEntropy, Adam, Batch<64>, Policy>;

int times(const std::string& svg, const std::string& what) {
  int count = 0;
  for (auto at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++count;
  return count;
}
bool shows(const std::string& svg, const std::string& text) { return times(svg, '>' + text + '<') > 0; }

}  // namespace

TEST_CASE("each rank is a box, each stage has its layers, parameters and bytes, each replica its coordinate") {
  using P = Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;
  const std::string svg = mesh_svg<P>();
  CHECK(fault_of_svg(svg) == "");
  CHECK(times(svg, "class=\"card\"") == 8);
  for (int r = 0; r < 8; ++r) CHECK(shows(svg, "rank " + std::to_string(r)));
  for (const char* const words : {"data 0", "data 1", "first: Linear&lt;64, 64&gt;", "last: Linear&lt;64, 10&gt;",
                                  "batch 64 = 2 shares x 4 micro-batches x 8 rows", "Small: 8 devices (tensor 2 x stage 2 x data 2)"})
    CHECK(shows(svg, words));
  std::int64_t parameters_shown = 0;
  for (const Words& words : words_in(svg))
    if (words.text.ends_with(" parameters")) {
      std::string digits = words.text.substr(0, words.text.find(' '));
      std::erase(digits, ',');
      parameters_shown += std::stoll(digits);
    }
  CHECK(parameters_shown == parameters<Small>);
  for (int s = 0; s < 2; ++s) CHECK(shows(svg, grouped_digits(P::training.arenas[s].total) + " bytes on each rank"));
  // Rank 2 is tensor 0 of stage 1 of the first replica.
  CHECK(svg.find("<title>rank 2, stage 1, tensor 0</title>") != std::string::npos);
}

TEST_CASE("the bar of a rank's memory adds up to its bytes") {
  const std::string svg = mesh_svg<Of<Single>>();
  std::int64_t sum = 0;
  for (auto at = svg.find("<title>"); at != std::string::npos; at = svg.find("<title>", at + 1)) {
    const std::string title = svg.substr(at + 7, svg.find('<', at + 7) - at - 7);
    if (!title.ends_with(" bytes")) continue;
    std::string digits = title.substr(title.find(": ") + 2);
    std::erase(digits, ',');
    sum += std::stoll(digits);
  }
  CHECK(sum == peak_memory<Of<Single>>().value);
}

TEST_CASE("a plan without stages, replicas or parts is one box") {
  const std::string svg = mesh_svg<Of<Single>>();
  CHECK(fault_of_svg(svg) == "");
  CHECK(times(svg, "class=\"card\"") == 1);
  CHECK(shows(svg, "layers 0-4"));
}

TEST_CASE("of a large mesh a part is drawn, and the picture says which") {
  const std::string svg = mesh_svg<Of<DataParallel<64>>>();
  CHECK(fault_of_svg(svg) == "");
  CHECK(times(svg, "class=\"card\"") == 8);
  CHECK(shows(svg, "drawn are 8 of 64 replicas"));
  using P = Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;
  const std::string little = mesh_svg<P>({.most_stages = 1, .most_rows = 1, .most_parts = 1, .most_layers = 1});
  CHECK(fault_of_svg(little) == "");
  CHECK(shows(little, "drawn are 1 of 2 stages, 1 of 2 replicas, 1 of 2 ranks of axis tensor"));
  CHECK(times(little, "class=\"card\"") == 1);
}

TEST_CASE("replicas of several axes have all their coordinates") {
  const std::string svg = mesh_svg<Of<Hybrid<Sharded<2>, DataParallel<2>>>>();
  CHECK(fault_of_svg(svg) == "");
  for (const char* const row : {"shard 0, data 0", "shard 1, data 0", "shard 0, data 1", "shard 1, data 1"}) CHECK(shows(svg, row));
}
