// SPDX-License-Identifier: MIT
#include "heddle/core/not_included.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "heddle/heddle.hpp"

using namespace heddle;

// A program's own functions of the names that the front door declares.
template <class> int summary() { return 1; }
template <class, class> int difference() { return 2; }
template <class, class Run> int with_plan(int ranks, Run run) { return run(ranks); }
int run_main(const std::function<int()>& body) { return body(); }
int run_main(int count, const char* const* /*words*/) { return count; }
template <class> int peak_memory(Rank rank) { return rank.value; }
int examples(int first, int last) { return last - first; }

TEST_CASE("a program's own functions of a declared name are taken, whatever it has included") {
  char* words[] = {nullptr};
  CHECK(summary<int>() == 1);
  CHECK(difference<int, long>() == 2);
  CHECK(with_plan<int>(3, [](int ranks) { return ranks; }) == 3);
  CHECK(run_main([] { return 4; }) == 4);
  CHECK(run_main(5, words) == 5);
  CHECK(peak_memory<int>(Rank{6}) == 6);
  CHECK(examples(1, 8) == 7);
}

TEST_CASE("a backend is known by name before its header is read, and the header by the backend") {
  static_assert(!RunsPlans<CpuThreads> && !RunsPlans<CpuMpi>);
  static_assert(!RunsPlans<CudaOneCard> && !RunsPlans<CudaThreads> && !RunsPlans<CudaMpi> && !RunsPlans<CudaFiles>);
  CHECK(header_of_backend<CpuThreads> == "heddle/backend/cpu_threads.hpp");
  CHECK(header_of_backend<CpuMpi> == "heddle/backend/cpu_mpi.hpp");
  CHECK(header_of_backend<CudaOneCard> == "heddle/backend/cuda_one_card.hpp");
  CHECK(header_of_backend<CudaThreads> == "heddle/backend/cuda_threads.hpp");
  CHECK(header_of_backend<CudaMpi> == "heddle/backend/cuda_mpi.hpp");
  CHECK(header_of_backend<CudaFiles> == "heddle/backend/cuda_files.hpp");
  CHECK(header_of_backend<Adam>.empty());
}

TEST_CASE("a header that is not read is not taken for one that is") {
  static_assert(!is_included<SyntheticHeader, int> && !is_included<ExamplesHeader>);
  CHECK_FALSE(is_included<SyntheticHeader>);
}

TEST_CASE("a backend inside a plan is told where it belongs") {
  struct Net : Sequential<Linear<20, 32>> {};
  CHECK(check<Plan<Net, CrossEntropy, Adam, Batch<64>, Single, CpuMpi>>().sentence().view() ==
        "[heddle.L03] CpuMpi is no part of a Plan by itself. Fix: write it inside Trainer<MyPlan, CpuThreads>, as its backend.");
}
