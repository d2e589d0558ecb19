// SPDX-License-Identifier: MIT
#include "heddle/io/safetensors.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

using heddle::TensorFile;

namespace {

TensorFile parse(const std::string& bytes) { return TensorFile::parse(std::as_bytes(std::span{bytes}), "file"); }

/// Calls `act` and gives the number of the code that it throws, 0 if it throws nothing.
template <class Act> int code_of(Act act) {
  try {
    act();
  } catch (const heddle::Error& error) {
    CHECK(error.code().letter == 'D');
    CHECK(std::string{error.what()}.find(". Fix: ") != std::string::npos);
    return error.code().number;
  }
  return 0;
}
int refusal(const std::string& bytes) {
  return code_of([&] { (void)parse(bytes); });
}

std::string with_length(std::uint64_t length, const std::string& rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + rest;
}
/// A file of this header and so many bytes of data.
std::string file(const std::string& header, std::size_t data_bytes) { return with_length(header.size(), header + std::string(data_bytes, '\0')); }

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + shape + "],\"data_offsets\":[" + offsets + "]}";
}

/// Types of every kind, a single number, an empty tensor, metadata.
TensorFile sample() {
  TensorFile made;
  made.metadata = {{"format", "pt"}, {"step", "20"}};
  made.put("linear1.weight", {2, 3}, std::vector<float>{0, 1, -2, 0.5f, std::numeric_limits<float>::infinity(), -0.0f});
  made.put("loss", {}, std::vector<float>{2.25f});
  made.put("nothing", {0, 4}, std::vector<float>{});
  made.put("labels", {3}, std::vector<std::int64_t>{7, -1, std::numeric_limits<std::int64_t>::max()});
  made.put("counts", {1, 1, 2}, std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min(), 9});
  return made;
}

/// An own folder that is removed at the end.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("heddle_safetensors_" + std::to_string(std::random_device{}()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("the published example of six floats has a header of 64 bytes and 96 bytes in all") {
  TensorFile made;
  made.put("attn.0", {1, 2, 3}, std::vector<float>{0, 1, 2, 3, 4, 5});
  const std::string bytes = made.serialise();
  REQUIRE(bytes.size() == 96);
  CHECK(bytes.substr(0, 8) == std::string("\x40\0\0\0\0\0\0\0", 8));
  CHECK(bytes.substr(8, 64) == R"({"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}})");
  CHECK(bytes.substr(72, 8) == std::string("\0\0\0\0\0\0\x80\x3f", 8));  // 0.0f, 1.0f
}

