// SPDX-License-Identifier: MIT
#include "heddle/run/token_ids.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"
#include "says.hpp"

using namespace heddle;
using heddle::tests::sentence;

namespace {

struct Language : Sequential<Input<3>, Embedding<8, 4>, Linear<4, 8, NoBias>> {};
struct Pixels : Sequential<Linear<3, 8>> {};
template <class Policy> using Of = Plan<Language, CrossEntropy, SGD, Batch<4, KeepLast>, Policy>;

const std::vector<std::int32_t> next{1, 2, 3, 2, 3, 4, 3, 4, 5, 4, 5, 6};

template <class Policy> void check_refused() {
  std::vector<std::int32_t> ids{0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5};
  Trainer<Of<Policy>, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}};
  trainer.step(examples(ids, next, 3, 3));
  const auto before = trainer.parameter_hash();
  ids[7] = 8;
  CHECK(sentence([&] { trainer.step(examples(ids, next, 3, 3)); }) ==
        "[heddle.R09] row 2 of the batch has token id 8 at position 1, but the vocabulary has 8 tokens. Fix: use ids from 0 to 7.");
  ids[7] = 16'777'217;
  CHECK(sentence([&] { (void)trainer.evaluate(examples(ids, next, 3, 3)); }) ==
        "[heddle.R09] row 2 of the batch has token id 16777217 at position 1, but the vocabulary has 8 tokens. Fix: use ids from 0 to 7.");
  ids[7] = -1;
  CHECK(sentence([&] { (void)trainer.predict(ids); }).find("has token id -1 at position 1") != std::string::npos);
  CHECK(trainer.parameter_hash() == before);  // nothing is lost: the trainer goes on
  CHECK(trainer.steps() == 1);
  ids[7] = 7;
  CHECK(trainer.step(examples(ids, next, 3, 3)).rows == 4);
}

}  // namespace

TEST_CASE("a wrong token id is refused before a step, an evaluation and a prediction, and nothing is lost") {
  check_refused<Single>();
  check_refused<Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>>();
}

TEST_CASE("rows are those of the batch in its order") {
  const std::vector<std::int32_t> ids{0, 1, 2, 9, 2, 3};
  const std::vector<std::int32_t> labels(6);
  const std::vector<std::uint32_t> order{0, 0, 1};
  Examples<std::int32_t, std::int32_t> batch = examples(ids, labels, 3, 3);
  batch.rows = 3;
  batch.order = order.data();
  CHECK(sentence([&] { refuse_other_tokens(graph_of<Language>, batch); }).find("row 2 of the batch has token id 9 at position 0") !=
        std::string::npos);
  batch.rows = 2;
  CHECK(sentence([&] { refuse_other_tokens(graph_of<Language>, batch); }) == "nothing was thrown");
}

TEST_CASE("numbers that are no ids are any numbers; rows of another shape are another mistake") {
  const std::vector<float> values{0.5F, -1, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<std::int32_t> labels(1);
  CHECK(sentence([&] { refuse_other_tokens(graph_of<Pixels>, examples(values, labels, 3)); }) == "nothing was thrown");
  const std::vector<std::int32_t> three(3);
  const std::vector<std::int32_t> ids{9, -1, 8};
  CHECK(sentence([&] { refuse_other_tokens(graph_of<Language>, examples(ids, three, 1)); }) == "nothing was thrown");
}
