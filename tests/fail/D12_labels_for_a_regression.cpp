// SPDX-License-Identifier: MIT
// expect: \[heddle\.D12\] The batch has targets of another type than the loss takes\.
// expect-g++: but the rows have class number targets\. Fix: give a datasets::RegressionDataset or Examples<float>, or
#include "heddle/heddle.hpp"
#include "heddle/io/dataset.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Data = datasets::RegressionDataset;
#else
using Data = datasets::Dataset;
#endif

struct Line : Sequential<Linear<8, 1>> {};
using Fitted = Plan<Line, MeanSquaredError, SGD, Batch<64>, Single>;

std::int64_t count(const Data& data) { return data.shuffled(Seed{1}, 0).batches<Fitted>().size(); }
int main() {}
