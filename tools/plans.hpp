// SPDX-License-Identifier: MIT
// The model and the four plans that ./heddle train compares and ./heddle doctor looks at.
#pragma once

#include <heddle/heddle.hpp>

inline constexpr int batch_rows = 64;

struct Mnist
    : heddle::Sequential<heddle::Named<"linear1", heddle::Linear<28 * 28, 50>>, heddle::ReLU, heddle::Named<"linear2", heddle::Linear<50, 10>>> {};

// The grain of 16 rows is the same in all of them: so are the sums, and so is every bit of the parameters.
template <class P>
using MnistPlan = heddle::Plan<Mnist, heddle::CrossEntropy, heddle::Adam, heddle::Batch<batch_rows, heddle::KeepLast>, P, heddle::Grain<16>>;
using Alone = MnistPlan<heddle::Single>;
using Replicated = MnistPlan<heddle::DataParallel<2>>;
using Fourfold = MnistPlan<heddle::DataParallel<4>>;
using Staged = MnistPlan<heddle::Pipeline<heddle::Balanced<2>, heddle::OneFOneB, heddle::Microbatches<4>>>;
using Both = MnistPlan<heddle::Hybrid<heddle::Pipeline<heddle::Balanced<2>, heddle::OneFOneB, heddle::Microbatches<2>>, heddle::DataParallel<2>>>;
