// SPDX-License-Identifier: MIT
// Each operation is done on all elements of its result before the next one begins.
#include "operations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cuda_emulator {
namespace {

/// An element of a result, and where it lies in an operand: one number serves all, and a head of queries its head of keys.
struct Index {
  std::int64_t at[4];

  [[nodiscard]] std::int64_t within(const OperationTensor& t, const OperationTensor& result) const {
    std::int64_t offset = 0;
    for (int d = 0; d < 4; ++d) offset += (t.sizes[d] == result.sizes[d] ? at[d] : at[d] * t.sizes[d] / result.sizes[d]) * t.strides[d];
    return offset;
  }
};
template <class Use> void each(const OperationTensor& t, const Use& use) {
  Index i{};
  for (i.at[0] = 0; i.at[0] < t.sizes[0]; ++i.at[0])
    for (i.at[1] = 0; i.at[1] < t.sizes[1]; ++i.at[1])
      for (i.at[2] = 0; i.at[2] < t.sizes[2]; ++i.at[2])
        for (i.at[3] = 0; i.at[3] < t.sizes[3]; ++i.at[3]) use(i);
}
float load(const OperationTensor& t, std::int64_t offset) {
  if (t.by_value) return t.value;
  return t.between ? static_cast<const float*>(t.numbers)[offset] : load_number(t.numbers, t.type, offset);
}
void store(const OperationTensor& t, std::int64_t offset, float x) {
  if (!t.between) return store_number(t.numbers, t.type, offset, x);
  static_cast<float*>(t.numbers)[offset] = t.type == CUDA_R_16BF ? __bfloat162float(__float2bfloat16(x)) : x;
}

void multiply(const OperationTensor& a, const OperationTensor& b, const OperationTensor& c) {
  each(c, [&](const Index& i) {
    const std::int64_t row = i.at[0] * a.strides[0] + i.at[1] * a.sizes[1] / c.sizes[1] * a.strides[1] + i.at[2] * a.strides[2];
    const std::int64_t column = i.at[0] * b.strides[0] + i.at[1] * b.sizes[1] / c.sizes[1] * b.strides[1] + i.at[3] * b.strides[3];
    float sum = 0;
    for (std::int64_t k = 0; k < a.sizes[3]; ++k) sum += load(a, row + k * a.strides[3]) * load(b, column + k * b.strides[2]);
    store(c, i.within(c, c), sum);
  });
}
void reduce(const OperationTensor& x, const OperationTensor& y, bool most) {
  each(y, [&](const Index& i) {
    std::int64_t share[4];
    for (int d = 0; d < 4; ++d) share[d] = x.sizes[d] / y.sizes[d];
    float made = most ? -std::numeric_limits<float>::infinity() : 0;
    for (std::int64_t part = 0; part < share[0] * share[1] * share[2] * share[3]; ++part) {
      std::int64_t rest = part, offset = 0;
      for (int d = 3; d >= 0; --d) {
        offset += (i.at[d] * share[d] + rest % share[d]) * x.strides[d];
        rest /= share[d];
      }
      made = most ? std::max(made, load(x, offset)) : made + load(x, offset);
    }
    store(y, i.within(y, y), made);
  });
}
float pointwise(const Operation& o, const Index& i, float x, float other, bool selected) {
  switch (o.kind) {
    case Operation::Kind::multiply: return x * other;
    case Operation::Kind::subtract: return x - other;
    case Operation::Kind::add: return x + other;
    case Operation::Kind::divide: return x / other;
    case Operation::Kind::exponential: return std::exp(x);
    case Operation::Kind::logarithm: return std::log(x);
    case Operation::Kind::index: return static_cast<float>(i.at[o.axis]);
    case Operation::Kind::not_below: return x >= other ? 1.0F : 0.0F;
    default: return selected ? x : other;
  }
}

}  // namespace

void touch_operations(const Operations& of) {
  for (std::size_t i = 0; i < of.workspace_bytes / sizeof(float); ++i) static_cast<float*>(of.workspace)[i] = std::numeric_limits<float>::quiet_NaN();
  const auto tensor = [&](int number) -> const OperationTensor& { return of.tensors[static_cast<std::size_t>(number)]; };
  for (const Operation& o : of.all) {
    const OperationTensor &x = tensor(o.x), &y = tensor(o.y);
    if (o.kind == Operation::Kind::product)
      multiply(x, tensor(o.other), y);
    else if (o.kind == Operation::Kind::sum || o.kind == Operation::Kind::most)
      reduce(x, y, o.kind == Operation::Kind::most);
    else if (o.kind == Operation::Kind::reshape)  // the same memory with other strides
      each(y, [&](const Index& i) { store(y, i.within(y, y), load(x, i.within(y, y))); });
    else
      each(y, [&](const Index& i) {
        const float other = o.other < 0 ? 0 : load(tensor(o.other), i.within(tensor(o.other), y));
        const bool selected = o.selects >= 0 && load(tensor(o.selects), i.within(tensor(o.selects), y)) != 0;
        store(y, i.within(y, y), pointwise(o, i, o.kind == Operation::Kind::index ? 0 : load(x, i.within(x, y)), other, selected));
      });
  }
}

}  // namespace cuda_emulator
