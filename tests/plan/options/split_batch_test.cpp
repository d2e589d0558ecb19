// SPDX-License-Identifier: MIT
#include "heddle/plan/options/split_batch.hpp"

#include <doctest/doctest.h>

#include "heddle/plan/options/batch.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::plan_room;

namespace {

Layout of_three() {
  Layout layout{Graph{}};
  layout.claim(Axis::data, 3);
  layout.splits_batch(Axis::data);
  const int shares[] = {3, 1, 2};
  layout.splits_unevenly(shares, 3);
  return layout;
}
BatchDivision divided(const Layout& layout) { return divide_batch(layout, BatchRequest{60}); }

}  // namespace

TEST_CASE("a layout that nobody has checked is refused before a batch is divided by it") {
  REQUIRE(divided(of_three()).fault.sentence().view() == "");
  const auto refused = [](auto change, Code code) {
    Layout layout = of_three();
    change(layout);
    const BatchDivision d = divided(layout);
    CHECK(d.fault.code == code);
    CHECK(d.fault.words.view().find(". Fix: ") != std::string_view::npos);
    CHECK(d.fault.sentence().view() == check_divided_by(layout).sentence().view());
    CHECK(d.total_micro_batches() == 1);
    CHECK(d.capacity() == 1);
  };
  refused([](Layout& l) { l.micro_batches = 0; }, Code{'S', 2});
  refused([](Layout& l) { l.micro_batches = -4; }, Code{'S', 2});
  refused([](Layout& l) { l.share_count = 5000; }, Code{'M', 7});
  refused([](Layout& l) { l.share_count = -1; }, Code{'M', 7});
  refused([](Layout& l) { l.share_count = 2; }, Code{'M', 7});
  refused([](Layout& l) { l.shares[1] = 0; }, Code{'M', 7});
  refused([](Layout& l) { l.mesh.sizes[0] = 1; }, Code{'M', 7});
  refused([](Layout& l) { l.splits_batch(Axis::tensor); }, Code{'M', 15});
  for (const int size : {0, -3}) {
    Layout layout = of_three();
    layout.mesh.sizes[0] = size;
    CHECK_FALSE(divided(layout).fault.ok());
  }
  for (const int count : {50, -1}) {
    Layout layout = of_three();
    layout.mesh.count = count;
    CHECK_FALSE(divided(layout).fault.ok());
  }
}
