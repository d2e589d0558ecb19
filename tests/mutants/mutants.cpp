// SPDX-License-Identifier: MIT
// Counts for every mutant of the dumped plans whether the checks are right: what breaks must be refused, what breaks nothing must not.
// usage: mutants [--share N] [--seed S] [--plan NAME] [--list]
#include <array>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "dump/plans.hpp"
#include "heddle/core/random.hpp"
#include "heddle/plan/check/arenas.hpp"
#include "heddle/plan/check/check.hpp"
#include "heddle/plan/check/facts.hpp"
#include "mutants/machine.hpp"
#include "mutants/mutate.hpp"

namespace {

using namespace heddle;
using tests::Ending;
using tests::Mistake;

/// The loss takes parts of one run, as the terms of it lie: a sum of names could be taken for another name.
struct Letters : Sequential<Input<1>, Embedding<12, 6>, Linear<6, 8>, Tanh, Linear<8, 12>> {};

/// Frozen layers in front, in a unit with trained ones, and behind them.
struct Adapted : Sequential<Frozen<Linear<5, 6>>, Tanh, Linear<6, 6>, OneUnit<Frozen<Linear<6, 6>>, GELU, Linear<6, 6>>, Frozen<Linear<6, 4>>> {};

/// Norms leave statistics for their backward.
struct Normed : Sequential<Input<2, 4>, LayerNorm<4>, Linear<4, 4>, RMSNorm<4>, Tanh, Linear<4, 4>> {};

/// Two values joined, also with themselves, and one of them added.
struct Joined : Sequential<Input<2, 4>, Branches<Concat, Linear<4, 4>, Tanh>, Linear<8, 4>, Branches<ConcatAlong<0>, Linear<4, 4>, Sequential<>>,
                           Branches<Concat, Sequential<>, Sequential<>>, Linear<8, 4>> {};

/// Attention leaves log-sums, reads its output again, and its heads may be split.
struct Attending : Sequential<Input<3, 4>, Linear<4, 12>, SelfAttention<Heads<2>, Causal>, Linear<4, 4>, Tanh, Linear<4, 4>> {};

/// Projections that ranks split alike: joined in sections, the gradient of what they read summed once.
struct Apart : Sequential<Input<2, 4>, RMSNorm<4>, Branches<Concat, Linear<4, 4>, Linear<4, 2>, Linear<4, 2>>,
                          SelfAttention<Heads<4>, KeyValueHeads<2>>, Linear<4, 4>, Tanh, Linear<4, 4>> {};

/// Two inputs of one size, that are read in the same layer and in another stage; and token ids of two.
struct Twice : Sequential<Inputs<Input<4>, Input<4>>, Branches<Add, Linear<4, 6>, Sequential<FromInput<1>, Linear<4, 6>>>, Tanh, Linear<6, 4>> {};
struct Later : Sequential<Inputs<Input<4>, Input<4>>, Linear<4, 6>, Tanh, Linear<6, 4>, Branches<Add, Sequential<>, FromInput<1>>, Linear<4, 4>> {};
struct Spoken : Sequential<Inputs<Input<2>, Input<2>>, Branches<Add, Embedding<12, 4>, Sequential<FromInput<1>, Embedding<12, 4>>>, Linear<4, 4>> {};

struct Options {
  std::uint64_t share = 1;  // of so many mutants one is tried
  std::uint64_t seed = 1;
  std::string plan;
  bool list = false;
};

struct Count {
  int mutants = 0;
  int breaking = 0;  // by any of four
  int by[4]{};       // result, deadlock, misuse, address
  int refused_rightly = 0;
  int false_acceptances = 0;
  int false_refusals = 0;
};

/// "(forward)" of "forward body of chunk 0 entry 3 (forward): operand 0 from ..."
std::string kind_of(const std::string& where) {
  const std::size_t begin = where.find('(');
  return begin == std::string::npos ? where.substr(0, where.find(" from")) : where.substr(begin, where.find(')') - begin + 1);
}

/// All rules, those that know what a Program was made from among them.
struct Rules {
  MadeFrom from;
  const Program& training;
  const Program& evaluation;
  bool trains;

