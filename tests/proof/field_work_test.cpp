// SPDX-License-Identifier: MIT
#include "heddle/proof/field_work.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/backend/field_threads.hpp"
#include "heddle/heddle.hpp"
#include "heddle/proof/prove.hpp"

using namespace heddle;

namespace {

struct Net : Sequential<Named<"a", Linear<5, 16>>, ReLU, Named<"b", Linear<16, 4>>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, SGD, Batch<8>, NoDecay<>, LearningRateFactor<"a", 1, 10>, Parts...>;
constexpr ParameterGroup list[] = {{}, {1, 10, true}, {1, 1, false}};
constexpr std::int16_t of[] = {0, 1, 2, 0};

/// What a proof says of a plan whose pieces were changed.
template <class ThePlan, class Change> Proof proof_of(Change change) {
  std::vector<StepPiece> pieces(ThePlan::training.pieces, ThePlan::training.pieces + ThePlan::training.piece_count);
  change(pieces);
  Program wrong = ThePlan::training;
  wrong.pieces = pieces.data();
  wrong.piece_count = static_cast<int>(pieces.size());
  const FieldWork work = field_work<Net, CrossEntropy, SGD>();
  OneDevice<FieldThreads::SessionOfOne> alone{work, {&Of<Single>::training, &Of<Single>::evaluation}, steps_of(ThePlan::training.batch)};
  return prove_programs<FieldThreads::Session>({&wrong, &ThePlan::evaluation}, alone, "changed");
}

}  // namespace

TEST_CASE("each group has constants of its own, though the defaults of SGD decay nothing") {
  const FieldWork work = field_work<Net, CrossEntropy, SGD>();
  CHECK(work.constants_bytes == sizeof(SGD::Constants));
  const auto all = work.constants(1, {list, of, 3});
  const auto* const made = static_cast<const SGD::Constants*>(all.get());
  CHECK(made[0].weight_decay > 0);
  CHECK(made[2].weight_decay == 0);
  CHECK(made[1].learning_rate < made[0].learning_rate);
  CHECK(hash_of_constants(made[0]) != hash_of_constants(made[1]));
  CHECK(hash_of_constants(made[0]) != hash_of_constants(made[2]));
  const auto plain = work.constants(1, {});
  CHECK(static_cast<const SGD::Constants*>(plain.get())->weight_decay == 0);
}

TEST_CASE("a plan with groups is one device with groups, and each piece of another group is seen") {
  using Spread = Of<Hybrid<Sharded<2>, DataParallel<2>>>;
  CHECK(prove<Spread, FieldThreads>());
  CHECK(proof_of<Spread>([](auto&) {}));
  CHECK(Spread::training.piece_count == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    for (std::int16_t g = 0; g < Spread::training.groups.count; ++g) {
      const Proof proof = proof_of<Spread>([=](auto& pieces) { pieces[i].group = g; });
      CHECK(proof.ok() == (g == Spread::training.pieces[i].group));
    }
  }
  CHECK_FALSE(proof_of<Spread>([](auto& pieces) { pieces.pop_back(); }));
}
