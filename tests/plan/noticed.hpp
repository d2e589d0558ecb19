// SPDX-License-Identifier: MIT
// Room: tests. Each plan and each Inference that a program checks is noted, without a word of the program; lowered_again.hpp makes each once more.
// Sees: nothing.  Does not see: processes, kernels.
// This header is read before others and includes none of Heddle: an include that a program lacks is found as ever.
#pragma once

// Which programs note their plans: tests (tests/rooms.hpp), and examples, tools and programs of tests/consume (cmake adds -include).
// Each noted plan is lowered again by plan_room::lower while the program runs. Its Programs must be equal in every field to those of the compiler;
// a plan that the compiler refuses must be refused again in the same words. These commands count the plans of all tests:
//
//   rm -f build/plans.txt
//   HEDDLE_PLANS_FILE="$PWD/build/plans.txt" ctest --preset gcc
//   python3 tests/lowered_again.py build/plans.txt
//
// The whole suite on g++ has about 1,950 plans and 78 inferences with the same Programs both ways, 67 plans that are refused both ways in the same
// words, and 32 that are refused in what only a type can ask.
//
// What is not compared:
// - A case of tests/fail has no Program, since it must not compile.
// - Code in the documents, consume.strict_warnings and consume.names_of_a_user are compiled and never run.
// - A program that links heddle::compiled notes no plan, since its rooms have other names. Programs beside it check the same plans, but for one
//   that the linked library is to refuse.
// - Tests of equivalence lower most of their plans themselves (equivalence/plan_as_data.hpp): no compiler has made those.
// - Tests of room plan lower most of their plans only at run time (plan/at_run_time.hpp, tests/plan/read/work_test.cpp and
//   tests/plan/lower/fitted_cut_test.cpp), so no compiler has made them.
// - Some mistakes can be made only in a type: parts that are missing or stand twice, units, remedies, a loss that does not take the output, and
//   names of what Recompute runs again or of groups of parameters. S07 is asked only of types, since it limits what a compiler evaluates.
#include <typeinfo>

namespace heddle::core_room {
struct Diagnosis;
}
namespace heddle::plan_room {
struct LoweringRequest;
struct Program;
template <class... Types> struct Plan;
template <class... Types> struct Inference;
template <class ThePlan> struct RequestOf;
template <class ThePlan> struct Noticing;
template <class ThePlan> struct CheckedParts;
template <class ThePlan> struct Verdict;
template <class Request> struct LoweredPrograms;
template <class TheInference> struct ForwardProgram;
template <class ThePlan> constexpr LoweringRequest request_of();
}  // namespace heddle::plan_room

namespace heddle::tests {

/// A plan or an Inference that a program checks, beside what the compiler made of it: a node of the list of all of them.
///
/// Of Plan<..., DataParallel<3>, Batch<16>> found is B01, there is a request, and there are no Programs.
struct NoticedPlan {
  const char* name;                         // mangled
  plan_room::LoweringRequest (*request)();  // none if only a type can ask so
  const core_room::Diagnosis* found;        // by check<P>()
  const plan_room::Program* training;       // none if the plan is refused before it is lowered; of an Inference its one Program
  const plan_room::Program* evaluation;
  const NoticedPlan* next;
};
inline const NoticedPlan* first_noticed = nullptr;

/// What is wrong with such a plan is said of its types: of parts, units and remedies, the loss, names of what runs again or of groups of parameters.
/// S07 limits compilers.
template <class ThePlan> constexpr bool only_types_ask() {
  using Request = plan_room::RequestOf<ThePlan>;
  if constexpr (!Request::parts.ok() || !Request::named.ok() || Request::allows_nothing) {
    return true;
  } else if constexpr (!Request::graph.fault.ok()) {
    return false;
  } else if constexpr (!Request::Loss::accepts(Request::graph.output()).ok()) {
    return true;
  } else {
    constexpr auto code = plan_room::Verdict<ThePlan>::found.code;
    return !Request::Chosen::value.fault.ok() || !Request::Grouped::value.fault.ok() || (code.letter == 'B' && code.number == 10) ||
           (code.letter == 'S' && code.number == 7);
  }
}

/// The Programs of a plan that is sound before it is lowered.
template <class ThePlan> struct ProgramsOf {
  using Programs = plan_room::LoweredPrograms<plan_room::RequestOf<ThePlan>>;
  static void show(NoticedPlan& plan) { plan.training = &Programs::training, plan.evaluation = &Programs::evaluation; }
};
template <class... Types> struct ProgramsOf<plan_room::Inference<Types...>> {
  static void show(NoticedPlan& plan) { plan.training = plan.evaluation = &plan_room::ForwardProgram<plan_room::Inference<Types...>>::program; }
};

template <class ThePlan> const NoticedPlan* noticed() {
  static NoticedPlan plan{typeid(ThePlan*).name(), nullptr, &plan_room::Verdict<ThePlan>::found, nullptr, nullptr, first_noticed};
  if constexpr (!only_types_ask<ThePlan>()) plan.request = plan_room::request_of<plan_room::RequestOf<ThePlan>>;
  if constexpr (plan_room::CheckedParts<ThePlan>::sound.ok()) ProgramsOf<ThePlan>::show(plan);
  return first_noticed = &plan;
}
template <const NoticedPlan* const*> struct Looked {};

}  // namespace heddle::tests

namespace heddle::plan_room {

template <class... Types> struct Noticing<Plan<Types...>> {
  static inline const tests::NoticedPlan* const noticed = tests::noticed<Plan<Types...>>();
  using Now = tests::Looked<&noticed>;  // to name its address is to initialize it when the program starts
};
template <class... Types> struct Noticing<Inference<Types...>> {
  static inline const tests::NoticedPlan* const noticed = tests::noticed<Inference<Types...>>();
  using Now = tests::Looked<&noticed>;
};

}  // namespace heddle::plan_room
