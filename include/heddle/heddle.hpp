// SPDX-License-Identifier: MIT
// Room: the front door. Everything that is only types: models, policies, plans and what they cost; no Eigen, no threads, no MPI, no CUDA.
// Sees: core, graph, mesh, policy, plan.  Does not see: run, compute, transport.
// In: -.  Out: the vocabulary of a plan. Add one backend pairing to run it: heddle/backend/cpu_threads.hpp.
#pragma once

#include "heddle/core/fire.hpp"  // first: the fewer includes lead to a rule, the fewer lines has its error
#include "heddle/core/units.hpp"
#include "heddle/core/version.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/gelu.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/layers/sigmoid.hpp"
#include "heddle/graph/layers/tanh.hpp"
#include "heddle/graph/layers/unflatten.hpp"
#include "heddle/graph/losses/cross_entropy.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/optimizers/adam.hpp"
#include "heddle/graph/optimizers/sgd.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/mesh/norm.hpp"
#include "heddle/mesh/statistics.hpp"
#include "heddle/plan/advice.hpp"
#include "heddle/plan/inference.hpp"
#include "heddle/plan/options.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/plan/plan_set.hpp"
#include "heddle/policy/data_parallel.hpp"
#include "heddle/policy/hybrid.hpp"
#include "heddle/policy/pipeline.hpp"
#include "heddle/policy/schedule/gpipe.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/single.hpp"
