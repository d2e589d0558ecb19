// SPDX-License-Identifier: MIT
#include "heddle/backend/spmd_threads.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cfenv>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "backend/spmd.hpp"

using namespace heddle;

namespace {

struct ThreadWorld {
  template <class Job> static std::string run_to_the_end(const Mesh& mesh, Job job, std::chrono::nanoseconds deadline = std::chrono::minutes{1}) {
    std::vector<std::string> found(static_cast<std::size_t>(mesh.ranks()), "has not come to its end");
    try {
      spmd(
          mesh, [&](auto& comm) { job(comm, found[static_cast<std::size_t>(comm.rank().value)]); }, deadline);
    } catch (const std::exception&) {  // job has found what it is
    }
    for (const std::string& words : found)
      if (!words.empty()) return words;
    return "";
  }
  template <class Job> static std::string run(const Mesh& mesh, Job job) {
    return run_to_the_end(mesh, [&](auto& comm, std::string& found) { found = job(comm); });
  }
  template <class ThePlan, class Job> static std::string run_on(Job job) {
    std::vector<std::string> found(static_cast<std::size_t>(devices<ThePlan>), "has not come to its end");
    spmd<ThePlan>([&](auto& comm) { found[static_cast<std::size_t>(comm.rank().value)] = job(comm); });
    for (const std::string& words : found)
      if (!words.empty()) return words;
    return "";
  }
};

/// Its copies look at one array, which its type does not tell.
class Shared {
 public:
  [[nodiscard]] float* data() { return numbers_->data(); }
  [[nodiscard]] std::size_t size() const { return numbers_->size(); }

 private:
  std::shared_ptr<std::vector<float>> numbers_ = std::make_shared<std::vector<float>>(3, 1.0F);
};

}  // namespace

TEST_CASE("a value whose copies share its memory is refused before it is reduced") {
  const auto reduce = [](auto& comm) {
    const Distributed<Shared, Partial<axis::data>> x{Shared{}};
    static_cast<void>(all_reduce<axis::data>(comm, x));
  };
  CHECK_THROWS_WITH(spmd(Mesh{{axis::data}, {2}, 1}, reduce),
                    "[heddle.P22] a copy of a distributed Shared has the same memory as the value: a collective would change both. Fix: hold the "
                    "numbers in a type whose copies have memory of their own, as std::vector<float>.");
}

TEST_CASE("typed collectives between threads do what their types say") { conformance::every_collective<ThreadWorld>(); }

TEST_CASE("a thread that throws in any collective is named by those who share it") {
  conformance::a_rank_that_throws_ends_the_waits_of_the_others<ThreadWorld>();
}

TEST_CASE("a thread that leaves early is named after the deadline") {
  conformance::a_rank_that_leaves_early_is_named_after_the_deadline<ThreadWorld>();
}

TEST_CASE("the caller is thrown what the lowest rank threw") {
  CHECK_THROWS_WITH(spmd(conformance::two_by_three,
                         [](auto& comm) {
                           if (comm.rank().value == 0) throw std::runtime_error("nothing to do");
                           static_cast<void>(all_reduce<axis::data>(comm, Distributed<float, Partial<axis::data>>{1.0F}));
                         }),
                    "nothing to do");
}

TEST_CASE("a deadline of 0 or below is refused before any rank begins") {
  int begun = 0;
  for (const int length : {0, -1})
    CHECK_THROWS_WITH_AS(spmd(
                             conformance::two_by_three, [&](ThreadCommunicator&) { ++begun; }, std::chrono::seconds{length}),
                         doctest::Contains("[heddle.R13] the deadline is"), Error);
  CHECK(begun == 0);
}

TEST_CASE("a mesh that is none is refused before any rank begins") {
  const auto nothing = [](auto&) { FAIL("a rank has begun"); };
  CHECK_THROWS_WITH(spmd(Mesh{{axis::data}, {0}, 1}, nothing), "[heddle.M02] axis data has size 0. Fix: use a size of at least 1.");
  CHECK_THROWS_WITH(spmd(Mesh{{axis::data, axis::data}, {2, 2}, 2}, nothing),
                    "[heddle.M01] axis data is named twice in a mesh, with sizes 2 and 2. Fix: name it once.");
  CHECK_THROWS_AS(spmd(Mesh{{axis::data, axis::stage}, {65536, 65536}, 2}, nothing), Error);
}

TEST_CASE("every rank of an SPMD function rounds as its caller does") {
  for (const int rounding : {FE_DOWNWARD, FE_TONEAREST}) {
    std::fesetround(rounding);
    int seen[6]{};
    spmd(conformance::two_by_three, [&](ThreadCommunicator& comm) { seen[comm.rank().value] = std::fegetround(); });
    std::fesetround(FE_TONEAREST);
    CHECK(std::count(std::begin(seen), std::end(seen), rounding) == 6);
  }
}
