// SPDX-License-Identifier: MIT
// Bytes as gzip packs them.
#pragma once

#include <doctest/doctest.h>
#include <zlib.h>

#include "io/idx_bytes.hpp"

namespace idx_bytes {

/// One gzip member, as gzip writes it.
inline Bytes packed(const Bytes& bytes, int level = 6) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes out(deflateBound(&stream, static_cast<uLong>(bytes.size())));
  Bytes in = bytes;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace idx_bytes
