// SPDX-License-Identifier: MIT
// Any bytes for every reader, by libFuzzer: the argument --reader=NAME says which. A reader gives what can be written and read again, or one
// sentence.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <heddle/io/gzip.hpp>
#include <heddle/io/json_header.hpp>
#include <heddle/io/safetensors.hpp>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace heddle;
using namespace heddle::io_room;
using namespace heddle::seams_room;
using Data = std::span<const std::byte>;

namespace {

/// Ends the process with a report of libFuzzer: nothing may be hidden by a catch.
void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// Calls `act`; what it refuses is one printable sentence of room io with a remedy. Gives the number of its code, 0 if nothing was thrown.
template <class Act> int refused(Act act) {
  try {
    act();
  } catch (const Error& error) {
    const std::string_view words = error.what();
    must(error.code().letter == 'D', "the code is one of data");
    must(words.find(". Fix: ") != std::string_view::npos && words.ends_with('.'), "the sentence has a remedy");
    must(words == printable(words) && words.size() < 4096, "the sentence can be printed");
    return error.code().number;
  }
  return 0;
}

std::string text_of(Data bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

void read_idx(Data bytes) {
  refused([&] {
    const IdxArray array = parse_idx(bytes, "file");
    must(array.elements() * bytes_of(array.type) == std::ssize(array.data), "elements and bytes agree");
    std::uint64_t product = 1;  // a size of 0 may stand behind sizes whose product overflows
    for (const std::int64_t size : array.sizes) product *= static_cast<std::uint64_t>(size);
    must(static_cast<std::uint64_t>(array.elements()) == product, "elements are the product of the sizes");
    if (array.elements() > 0) static_cast<void>(array.number(0) + array.number(array.elements() - 1));
  });
  // The first byte says where images end and labels begin.
  if (bytes.empty()) return;
  const std::size_t cut = std::min<std::size_t>(std::to_integer<std::size_t>(bytes[0]) + 1, bytes.size());
  refused([&] {
    const IdxDataset data{bytes.subspan(1, cut - 1), bytes.subspan(cut)};
    must(data.size() > 0 && std::ssize(data.images()) == data.size() * data.features(), "rows are whole");
    for (const float pixel : data.images()) must(pixel >= 0 && pixel <= 1, "pixels are in [0, 1]");
  });
}

/// All that the packed bytes hold, up to a limit, read in pieces of one size; the code of the refusal, or -1 at the limit.
std::pair<std::string, int> unpacked(Data packed, std::size_t piece) {
  constexpr std::size_t most = std::size_t{1} << 17;
  std::string all;
  std::vector<std::byte> part(piece);
  const int code = refused([&] {
    Unpacked<BytesInMemory> source{BytesInMemory{packed, "file"}};
    std::size_t got = 0;
    do {
      got = source.read(part);
      must(got <= piece, "no more is read than was asked for");
      all += text_of(Data{part}.first(got));
      must(all.size() <= source.most(), "no more is read than can be packed");
    } while (got == piece && all.size() < most);
  });
  return {all, all.size() < most ? code : -1};
}

void read_gzip(Data bytes) {
  if (bytes.empty()) return;
  const std::size_t piece = std::to_integer<std::size_t>(bytes[0]) + 1;
  const auto once = unpacked(bytes.subspan(1), piece);
  const auto again = unpacked(bytes.subspan(1), 5000);
  const std::size_t both = std::min(once.first.size(), again.first.size());
  must(once.first.substr(0, both) == again.first.substr(0, both), "pieces of all sizes give the same bytes");
  if (once.second < 0 || again.second < 0) return;
  must(once.second == again.second, "pieces of all sizes end alike");
  if (once.second == 0) must(once.first == again.first, "pieces of all sizes give as many bytes");
}

void read_header(Data bytes) {
  const std::string json = text_of(bytes);
  refused([&] {
    const JsonHeader header = JsonHeaderReader{json, "file"}.read();
    const std::string written = write_json_header(header);
    std::optional<JsonHeader> again;
    must(refused([&] { again = JsonHeaderReader{written, "file"}.read(); }) == 0, "a header that is written can be read");
    must(again && again->metadata == header.metadata && write_json_header(*again) == written, "a header is the same when it is read again");
  });
}

void round_trip(const TensorFile& file) {
  std::string bytes;
  const int code = refused([&] { bytes = file.serialise(); });
  must(code == 0 || code == 15 || code == 17 || code == 21, "what cannot be written is refused for its names or its size");
  if (code != 0) return;
  std::optional<TensorFile> again;
  must(refused([&] { again = TensorFile::parse(std::as_bytes(std::span{bytes}), "file"); }) == 0, "what is written can be read");
  must(again && again->metadata == file.metadata && again->serialise() == bytes, "what is read again is the same to the bit");
}

void read_tensors(Data bytes) {
  std::optional<TensorFile> file;
  if (refused([&] { file = TensorFile::parse(bytes, "file"); }) != 0) return;
  must(refused([&] { static_cast<void>(file->serialise()); }) % 21 == 0, "what is read can be written, unless escapes make it too long");
  round_trip(*file);
}

/// The bytes are a list of calls: names, shapes, elements and metadata of a file of tensors to store.
void store_tensors(Data bytes) {
  TensorFile file;
  const auto byte = [&] {
    if (bytes.empty()) return 0;
    const int first = std::to_integer<int>(bytes[0]);
    bytes = bytes.subspan(1);
    return first;
  };
  const auto text = [&] {
    const Data part = bytes.first(std::min<std::size_t>(static_cast<std::size_t>(byte()), bytes.size()));
    bytes = bytes.subspan(part.size());
    return text_of(part);
  };
  while (!bytes.empty()) {
    const int kind = byte() % 4;
    const std::string name = text();
    if (kind == 3) {
      file.metadata[name] = text();
      continue;
    }
    std::vector<std::int64_t> shape(static_cast<std::size_t>(byte() % 40));
    std::int64_t elements = 1;
    for (std::int64_t& size : shape) {
      const int drawn = byte();
      size = drawn == 255 ? std::numeric_limits<std::int64_t>::max() : drawn == 254 ? -1 : drawn % 4;
      elements = std::min<std::int64_t>(size < 0 ? 0 : elements * std::min<std::int64_t>(size, 100), 1000);
    }
    const auto put = [&]<class T>(T) {
      return refused([&] { file.put<T>(name, shape, std::vector<T>(static_cast<std::size_t>(elements), T(byte()))); });
    };
    const int code = kind == 0 ? put(float{}) : kind == 1 ? put(std::int32_t{}) : put(std::int64_t{});
    must(code == 0 || code == 15 || code == 17 || code == 26, "a tensor is refused for its name or its shape");
  }
  round_trip(file);
}

struct Reader {
  const char* name;
  void (*read)(Data);
};
constexpr Reader readers[] = {{"idx", read_idx}, {"gzip", read_gzip}, {"header", read_header}, {"tensors", read_tensors}, {"store", store_tensors}};
const Reader* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  static constexpr std::string_view option = "--reader=";
  for (int i = 1; i < *count; ++i)
    for (const Reader& reader : readers)
      if ((*arguments)[i] == std::string{option} + reader.name) chosen = &reader;
  if (chosen == nullptr) {
    std::fprintf(stderr, "say --reader=idx, gzip, header, tensors or store\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->read(std::as_bytes(std::span{data, size}));
  return 0;
}
