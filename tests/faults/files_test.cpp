// SPDX-License-Identifier: MIT
// Each call of the system fails once, at each place, and each allocation too: the older file is intact, nothing is left over, an Error is thrown.
#include <doctest/doctest.h>
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "faults/failing_calls.hpp"
#include "heddle/io/gzip.hpp"
#include "heddle/io/safetensors.hpp"
#include "io/gzip_bytes.hpp"

using namespace heddle;
using failing::Next;
using idx_bytes::has;
using idx_bytes::packed;
using idx_bytes::text_of;
namespace fs = std::filesystem;

namespace {

TensorFile version(float value) {
  TensorFile made;
  made.metadata["a key that is longer than a small string"] = "a text that is longer than a small string";
  made.put<float>("a name that is longer than a small string", {100, 7}, std::vector<float>(700, value));
  made.put<std::int64_t>("counts", {3}, std::vector<std::int64_t>(3, 9));
  return made;
}

/// What the thrown Error says; empty if nothing was thrown. Anything else that is thrown fails the test.
template <class Act> std::string refusal(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

struct Round {
  int place = 0;
  std::string sentence;
};

/// Lets the first call fail, then the second, and so on until `act` comes through; gives what each said. Nothing may leak.
template <class Act> std::vector<Round> each_fails_once(failing::Call call, int error, Act act) {
  std::vector<Round> rounds;
  for (int place = 1; place < 10'000; ++place) {
    const long files = failing::open_files();
    const long bytes = failing::allocated;
    Round round{place, {}};
    bool came = false;
    {
      std::string said;
      {
        const Next next{call, place, error};
        said = refusal(act);
        came = Next::came();
      }
      round.sentence.assign(said);
    }
    const long kept = static_cast<long>(round.sentence.capacity()) + 64;
    CHECK(failing::open_files() == files);
    CHECK(failing::allocated - bytes <= kept);
    if (!came) {
      CHECK(round.sentence.empty());
      return rounds;
    }
    rounds.push_back(std::move(round));
  }
  FAIL("there is no end of calls");
  return rounds;
}

/// Bytes of memory that `act` has at most at once, beyond what was there before.
template <class Act> long most_memory(Act act) {
  const long before = failing::allocated;
  failing::most_allocated = before;
  act();
  return failing::most_allocated - before;
}

}  // namespace

TEST_CASE("every call of a write fails once: the sentence says why, the older file is intact, no part of the new one stays") {
  using failing::Call;
  const idx_bytes::Folder folder{"faults_write"};
  const fs::path path = folder.path / "weights";
  const TensorFile before = version(1);
  const TensorFile after = version(2);
  struct Case {
    Call call;
    int error;
    const char* why;
    std::size_t at_least;
  };
  for (const Case& each : {Case{Call::open, EACCES, "Permission denied. Fix: get the right to write in its folder", 1},
                           Case{Call::open, EROFS, "Read-only file system. Fix: name a file on a file system that is not read-only", 2},
                           Case{Call::open, EMFILE, "Too many open files. Fix: close files", 2}, Case{Call::status, EIO, "Input/output error", 1},
                           Case{Call::mode, EPERM, "Operation not permitted. Fix: get the right", 1},
                           Case{Call::write, ENOSPC, "No space left on device. Fix: free disk space", 3},
                           Case{Call::write, EDQUOT, "Disk quota exceeded. Fix: free disk space", 3},
                           Case{Call::write, EIO, "Input/output error. Fix: look after the disk", 3},
                           Case{Call::write, EFBIG, "File too large. Fix: raise the limit on the size of files", 3},
                           Case{Call::flush, EIO, "Input/output error", 3}, Case{Call::close, EIO, "Input/output error. Fix: look after the disk", 1},
                           Case{Call::rename, EXDEV, "Invalid cross-device link. Fix: name a file that no other file system is mounted on", 1},
                           Case{Call::rename, EBUSY, "Device or resource busy. Fix: name a file that no other", 1}}) {
    CAPTURE(each.why);
    before.write(path);
    std::size_t refused = 0;
    const auto rounds = each_fails_once(each.call, each.error, [&] { after.write(path); });
    CHECK(text_of(path) == after.serialise());  // the last round came through
    before.write(path);
    for (const Round& round : rounds) {
      refused += round.sentence.empty() ? 0 : 1;  // a folder may be opened in another way, a status missed
      if (!round.sentence.empty())
        CHECK_MESSAGE((has(round.sentence, "[heddle.D20] '" + path.string()) && has(round.sentence, each.why)), round.sentence);
      const Next next{each.call, round.place, each.error};
      static_cast<void>(refusal([&] { after.write(path); }));
      const bool renamed = has(round.sentence, "is written, but its folder is not safe") || round.sentence.empty();
      if (!renamed) CHECK(text_of(path) == before.serialise());
      if (renamed) CHECK(text_of(path) == after.serialise());
      if (renamed) before.write(path);
      CHECK(std::distance(fs::directory_iterator{folder.path}, {}) == 1);
    }
    CHECK(refused >= each.at_least);
  }
}

TEST_CASE("an interrupted call and one that moves few bytes are gone on with") {
  const idx_bytes::Folder folder{"faults_short"};
  const fs::path path = folder.path / "weights";
  const TensorFile made = version(3);
  failing::most_at_once = 5;
  made.write(path);
  const std::string read = TensorFile::read(path).serialise();
  failing::most_at_once = 0;
  CHECK(read == made.serialise());
  for (const failing::Call call : {failing::Call::write, failing::Call::read, failing::Call::close})
    for (const Round& round : each_fails_once(call, EINTR, [&] {
           version(4).write(path);
           CHECK(TensorFile::read(path).serialise() == version(4).serialise());
         }))
      CHECK_MESSAGE(round.sentence.empty(), round.sentence);
}

TEST_CASE("every call of a read fails once: the sentence names the file and says why") {
  using failing::Call;
  const idx_bytes::Folder folder{"faults_read"};
  version(1).write(folder.path / "weights");
  idx_bytes::write(folder.path / "train-images-idx3-ubyte", idx_bytes::three_images());
  idx_bytes::write(folder.path / "train-labels-idx1-ubyte.gz", packed(idx_bytes::three_labels()));
  for (const Call call : {Call::open, Call::read, Call::status}) {
    const auto tensors = each_fails_once(call, EIO, [&] { static_cast<void>(TensorFile::read(folder.path / "weights")); });
    const auto images = each_fails_once(call, EIO, [&] { static_cast<void>(load_idx(folder.path)); });
    CHECK(tensors.size() >= 1);
    CHECK(images.size() >= 2);
    for (const Round& round : tensors)
      CHECK(has(round.sentence, "[heddle.D01] '" + (folder.path / "weights").string() + "' cannot be read: Input/output error"));
    for (const Round& round : images) CHECK(has(round.sentence, "[heddle.D01] '" + (folder.path / "train-").string()));
  }
}

TEST_CASE("every allocation fails once: an Error names the file, nothing leaks, the older file is intact") {
  const idx_bytes::Folder folder{"faults_memory"};
  const fs::path path = folder.path / "weights";
  const TensorFile after = version(2);
  version(1).write(path);
  const std::string before = text_of(path);
  const std::string bytes = after.serialise();
  idx_bytes::write(folder.path / "train-images-idx3-ubyte.gz", packed(idx_bytes::three_images()));
  idx_bytes::write(folder.path / "train-labels-idx1-ubyte", idx_bytes::three_labels());
  const auto refused = [&](const std::vector<Round>& rounds, std::size_t at_least) {
    CHECK(rounds.size() >= at_least);
    for (const Round& round : rounds)
      CHECK_MESSAGE((has(round.sentence, "[heddle.D14] '") && has(round.sentence, "takes more memory than the system gives. Fix: ")), round.sentence);
  };
  refused(each_fails_once(failing::Call::memory, ENOMEM, [&] { after.write(path); }), 10);
  CHECK(text_of(path) == bytes);
  refused(each_fails_once(failing::Call::memory, ENOMEM, [&] { static_cast<void>(TensorFile::read(path)); }), 10);
  refused(each_fails_once(failing::Call::memory, ENOMEM, [&] { static_cast<void>(TensorFile::parse(std::as_bytes(std::span{bytes}), "bytes")); }),
          10);
  refused(each_fails_once(failing::Call::memory, ENOMEM, [&] { static_cast<void>(load_idx(folder.path)); }), 10);
  version(1).write(path);
  for (int place = 1; place < 10; ++place) {
    const Next next{failing::Call::memory, place, ENOMEM};
    CHECK_FALSE(refusal([&] { after.write(path); }).empty());
    failing::in = 0;
    CHECK(text_of(path) == before);
  }
}

TEST_CASE("whatever a header says, reading it takes less than 64 MiB") {
  constexpr long bound = 64L << 20;
  const auto header_file = [](std::string header) {
    const std::uint64_t length = header.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    return bytes + header;
  };
  const auto read = [](const std::string& bytes) {
    return most_memory([&] { static_cast<void>(refusal([&] { static_cast<void>(TensorFile::parse(std::as_bytes(std::span{bytes}), "bytes")); })); });
  };
  const auto filled = [](std::string text, const std::string& end, auto part) {
    text.reserve(most_header_bytes);
    for (std::size_t i = 0;; ++i) {
      const std::string next = part(i);
      if (text.size() + next.size() + end.size() > most_header_bytes) return text + end;
      text += next;
    }
  };
  const auto empty_tensor = [](const std::string& shape) { return R"(":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[0,0]},)"; };
  const std::string last = R"("~":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})";
  // Files that are right, of as many tensors or texts as a header holds, and files that are wrong at their end.
  const std::string tensors = filled("{", last, [&](std::size_t i) { return "\"" + std::to_string(i) + empty_tensor("0"); });
  CHECK(read(header_file(tensors)) < bound);
  CHECK(read(header_file(tensors.substr(0, tensors.size() - 1))) < bound);
  std::string deep = "0";
  for (std::size_t i = 1; i < most_dimensions; ++i) deep += ",1";
  CHECK(read(header_file(filled("{", last, [&](std::size_t i) { return "\"" + std::to_string(i) + empty_tensor(deep); }))) < bound);
  CHECK(read(header_file(filled(R"({"__metadata__":{)", R"("~":""}})", [](std::size_t i) { return "\"" + std::to_string(i) + "\":\"\","; }))) <
        bound);
  CHECK(read(header_file(filled(R"({"a":{"shape":[)", "0]}}", [](std::size_t) { return "1,"; }))) < bound);
  CHECK(read(header_file("{\"" + std::string(most_header_bytes - 10, 'x') + "\":{}}")) < bound);
  CHECK(read(header_file(std::string(95'000'000, ' '))) < bound);
}

TEST_CASE("pixels take the memory of their floats, and a packed file that swells takes no more than a plain one") {
  const idx_bytes::Folder folder{"faults_bound"};
  idx_bytes::Bytes images = idx_bytes::header(8, {2000, 28, 28});
  const long content = 4L * 2000 * 28 * 28;
  images.resize(images.size() + 2000 * 28 * 28);
  idx_bytes::Bytes labels = idx_bytes::header(8, {2000});
  labels.resize(labels.size() + 2000);
  idx_bytes::write(folder.path / "train-images-idx3-ubyte.gz", packed(images));
  idx_bytes::write(folder.path / "train-labels-idx1-ubyte.gz", packed(labels));
  constexpr long little = 1L << 20;
  CHECK(most_memory([&] { CHECK(load_idx(folder.path).size() == 2000); }) < content + little);
  images.resize(images.size() + (32U << 20));
  idx_bytes::write(folder.path / "train-images-idx3-ubyte.gz", packed(images));
  CHECK(most_memory([&] { CHECK(has(refusal([&] { static_cast<void>(load_idx(folder.path)); }), "[heddle.D05]")); }) < content + little);
}
