// SPDX-License-Identifier: MIT
#include "heddle/mesh/collectives.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "mesh/echo.hpp"

using namespace heddle;
using tests::Echo;

namespace {

/// A communicator that remembers what it refuses, and a value whose copies may look at its own numbers.
struct Refusing : Echo {
  using Echo::Echo;
  std::string said;
  void refuse(const Diagnosis& found) { said = found.sentence().view(); }
};
class Numbers {
 public:
  [[nodiscard]] float* data() { return held_->data(); }
  [[nodiscard]] std::size_t size() const { return held_->size(); }

 private:
  std::shared_ptr<std::vector<float>> held_ = std::make_shared<std::vector<float>>(1, 1.0F);
};

template <class Comm> auto my_loss(Comm& comm, Distributed<float, Partial<axis::data>> local) { return all_reduce<axis::data>(comm, local); }

}  // namespace

TEST_CASE("all_reduce gives a whole value, and only along its axes") {
  Echo comm{axis::data, 3, axis::shard, 2};
  const auto loss = my_loss(comm, Distributed<float, Partial<axis::data>>{2.0F});
  static_assert(std::is_same_v<decltype(loss), const Distributed<float, Replicate>>);
  CHECK(loss.value() == 6.0F);
  const Distributed<float, Partial<axis::data, axis::shard>> both{1.0F};
  static_assert(std::is_same_v<decltype(all_reduce<axis::shard>(comm, both)), Distributed<float, Partial<axis::data>>>);
  CHECK(all_reduce<axis::shard, axis::data>(comm, both).value() == 6.0F);
  CHECK(comm.calls == "all_reduce data 1; all_reduce shard 1; all_reduce data 1; ");
}

TEST_CASE("a copy that has the memory of its value is refused, and one of nothing is not") {
  Refusing comm{axis::data, 2};
  (void)all_reduce<axis::data>(comm, Distributed<std::vector<float>, Partial<axis::data>>{{1, 2}});
  (void)all_reduce<axis::data>(comm, Distributed<std::vector<float>, Partial<axis::data>>{std::vector<float>{}});  // no numbers: both have no memory
  CHECK(comm.said == "");
  (void)all_reduce<axis::data>(comm, Distributed<Numbers, Partial<axis::data>>{Numbers{}});
  CHECK(comm.said.starts_with("[heddle.P22] a copy of a distributed "));
}

TEST_CASE("reduce_scatter and all_gather together are all_reduce") {
  Echo comm{axis::shard, 2};
  const Distributed<std::vector<float>, Partial<axis::shard>> terms{{1, 2, 1, 2}};  // both parts alike, as Echo's neighbours are
  const auto mine = reduce_scatter<axis::shard>(comm, terms);
  static_assert(std::is_same_v<decltype(mine), const Distributed<std::vector<float>, Shard<axis::shard>>>);
  CHECK(mine.part() == std::vector<float>{2, 4});
  const auto joined = all_gather<axis::shard>(comm, mine);
  static_assert(std::is_same_v<decltype(joined), const Distributed<std::vector<float>>>);
  CHECK(joined.value() == all_reduce<axis::shard>(comm, terms).value());
  CHECK(comm.calls == "reduce_scatter shard 4; all_gather shard 4; all_reduce shard 4; ");
}

TEST_CASE("broadcast takes a plain value and makes it one that all ranks have") {
  Echo comm{axis::data, 2, axis::tensor, 2};
  const auto same = broadcast<axis::data, axis::tensor>(comm, 3.0F, 1);
  static_assert(std::is_same_v<decltype(same), const Distributed<float>>);
  CHECK(same.value() == 3.0F);
  CHECK(broadcast<axis::data>(comm, same).value() == 3.0F);
  CHECK(comm.calls == "broadcast from 1 data 1; broadcast from 1 tensor 1; broadcast from 0 data 1; ");
}

TEST_CASE("a barrier meets every rank of each axis that it names, and no other") {
  Echo comm{axis::data, 3, axis::tensor, 2};
  barrier<axis::tensor, axis::data>(comm);
  barrier<axis::data>(comm);
  CHECK(comm.calls == "all_reduce tensor 1; all_reduce data 1; all_reduce data 1; ");
}

TEST_CASE("assume_reduced moves nothing") {
  constexpr auto loss = assume_reduced<axis::data>(Distributed<float, Partial<axis::data>>{4.0F}, "the library that gave it has summed it");
  static_assert(std::is_same_v<decltype(loss), const Distributed<float>> && loss.value() == 4.0F);
  CHECK(loss == 4);
}
