// SPDX-License-Identifier: MIT
// expect: \[heddle\.G17\] A vocabulary is too large for token ids\.
// expect-g++: layer 1 `1`: Embedding<16777217, 4> has more than 16,777,216 tokens, but ids are carried as floats, which hold no larger whole numbers
// exactly\. Fix: use a vocabulary of at most 16,777,216\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
inline constexpr std::int64_t vocabulary = 16'777'216;
#else
inline constexpr std::int64_t vocabulary = 16'777'217;
#endif

struct Model : Sequential<Input<8>, Embedding<vocabulary, 4>, Linear<4, 16>> {};
using Trained = Plan<Model, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
