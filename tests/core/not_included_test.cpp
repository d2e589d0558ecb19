// SPDX-License-Identifier: MIT
#include "heddle/core/not_included.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

TEST_CASE("a backend is known by name before its header is read, and the header by the backend") {
  static_assert(!RunsPlans<CpuThreads> && !RunsPlans<CpuMpi>);
  CHECK(header_of_backend<CpuThreads> == "heddle/backend/cpu_threads.hpp");
  CHECK(header_of_backend<CpuMpi> == "heddle/backend/cpu_mpi.hpp");
  CHECK(header_of_backend<Adam>.empty());
}

TEST_CASE("a header that is not read is not taken for one that is") {
  static_assert(!is_included<SyntheticHeader, int> && !is_included<ExamplesHeader>);
  CHECK_FALSE(is_included<SyntheticHeader>);
}

TEST_CASE("a backend inside a plan is told where it belongs") {
  struct Net : Sequential<Linear<20, 32>> {};
  CHECK(check<Plan<Net, CrossEntropy, Adam, Batch<64>, Single, CpuMpi>>().text.view() ==
        "[heddle.L03] CpuMpi is no part of a Plan by itself. Fix: write it inside Trainer<MyPlan, CpuThreads>, as its backend.");
}
