// SPDX-License-Identifier: MIT
#include "heddle/run/shared_outputs.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <vector>

#include "heddle/graph/layers/embedding.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"
#include "sanitized.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Writer : Sequential<Input<3>, Embedding<48, 8>, Linear<8, 48, NoBias>> {};
template <class Policy> using Of = Plan<Writer, CrossEntropy, SGD, Batch<4, KeepLast>, Policy>;

/// Every rank is another process: what the owner tells is what it made, element by element its own number.
struct Told {
  const std::vector<float>& made;
  std::map<int, std::size_t> elements;  // by owner
  std::size_t next = 0;
  void share(Rank owner, std::span<std::byte> bytes) {
    elements[owner.value] += bytes.size() / sizeof(float);
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(float)) {
      const float number = made[next++];
      std::memcpy(bytes.data() + i, &number, sizeof number);
    }
  }
};

template <class ThePlan> std::map<int, std::size_t> check_shared(std::int64_t rows) {
  const Program& p = ThePlan::evaluation;
  const Shape whole{3, 48};
  const int parts = p.graph->laid_between(p.graph->node_count).sharded() ? p.mesh.size(Axis::tensor) : 1;
  std::vector<float> outputs(static_cast<std::size_t>(rows * whole.elements()), -1);
  std::vector<float> made;  // in the order in which it is told: replica, part, row, position, own class
  for (std::int64_t replica = 0; replica < p.batch.ranks; ++replica)
    for (std::int64_t part = 0; part < parts; ++part)
      for (std::int64_t r = first_row(p.batch, static_cast<int>(replica), 0, 0);
           r < std::min<std::int64_t>(rows, first_row(p.batch, static_cast<int>(replica) + 1, 0, 0)); ++r)
        for (std::int64_t s = 0; s < 3; ++s)
          for (std::int64_t j = 0; j < 48 / parts; ++j) made.push_back(static_cast<float>(r * 144 + s * 48 + part * (48 / parts) + j));
  Told session{made, {}};
  StepInput input;
  input.program = &p;
  input.rows = rows;
  input.outputs = outputs.data();
  share_outputs(session, input, whole, [&](int replica) { return Rank{replica * parts}; });
  CHECK(session.next == made.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) REQUIRE(outputs[i] == static_cast<float>(i));
  return session.elements;
}

}  // namespace

TEST_CASE("whole outputs are told by one rank of each replica, those in parts by every rank that has some") {
  CHECK(check_shared<Of<Single>>(4) == std::map<int, std::size_t>{{0, 4 * 144}});
  CHECK(check_shared<Of<DataParallel<2>>>(3) == std::map<int, std::size_t>{{0, 2 * 144}, {1, 144}});
  CHECK(check_shared<Of<TensorParallel<2>>>(3) == std::map<int, std::size_t>{{0, 3 * 72}, {1, 3 * 72}});
  CHECK(check_shared<Of<Hybrid<TensorParallel<2>, DataParallel<2>>>>(3) == std::map<int, std::size_t>{{0, 144}, {1, 144}, {2, 72}, {3, 72}});
  CHECK(check_shared<Of<Hybrid<TensorParallel<2>, DataParallel<2>>>>(2).size() == 2);  // no row is left for the second replica
}

TEST_CASE("there is room for the outputs of every row, and fewer rows than none are refused") {
  CHECK(room_for_outputs(3, 4).size() == 12);
  CHECK(room_for_outputs(0, 4).empty());
  const auto beyond = [](std::int64_t rows) -> std::string {
    try {
      (void)room_for_outputs(rows, 1024);
    } catch (const Error& error) {
      return error.what();
    }
    return "there is room";
  };
#if defined(HEDDLE_SANITIZED)
  const auto sizes = {62};  // a sanitizer ends the program where memory is asked for that it cannot give
#else
  const auto sizes = {44, 50, 62};
#endif
  for (const int bits : sizes) {
    const std::int64_t rows = std::int64_t{1} << bits;
    CAPTURE(bits);
    CHECK(beyond(rows).find("[heddle.R14] room for the outputs of " + std::to_string(rows) + " rows needs ") == 0);
    CHECK(beyond(rows).find("Fix: evaluate fewer rows at a time, free memory, or raise the limit (ulimit -v).") != std::string::npos);
  }
  CHECK_THROWS_WITH_AS((void)room_for_outputs(-3, 4), "[heddle.B05] a batch of -3 rows was given. Fix: give at least one row.", Error);
}
