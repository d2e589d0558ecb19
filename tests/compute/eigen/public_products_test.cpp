// SPDX-License-Identifier: MIT
// Eigen 3.4 has the public product as well, so it is tested whatever version is there; tests/consume compiles this against a newer one.
#include "compute/eigen/counted_allocations.hpp"

#include "heddle/compute/eigen/public_products.hpp"

namespace {
using Products = heddle::PublicProducts;
}
#include "compute/eigen/products.hpp"

TEST_CASE("caches of 16 KiB and more change no bit") {
  for (const Case& c : {Case{300, 260, 700}, Case{64, 1000, 2000}, Case{1, 500, 900}, Case{500, 1, 900}}) {
    const Array a(c.m * c.k, 1);
    const Array b(c.k * c.n, 2);
    for (const Form form : forms) {
      const Array expected(c.m * c.n);
      const Array got(c.m * c.n);
      Eigen::setCpuCacheSizes(16 << 10, 256 << 10, 1 << 20);
      multiply(form, c, a.data(), b.data(), expected.data(), Into::overwrite);
      Eigen::setCpuCacheSizes(128 << 10, 4 << 20, 64 << 20);
      multiply(form, c, a.data(), b.data(), got.data(), Into::overwrite);
      CHECK(got.same_bits(expected));
    }
  }
}

TEST_CASE("tiles that Eigen would multiply element by element keep the bits of their extents") {
  for (const Case& c : {Case{1, 1, 17}, Case{6, 5, 8}, Case{8, 8, 3}, Case{9, 9, 2}, Case{7, 1, 11}, Case{8, 8, 8}}) {
    for (const Form form : forms) {
      const Array a(c.m * c.k + 16, 1);
      const Array b(c.k * c.n + 16, 2);
      const Array expected(c.m * c.n);
      multiply(form, c, a.data(), b.data(), expected.data(), Into::overwrite);
      for (int shift = 1; shift <= 16; ++shift) {
        const Array shifted(c.m * c.n + 16);
        multiply(form, c, a.data(), b.data(), shifted.data() + shift, Into::overwrite);
        CHECK(std::memcmp(shifted.data() + shift, expected.data(), static_cast<std::size_t>(c.m * c.n) * 4) == 0);
      }
    }
  }
}
