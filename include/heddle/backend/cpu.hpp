// SPDX-License-Identifier: MIT
// Room: backend. What every pairing on CPUs has: Eigen kernels and what is made with them.
// Sees: compute/eigen, run.  Does not see: any transport.
// In: a backend.  Out: gradcheck.
#pragma once

#include <string>

#include "heddle/compute/eigen/attention.hpp"
#include "heddle/compute/eigen/batch_norm.hpp"
#include "heddle/compute/eigen/concat.hpp"
#include "heddle/compute/eigen/convolution.hpp"
#include "heddle/compute/eigen/dropout.hpp"
#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/compute/eigen/elementwise.hpp"
#include "heddle/compute/eigen/embedding.hpp"
#include "heddle/compute/eigen/linear.hpp"
#include "heddle/compute/eigen/losses.hpp"
#include "heddle/compute/eigen/norm.hpp"
#include "heddle/compute/eigen/optimizers.hpp"
#include "heddle/compute/eigen/pool.hpp"
#include "heddle/compute/eigen/positions.hpp"
#include "heddle/compute/eigen/rescaling.hpp"
#include "heddle/compute/eigen/reshape.hpp"
#include "heddle/compute/eigen/several_losses.hpp"
#include "heddle/compute/eigen/softmax.hpp"
#include "heddle/compute/eigen/swiglu.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/heddle.hpp"
#include "heddle/run/external_memory.hpp"
#include "heddle/run/gradcheck.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/run_main.hpp"
#include "heddle/run/signature_check.hpp"
#include "heddle/run/trainer.hpp"
#include "heddle/run/verify.hpp"

namespace heddle::backend_room {

/// G05 of what is no single layer, G13 of one without a kernel: what gradcheck cannot try.
template <class L> struct LayerToCheck {
  static constexpr Diagnosis find() {
    if constexpr (Composite<L>)
      return Diagnosis{Code{'G', 5}, ""} << type_name<L>().view()
                                         << " is no layer: it places other layers. Fix: check each of these, as in gradcheck<Linear<4, 4>>().";
    else if constexpr (!diagnose_layer<L>().ok())
      return diagnose_layer<L>();
    else if constexpr (!HasKernel<L, EigenCompute>)
      return refuse_missing_kernel<L, EigenCompute>();
    else
      return {};
  }
  static constexpr Diagnosis found = find();
};

/// G13 of what joins branches without a kernel.
template <class Op> struct JoinToCheck {
  static constexpr Diagnosis found = HasKernel<Op, EigenCompute> ? Diagnosis{} : refuse_missing_kernel<Op, EigenCompute>();
};

/// In a test: gradcheck<Swish>() compares backward with finite differences, tests that rows do not mix, and that the layer may be split as it states.
///
/// Errors  G05 at build of what is no layer, G13 of a layer without a kernel
/// Tested  run/gradcheck_test, run/signature_check_test, fail/G05_gradcheck_of_a_model
template <class L> [[nodiscard]] GradientCheck gradcheck(const Spec& in) {
  heard(static_cast<fired<LayerToCheck<L>>*>(nullptr));
  GradientCheck found;
  if constexpr (LayerToCheck<L>::found.ok()) {
    found = gradcheck_on<L, EigenCompute>(in);
    int signatures = 0;
    if (found.ok()) found.text = check_signatures_on<L, EigenCompute>(in, signatures).text;
  }
  return found;
}
/// The same of what joins branches of these two shapes: gradcheck<Concat>(Spec{Shape{6}}, Spec{Shape{4}}).
template <Joins Op> [[nodiscard]] GradientCheck gradcheck(const Spec& first, const Spec& second) {
  heard(static_cast<fired<JoinToCheck<Op>>*>(nullptr));
  GradientCheck found;
  if constexpr (JoinToCheck<Op>::found.ok()) {
    found = gradcheck_on<Op, EigenCompute>(first, second);
    int signatures = 0;
    if (found.ok()) found.text = check_signatures_of<Op, EigenCompute>(Op::describe(first, second), signatures).text;
  }
  return found;
}
/// The same on the shape that the layer says it takes, or on 6 features.
/// Errors  G24 if the layer does not take them
template <class L> [[nodiscard]] GradientCheck gradcheck() {
  heard(static_cast<fired<LayerToCheck<L>>*>(nullptr));
  if constexpr (LayerToCheck<L>::found.ok()) {
    if (const Diagnosis found = example_input_fits<L>(); !found.ok()) return GradientCheck{std::string{found.sentence().view()}};
    return gradcheck<L>(example_input<L>());
  } else {
    return {};
  }
}

}  // namespace heddle::backend_room

namespace heddle::extending {
using backend_room::gradcheck;
}  // namespace heddle::extending