TEST_CASE("reading what was written gives it back, to the bit") {
  const TensorFile made = sample();
  const TensorFile again = parse(made.serialise());
  CHECK(again.metadata == made.metadata);
  CHECK(again.tensors().size() == 5);
  CHECK(again.shape("linear1.weight") == std::vector<std::int64_t>{2, 3});
  CHECK(again.shape("loss").empty());
  CHECK(again.get<float>("loss", {})[0] == 2.25f);
  CHECK(again.get<float>("nothing", {0, 4}).empty());
  CHECK(again.get<std::int64_t>("labels", {3})[2] == std::numeric_limits<std::int64_t>::max());
  CHECK(again.get<std::int32_t>("counts", {1, 1, 2})[0] == std::numeric_limits<std::int32_t>::min());
  const auto a = made.get<float>("linear1.weight");
  const auto b = again.get<float>("linear1.weight", {2, 3});
  CHECK(std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
  CHECK(again.serialise() == made.serialise());
}

TEST_CASE("data of eight-byte elements lie at multiples of eight bytes") {
  const std::string bytes = sample().serialise();
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  CHECK(header % 8 == 0);
  CHECK(bytes.find(R"("labels":{"dtype":"I64","shape":[3],"data_offsets":[0,24]})") != std::string::npos);
}

TEST_CASE("not-a-number keeps its bits") {
  const std::uint32_t bits = 0x7fc12345u;
  float value = 0;
  std::memcpy(&value, &bits, 4);
  TensorFile made;
  made.put("x", {1}, std::vector<float>{value});
  const TensorFile again = parse(made.serialise());
  std::uint32_t read = 0;
  std::memcpy(&read, again.get<float>("x").data(), 4);
  CHECK(read == bits);
}

TEST_CASE("a file of no tensors is legal") {
  CHECK(parse(TensorFile{}.serialise()).tensors().empty());
  CHECK(TensorFile{}.serialise().size() == 16);
}

TEST_CASE("the order of the header need not be that of the data") {
  const std::string header = entry("b", "F32", "2", "4,12") + "," + entry("e", "F32", "0", "4,4") + "," + entry("a", "F32", "1", "0,4");
  const TensorFile read = parse(file("{" + header + "}  ", 12));
  CHECK(read.shape("b") == std::vector<std::int64_t>{2});
  CHECK(read.shape("e") == std::vector<std::int64_t>{0});
}

TEST_CASE("a length of the header that cannot be is refused") {
  CHECK(refusal("") == 21);
  CHECK(refusal(std::string(7, '\0')) == 21);
  CHECK(refusal(with_length(3, "{}")) == 21);
  CHECK(refusal(with_length(std::numeric_limits<std::uint64_t>::max(), "{}")) == 21);
  CHECK(refusal(with_length(std::numeric_limits<std::uint64_t>::max() - 7, "{}")) == 21);
  CHECK(refusal(with_length(2, "{}")) == 0);
  CHECK_THROWS_WITH(parse(with_length(heddle::most_header_bytes + 1, "{}")),
                    doctest::Contains("[heddle.D21] file: the header length is 8388609 bytes, above the limit of 8,388,608"));
  CHECK_THROWS_WITH(parse(with_length(heddle::most_header_bytes, "{}")), doctest::Contains("8388608 bytes but 2 follow"));
}

TEST_CASE("a header that is not its JSON is refused") {
  CHECK(refusal(with_length(0, "")) == 22);
  CHECK(refusal(file("\x80\x02not json", 0)) == 22);
  CHECK(refusal(file("{" + entry("a", "F32", "1", "0,4") + "," + entry("a", "F32", "1", "0,4") + "}", 4)) == 23);
  CHECK(refusal(file("{\"a\":{\"dtype\":\"F32\"}}", 4)) == 24);
}

TEST_CASE("an element type that is not read is refused by its name") {
  CHECK(refusal(file("{" + entry("a", "BF16", "2", "0,4") + "}", 4)) == 25);
  CHECK(refusal(file("{" + entry("a", "f32", "1", "0,4") + "}", 4)) == 25);
}

TEST_CASE("a shape that does not fit its bytes is refused") {
  CHECK(refusal(file("{" + entry("a", "F32", "2", "0,4") + "}", 4)) == 26);
  CHECK(refusal(file("{" + entry("a", "I64", "1", "0,4") + "}", 4)) == 26);
  CHECK(refusal(file("{" + entry("a", "F32", "0", "0,4") + "}", 4)) == 26);
}

TEST_CASE("a product of sizes that overflows is refused") {
  CHECK(refusal(file("{" + entry("a", "F32", "4294967296,4294967296", "0,0") + "}", 0)) == 26);  // 2^64 is 0 in 64 bits
  CHECK(refusal(file("{" + entry("a", "F32", "4611686018427387905", "0,4") + "}", 4)) == 26);    // 4 (2^62 + 1) is 4 in 64 bits
  CHECK(refusal(file("{" + entry("a", "F32", "0,18446744073709551615", "0,0") + "}", 0)) == 26);
}

TEST_CASE("tensors that overlap, leave a hole or end before they begin are refused") {
  CHECK(refusal(file("{" + entry("a", "F32", "2", "0,8") + "," + entry("b", "F32", "2", "4,12") + "}", 12)) == 27);
  CHECK(refusal(file("{" + entry("a", "F32", "1", "0,4") + "," + entry("b", "F32", "1", "0,4") + "}", 4)) == 27);
  CHECK(refusal(file("{" + entry("a", "F32", "1", "0,4") + "," + entry("b", "F32", "1", "8,12") + "}", 12)) == 27);
  CHECK(refusal(file("{" + entry("a", "F32", "1", "4,8") + "}", 8)) == 27);
  CHECK(refusal(file("{" + entry("a", "F32", "1", "8,4") + "}", 8)) == 27);
}

TEST_CASE("bytes that are missing or left over are refused") {
  CHECK(refusal(file("{" + entry("a", "F32", "2", "0,8") + "}", 7)) == 28);
  CHECK(refusal(file("{" + entry("a", "F32", "2", "0,8") + "}", 9)) == 28);
  CHECK(refusal(file("{}", 1)) == 28);
  CHECK(refusal(file("{" + entry("a", "F32", "0", "18446744073709551612,18446744073709551612") + "}", 0)) == 27);
}

TEST_CASE("a tensor that is not there, or is another one, is refused") {
  const TensorFile made = sample();
  CHECK(code_of([&] { (void)made.get<float>("linear9.weight"); }) == 29);
  CHECK(code_of([&] { (void)made.shape("linear9.weight"); }) == 29);
  CHECK(code_of([&] { (void)made.get<float>("labels"); }) == 29);
  CHECK(code_of([&] { (void)made.get<float>("linear1.weight", {3, 2}); }) == 29);
  CHECK(code_of([&] { (void)made.get<float>("linear1.weight", {2, 3}); }) == 0);
}

TEST_CASE("a tensor to store must have the elements of its shape and a free name") {
  TensorFile made;
  CHECK(code_of([&] { made.put("x", {2, 2}, std::vector<float>{1, 2, 3}); }) == 26);
  CHECK(code_of([&] { made.put("x", {-1}, std::vector<float>{1}); }) == 26);
  CHECK(code_of([&] { made.put("__metadata__", {1}, std::vector<float>{1}); }) == 15);
  CHECK(code_of([&] { made.put("x", std::vector<std::int64_t>(heddle::most_dimensions + 1, 1), std::vector<float>{1}); }) == 17);
  CHECK(made.tensors().empty());
}

TEST_CASE("a name or text that would not be read again is not stored") {
  TensorFile made;
  const auto put = [&](const std::string& name) { return code_of([&] { made.put(name, {1}, std::vector<float>{1}); }); };
  for (const char* name : {"", "__metadata__", "gewicht\xfc", "a\x80", "\xe2\x82", "\xed\xa0\x80"}) CHECK_MESSAGE(put(name) == 15, name);
  CHECK_THROWS_WITH(made.put("Gr\xf6\xdf\x65", {1}, std::vector<float>{1}),
                    "[heddle.D15] the tensor to store cannot have the name 'Gr??e': it is not UTF-8. Fix: choose another name.");
  CHECK(made.tensors().empty());
  for (const std::string& name : {std::string("a\0b", 3), std::string("a\nb"), std::string("\x7f"), std::string("Gr\xc3\xb6\xc3\x9f\x65")})
    CHECK_MESSAGE(put(name) == 0, name);
  made.metadata["author"] = "Ren\xc3\xa9";
  CHECK(parse(made.serialise()).serialise() == made.serialise());
  const Folder folder;
  for (const auto& [key, value] : {std::pair<std::string, std::string>{"author\xe9", "x"}, {"author", "Ren\xe9"}}) {
    made.metadata = {{key, value}};
    CHECK(code_of([&] { (void)made.serialise(); }) == 15);
    CHECK(code_of([&] { made.write(folder.path / "weights"); }) == 15);
  }
  made.metadata.clear();
  for (std::size_t i = 0; i <= heddle::most_metadata; ++i) made.metadata[std::to_string(i)];
  CHECK_THROWS_WITH((void)made.serialise(),
                    doctest::Contains("[heddle.D17] the metadata to store are 65537 strings, above the limit of 65536. Fix: "));
  made.metadata = {{"long", std::string(heddle::most_header_bytes, 'x')}};
  CHECK(code_of([&] { made.write(folder.path / "weights"); }) == 21);
  CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("every shortened file is refused") {
  const std::string bytes = sample().serialise();
  for (std::size_t kept = 0; kept < bytes.size(); ++kept) CHECK(refusal(bytes.substr(0, kept)) != 0);
}

TEST_CASE("a file with one byte changed is read or refused, and what is read can be written and read again") {
  const std::string bytes = sample().serialise();
  int refused = 0;
  for (std::size_t place = 0; place < bytes.size(); ++place)
    for (int value = 0; value < 256; ++value) {
      std::string damaged = bytes;
      damaged[place] = static_cast<char>(value);
      try {
        const std::string once = parse(damaged).serialise();
        if (parse(once).serialise() != once) FAIL("byte " << place << " as " << value << " is not stable");
      } catch (const heddle::Error&) {
        ++refused;
      }
    }
  CHECK(refused > 1000);
}

TEST_CASE("a file is written whole or not at all") {
  const Folder folder;
  const std::filesystem::path path = folder.path / "weights.safetensors";
  sample().write(path);
  CHECK(TensorFile::read(path).serialise() == sample().serialise());
  TensorFile{}.write(path);
  CHECK(TensorFile::read(path).tensors().empty());
  CHECK(std::distance(std::filesystem::directory_iterator{folder.path}, {}) == 1);
  CHECK(code_of([&] { sample().write(folder.path / "no such folder" / "weights.safetensors"); }) == 20);
  std::filesystem::create_directory(folder.path / "taken");
  CHECK(code_of([&] { sample().write(folder.path / "taken"); }) == 20);
  CHECK(std::distance(std::filesystem::directory_iterator{folder.path}, {}) == 2);
  CHECK(code_of([&] { (void)TensorFile::read(folder.path / "missing.safetensors"); }) == 1);
}

TEST_CASE("the header of a file is judged before its size: a sparse file of a tebibyte is refused by what it says, or for the memory it takes") {
  const Folder folder;
  const std::filesystem::path path = folder.path / "sparse";
  const auto sparse = [&](const std::string& first) {
    std::ofstream{path, std::ios::binary} << first;
    std::error_code refused;
    std::filesystem::resize_file(path, std::uintmax_t{1} << 40, refused);
    return !refused;
  };
  if (!sparse(std::string(8, '\xff'))) {
    MESSAGE("this file system has no sparse files of a tebibyte");
    return;
  }
  CHECK(code_of([&] { (void)TensorFile::read(path); }) == 21);
  sparse(with_length(2, "{}"));
  CHECK(code_of([&] { (void)TensorFile::read(path); }) == 28);
  const std::uint64_t floats = ((std::uint64_t{1} << 40) - 8 - 128) / 4;
  const std::string header = "{" + entry("a", "F32", std::to_string(floats), "0," + std::to_string(4 * floats)) + "}";
  sparse(with_length(128, header + std::string(128 - header.size(), ' ')));
  CHECK(code_of([&] { (void)TensorFile::read(path); }) == 14);
}
