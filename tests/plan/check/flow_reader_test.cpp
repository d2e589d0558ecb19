// SPDX-License-Identifier: MIT
#include "heddle/plan/check/flow_reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::plan_room;

namespace {

struct Two : Sequential<Linear<4, 6>, Linear<6, 2>> {};
using Trained = Plan<Two, CrossEntropy, SGD, Batch<4>, Single>;

/// A reader with room for some tensors in scratch.
struct ReadingTest {
  std::vector<std::uint64_t> values = std::vector<std::uint64_t>(3), gradients = values, terms = values;
  std::vector<FlowPool> pools = std::vector<FlowPool>(2 + pool_kinds);
  std::vector<FlowTensor> tensors = std::vector<FlowTensor>(8);
  std::vector<FlowLeaf> leaves = std::vector<FlowLeaf>(2);
  std::vector<int> made = std::vector<int>(2);
  FlowReader reader{
      Trained::training, {values.data(), gradients.data(), terms.data()}, {pools.data(), tensors.data(), 4, 1}, leaves.data(), made.data()};
  ReadingTest() {
    reader.names.find(*Trained::training.graph, true);
    reader.tensors.open(0, 1024);
    reader.end_node = 1;
  }
  [[nodiscard]] std::string text() const { return std::string{reader.fault.sentence().view()}; }
};
const Place front{Place::scratch, 0};

}  // namespace

TEST_CASE("what was put somewhere is there, and what is not names the layer, what it wants and what lies there") {
  ReadingTest all;
  CHECK(all.reader.put(0, front, 6, all.reader.names.values[1], lying::whole));
  CHECK(all.reader.holds(1, front, all.reader.names.values[1], lying::whole, " its input"));
  CHECK_FALSE(all.reader.holds(1, front, all.reader.names.values[2], lying::whole, " its input"));
  CHECK(all.text() ==
        "[heddle.S17] layer 1 '1' Linear<6, 2> reads in the forward of chunk 0 its input, but there lies the output of layer 0, 6 "
        "elements a row, whole on every rank. Fix: make, move and lay every tensor once, before it is read, and write nothing over it.");
}

TEST_CASE("what does not fit, is of another chunk, or is written over is refused") {
  ReadingTest all;
  CHECK_FALSE(all.reader.put(0, front, 1000, all.reader.names.values[1], lying::whole));
  CHECK(all.text().find(" writes in the forward of chunk 0 1000 elements a row to a place that is too small, or not of its device.") !=
        std::string::npos);
  CHECK(all.reader.of_chunk(0));
  CHECK_FALSE(all.reader.of_chunk(1));
  CHECK(all.text().find(" runs in the forward of chunk 0, which has layers 0 to 0.") != std::string::npos);
  ReadingTest over;
  over.reader.put(0, front, 6, over.reader.names.values[1], lying::whole);
  over.reader.spare(0, front, front, true, "its input");
  CHECK(over.text().empty());
  over.reader.spare(0, front, front, false, "its input");
  CHECK(over.text().find(" writes in the forward of chunk 0 over its input.") != std::string::npos);
}
