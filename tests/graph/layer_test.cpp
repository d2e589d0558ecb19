// SPDX-License-Identifier: MIT
#include "heddle/graph/layer.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/losses/cross_entropy.hpp"
#include "heddle/graph/optimizers/adam.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/policy/single.hpp"

using namespace heddle;

namespace {

struct Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, 5); }
  static float forward(float x) { return x; }
  static float backward(float, float gradient) { return gradient; }
};
struct WithState {
  int calls = 0;
  static constexpr Leaf describe(Spec in) { return elementwise("WithState", in, 1); }
};
struct SaysNothing {};
struct DescribesBytes {
  static constexpr int describe(Spec) { return 4; }
};
struct NoBackward {
  static constexpr Leaf describe(Spec in) { return elementwise("NoBackward", in, 1); }
  static float forward(float x) { return x; }
};
struct NoForward {
  static constexpr Leaf describe(Spec in) { return elementwise("NoForward", in, 1); }
  static float backward(float, float gradient) { return gradient; }
};
struct InDouble {
  static constexpr Leaf describe(Spec in) { return elementwise("InDouble", in, 1); }
  static double forward(double x) { return x; }
  static float backward(float, float gradient) { return gradient; }
};
struct TakesAtRunTime {
  static Spec takes() { return Spec{Shape{8}}; }
  static constexpr Leaf describe(Spec in) { return elementwise("TakesAtRunTime", in, 1); }
};
/// Arithmetic in a Kernel of its own: only a description here.
struct HasAKernel {
  static constexpr Leaf describe(Spec in) { return elementwise("HasAKernel", in, 1); }
};

template <class L> constexpr bool refused(std::string_view what) {
  constexpr Diagnosis found = diagnose_layer<L>();
  return !Layer<L> && found.code == Code{'G', 5} && found.sentence().view().find(what) != std::string_view::npos;
}

}  // namespace

static_assert(Layer<Swish> && Layer<HasAKernel> && Layer<Linear<3, 4>> && Layer<ReLU>);
static_assert(explain_layer<Swish>() && explain_layer<HasAKernel>() && explain_layer<Linear<3, 4>>());

TEST_CASE("composites are layers that place others, leaves are not") {
  static_assert(Composite<Sequential<ReLU>> && Layer<Sequential<ReLU>>);
  static_assert(!Composite<ReLU> && !Composite<SaysNothing>);
  CHECK(diagnose_layer<Sequential<ReLU>>().ok());
}

TEST_CASE("what is missing or wrong in a type is said in one sentence") {
  static_assert(refused<SaysNothing>("SaysNothing is no layer: it has no public static member describe(Spec)."));
  static_assert(refused<Adam>("Adam is no layer: it is an optimizer. Fix: name it in the Plan, beside the model."));
  static_assert(refused<Single>("Single is no layer: it is a policy. Fix: name it in the Plan, beside the model."));
  static_assert(refused<CrossEntropy>("CrossEntropy is no layer: it is a loss. Fix: name it in the Plan, beside the model."));
  static_assert(refused<DescribesBytes>("its describe does not take a Spec and return a Leaf."));
  static_assert(refused<NoBackward>("it has forward but no backward. Fix: add static float backward(float x, float gradient)."));
  static_assert(refused<NoForward>("it has backward but no forward. Fix: add static float forward(float x)."));
  static_assert(refused<InDouble>("forward or backward has another signature."));
  static_assert(refused<TakesAtRunTime>("its takes() cannot be called at build. Fix: declare it static constexpr"));
  CHECK(diagnose_layer<NoBackward>().sentence().view() ==
        "[heddle.G05] NoBackward is no layer: it has forward but no backward. Fix: add static float backward(float x, float gradient).");
}

TEST_CASE("a layer with data members is refused, since an object of it never exists") {
  constexpr Diagnosis found = diagnose_layer<WithState>();
  static_assert(found.code == Code{'G', 5});
  CHECK(found.words.view().find("it has data members") != std::string_view::npos);
}

TEST_CASE("the first type of a model that is no layer is told") {
  LayerCheck check;
  check.layer<Sequential<ReLU, NoBackward, Sequential<SaysNothing>>>(0);
  CHECK(check.fault.words.view().find("NoBackward is no layer") != std::string_view::npos);
  LayerCheck sound;
  sound.layer<Sequential<ReLU, Linear<3, 4>>>(0);
  CHECK(sound.fault.ok());
}
