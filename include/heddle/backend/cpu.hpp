// SPDX-License-Identifier: MIT
// Room: backend. What every pairing on CPUs has: Eigen kernels and what is made with them.
// Sees: compute/eigen, run.  Does not see: any transport.
// In: a backend.  Out: gradcheck.
#pragma once

#include <string>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/compute/eigen/elementwise.hpp"
#include "heddle/compute/eigen/embedding.hpp"
#include "heddle/compute/eigen/linear.hpp"
#include "heddle/compute/eigen/losses.hpp"
#include "heddle/compute/eigen/optimizers.hpp"
#include "heddle/compute/eigen/reshape.hpp"
#include "heddle/heddle.hpp"
#include "heddle/run/external_memory.hpp"
#include "heddle/run/gradcheck.hpp"
#include "heddle/run/signature_check.hpp"
#include "heddle/run/trainer.hpp"
#include "heddle/run/verify.hpp"

namespace heddle::inline backend_room {

/// In a test: gradcheck<Swish>() compares backward with finite differences, tests that rows do not mix, and that the layer may be split as it states.
///
/// Tested  run/gradcheck_test, run/signature_check_test
template <class L> [[nodiscard]] GradientCheck gradcheck(const Spec& in) {
  GradientCheck found = gradcheck_on<L, EigenCompute>(in);
  if (!found.ok()) return found;
  int signatures = 0;
  found.text = check_signatures_on<L, EigenCompute>(in, signatures).text;
  return found;
}
/// The same on the shape that the layer says it takes, or on 6 features.
/// Errors  G24 if the layer does not take them
template <class L> [[nodiscard]] GradientCheck gradcheck() {
  if (const Diagnosis found = example_input_fits<L>(); !found.ok()) return GradientCheck{std::string{found.text.view()}};
  return gradcheck<L>(example_input<L>());
}

}  // namespace heddle::inline backend_room