  [[nodiscard]] Diagnosis check_all(const Program& changed) const {
    if (!trains) {
      FlatCheck flat{changed, from};  // an Inference has no training beside it
      if (flat.run(); !flat.fault.ok()) return flat.fault;
      if (const Diagnosis found = check_arenas(changed, 0, false); !found.ok()) return found;
      return check(changed);
    }
    Program other = changed.training ? evaluation : training;  // with the same tables
    other.arenas = changed.arenas;
    other.parameters = changed.parameters;
    other.units = changed.units;
    if (const Diagnosis found = changed.training ? check_noted(changed, other, from) : check_noted(other, changed, from); !found.ok()) return found;
    return check(changed);
  }
};

struct Judge {
  Options options;
  std::array<Count, tests::mistakes> counts{};
  std::map<std::string, int> accepted_wrongly, refused_wrongly;
  int programs = 0, plans = 0;
  std::uint64_t drawn = 0;

  void judge(const std::string& name, tests::Machine& machine, const Rules& rules, const tests::Outcome& wanted, Mistake mistake,
             const std::string& where, const Program& program) {
    const tests::Outcome got = machine.run(program);
    const bool same = got.ending == Ending::fine && got.same_result(wanted);
    const Diagnosis found = rules.check_all(program);
    Count& count = counts[static_cast<std::size_t>(mistake)];
    ++count.mutants;
    if (!same) {
      ++count.breaking;
      ++count.by[static_cast<int>(got.ending)];
    }
    const char* const how[] = {"changes the result", "deadlocks", "misuses the transport", "breaks an address"};
    if (same == found.ok()) {
      if (!same) ++count.refused_rightly;
      return;
    }
    const std::string kind = std::string{tests::name_of(mistake)} + ": " + kind_of(where);
    if (same) {
      ++count.false_refusals;
      ++refused_wrongly[kind + " " + found.code.letter + std::to_string(found.code.number)];
    } else {
      ++count.false_acceptances;
      ++accepted_wrongly[kind + " " + how[static_cast<int>(got.ending)]];
    }
    if (options.list)
      std::cout << name << ": " << tests::name_of(mistake) << ", " << where << ": "
                << (same ? "breaks nothing, but " + std::string{found.sentence().view()}
                         : std::string{how[static_cast<int>(got.ending)]} + ", accepted")
                << '\n';
  }
  void program(const std::string& name, tests::Machine& machine, const Rules& rules, const Program& original) {
    const tests::Outcome wanted = machine.run(original);
    if (wanted.ending != Ending::fine || !rules.check_all(original).ok()) {
      std::cout << name << ": the Program itself ends with " << static_cast<int>(wanted.ending) << "; " << rules.check_all(original).sentence().view()
                << '\n';
      std::exit(1);
    }
    ++programs;
    auto visit = [&](Mistake mistake, auto where, const Program& changed) {
      if (bits64(Seed{options.seed}, 1, drawn++) % options.share != 0) return;
      judge(name, machine, rules, wanted, mistake, where(), changed);
    };
    tests::Mutator{original, visit}.each();
  }
  template <class P> void plan(const char* name) {
    using Request = typename P::Request;
    if (!options.plan.empty() && options.plan != name) return;
    ++plans;
    const tests::MachineFacts facts{Request::target_features, Request::Optimizer::states, !std::is_same_v<typename Request::Loss::Target, float>,
                                    Request::trains};
    for (const Program* mode : {&P::training, &P::evaluation}) {
      if (mode == &P::training && !Request::trains) continue;
      tests::Machine machine{P::training, *mode, Request::graph, facts};
      const Rules rules{made_from(Request{}), P::training, P::evaluation, Request::trains};
      program(std::string{name} + (mode == &P::training ? "" : ", evaluation"), machine, rules, *mode);
    }
  }
  void print() const {
    std::cout << "| mistake | mutants | break | of these refused | false acceptances | false refusals |\n|---|---:|---:|---:|---:|---:|\n";
    Count all;
    for (int k = 0; k <= tests::mistakes; ++k) {
      const Count& c = k < tests::mistakes ? counts[static_cast<std::size_t>(k)] : all;
      std::cout << "| " << (k < tests::mistakes ? tests::name_of(static_cast<Mistake>(k)) : "all") << " | " << c.mutants << " | " << c.breaking
                << " | " << c.refused_rightly << " | " << c.false_acceptances << " | " << c.false_refusals << " |\n";
      all.mutants += c.mutants;
      all.breaking += c.breaking;
      all.refused_rightly += c.refused_rightly;
      all.false_acceptances += c.false_acceptances;
      all.false_refusals += c.false_refusals;
    }
    std::cout << programs << " programs of " << plans << " plans\n";
    for (const auto* kinds : {&accepted_wrongly, &refused_wrongly}) {
      std::cout << (kinds == &accepted_wrongly ? "---- accepted wrongly\n" : "---- refused wrongly\n");
      for (const auto& [kind, count] : *kinds) std::cout << count << ' ' << kind << '\n';
    }
  }
};

}  // namespace

int main(int count, char** arguments) {
  Judge judge;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "--list") judge.options.list = true;
    if (i + 1 == count) continue;
    if (word == "--share") judge.options.share = std::stoull(arguments[++i]);
    if (word == "--seed") judge.options.seed = std::stoull(arguments[++i]);
    if (word == "--plan") judge.options.plan = arguments[++i];
  }
  tests::dumped::each_dumped_plan(judge);
  judge.plan<tests::dumped::Classes<Letters, TensorParallel<2>>>("2 tensor ranks, classes of one token");
  judge.plan<tests::dumped::Classes<Adapted, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>>(
      "frozen layers, slices in stages");
  judge.plan<tests::dumped::Classes<Adapted, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, TensorParallel<2>>>>(
      "frozen layers, halves of a backward, 2 tensor ranks");
  judge.plan<tests::dumped::Classes<Normed, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, TensorParallel<2, SequenceParallel>>>>(
      "norms, halves of a backward, split sequences");
  judge.plan<tests::dumped::Classes<Normed, Single, Recompute<LayerNorm<4>, RMSNorm<4>>>>("norms that run again");
  judge.plan<tests::dumped::Classes<Joined, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, TensorParallel<2, SequenceParallel>>>>(
      "joined values, halves of a backward, split sequences");
  judge.plan<tests::dumped::Classes<Joined, Single, Recompute<Tanh, Concat>>>("joined values that run again");
  judge.plan<tests::dumped::Classes<Attending, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, TensorParallel<2>>>>(
      "split heads, halves of a backward");
  judge.plan<tests::dumped::Classes<Apart, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, TensorParallel<2>>>>(
      "projections apart on 2 tensor ranks x 2 stages, ZB-H1");
  judge.plan<tests::dumped::Classes<Apart, TensorParallel<2, SequenceParallel>>>("projections apart on 2 tensor ranks, sequences in parts");
  judge.plan<tests::dumped::Classes<Attending, Single, Recompute<SelfAttention<Heads<2>, Causal>>>>("attention that runs again");
  judge.plan<tests::dumped::Classes<Twice, DataParallel<2>>>("two inputs, 2 replicas");
  judge.plan<tests::dumped::Classes<Later, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, TensorParallel<2>>>>(
      "an input of the second stage, halves of a backward, 2 tensor ranks");
  judge.plan<tests::dumped::Classes<Spoken, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>("token ids of two inputs, 2 stages");
  judge.print();
  return 0;
}
