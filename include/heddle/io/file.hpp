// SPDX-License-Identifier: MIT
// Room: io. Where bytes come from: a file, or memory; and the numbers and names of the sentences about files.
// Sees: core, seams/error, seams/system_limits.  Does not see: formats, data sets, every other room, <filesystem> (0.4 s of every compilation).
// In: a path.  Out: its bytes piece by piece, or an Error that says why not.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "heddle/core/grouped_digits.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/seams/system_limits.hpp"

namespace heddle::io_room {

/// a x b, or the largest number where that is more: sizes that somebody asks for may have any value.
[[nodiscard]] constexpr std::uint64_t product_or_most(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return b != 0 && a > most / b ? most : a * b;
}

/// A path: a string, a view, a literal, or what becomes a string by itself, as a std::filesystem::path does.
template <class Given>
inline constexpr bool is_path = !std::is_null_pointer_v<std::remove_cvref_t<Given>> &&
                                (std::is_convertible_v<const Given&, std::string> || std::is_convertible_v<const Given&, std::string_view>);

/// The path as a string. Errors  D31 at build of what is none; D01, or D20 of a file to write, of a null pointer, as getenv() and argv give it
template <class Given> [[nodiscard]] std::string path_text(const Given& path, Code missing = Code{'D', 1}) {
  static_assert(is_path<Given>, "[heddle.D31] a file is named by its path. Fix: give a string, a string_view or a std::filesystem::path.");
  if constexpr (std::is_pointer_v<Given>)
    if (path == nullptr) throw Error(missing, "no path was given, but a null pointer. Fix: give the path of a file.");
  if constexpr (!is_path<Given>)
    return {};
  else if constexpr (std::is_convertible_v<const Given&, std::string>)
    return path;
  else
    return std::string{std::string_view{path}};
}

/// The name in quotes, as it stands in a sentence. Paths are strings in this room; a std::filesystem::path becomes one by itself.
[[nodiscard]] inline std::string quoted_path(const std::string& path) { return "'" + path + "'"; }

/// What the system says about one of its numbers: "Permission denied".
[[nodiscard]] inline std::string words_of_system(int number) { return std::generic_category().message(number); }

/// Whether a file that can be opened may be there; false as well where it cannot be seen.
[[nodiscard]] inline bool file_is_there(const std::string& path) {
  struct stat seen {};
  return ::stat(path.c_str(), &seen) == 0 && !S_ISDIR(seen.st_mode);
}

/// What lies at a path if it is no file that holds bytes: "a folder"; empty for a file.
[[nodiscard]] inline std::string other_kind(mode_t mode) {
  if (S_ISREG(mode)) return {};
  return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : S_ISLNK(mode) ? "a link" : "a device";
}

/// An open file of the system, closed on every way out. An open one has a number of at least 0, a closed one has -1.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  /// Some systems tell only here that bytes were lost. True if all went well; the descriptor is gone in any case.
  bool close() {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0 || errno == EINTR;
  }

 private:
  int number_;
};

/// Bytes in a row. read() fills the span as far as there are bytes and says how many; size() is their number if it is known before they are
/// read, most() a number that they cannot exceed.
template <class S>
concept ByteSource = requires(S source, std::span<std::byte> into) {
  { source.read(into) } -> std::same_as<std::size_t>;
  { source.size() } -> std::same_as<std::optional<std::uint64_t>>;
  { source.most() } -> std::same_as<std::uint64_t>;
  { source.name() } -> std::convertible_to<std::string>;
};

/// Bytes that are in memory already; they must outlive it. `name` is what the sentences call them.
class BytesInMemory {
 public:
  BytesInMemory(std::span<const std::byte> bytes, std::string name) : bytes_(bytes), left_(bytes), name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::optional<std::uint64_t> size() const { return bytes_.size(); }
  [[nodiscard]] std::uint64_t most() const { return bytes_.size(); }
  std::size_t read(std::span<std::byte> into) {
    const std::size_t count = std::min(into.size(), left_.size());
    if (count > 0) std::memcpy(into.data(), left_.data(), count);
    left_ = left_.subspan(count);
    return count;
  }

 private:
  std::span<const std::byte> bytes_;
  std::span<const std::byte> left_;
  std::string name_;
};

/// A file that is read from its beginning. Only files have an end that is known beforehand: pipes and devices are refused, unopened.
/// The labels of the 10,000 test images of MNIST, unpacked, have a size() of 10,008 bytes.
///
/// Errors  D01 if it is missing, a folder, a pipe, a device, a null pointer, or cannot be read
/// Tested  io/file_test
class InputFile {
 public:
  explicit InputFile(const char* path) : InputFile(path_text(path)) {}
  explicit InputFile(const std::string& path) : name_(path) {
    if (name_.find('\0') != std::string::npos) refuse("its name has a byte of zero");
    struct stat seen {};
    if (::stat(name_.c_str(), &seen) != 0) refuse(words_of_system(errno));
    refuse_other_kind(seen.st_mode);
    // If a pipe takes the place of the file in this moment, opening does not wait for a writer.
    file_ = Descriptor{::open(name_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    if (!file_.is_open() || ::fstat(file_.number(), &seen) != 0) refuse(words_of_system(errno));
    refuse_other_kind(seen.st_mode);
    bytes_ = static_cast<std::uint64_t>(seen.st_size);
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::optional<std::uint64_t> size() const { return bytes_; }
  [[nodiscard]] std::uint64_t most() const { return bytes_; }
  std::size_t read(std::span<std::byte> into) {
    std::size_t filled = 0;
    while (filled < into.size()) {
      const ssize_t count = ::read(file_.number(), into.data() + filled, into.size() - filled);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse(words_of_system(errno));
      if (count == 0) break;
      filled += static_cast<std::size_t>(count);
    }
    return filled;
  }

 private:
  [[noreturn]] HEDDLE_COLD void refuse(const std::string& why) const {
    throw Error(Code{'D', 1}, written({"'", name_, "' cannot be read: ", why, ". Fix: give the path of a file that is there and readable."}));
  }
  void refuse_other_kind(mode_t mode) const {
    if (const std::string kind = other_kind(mode); !kind.empty()) refuse("it is " + kind);
  }
  std::string name_;
  Descriptor file_;
  std::uint64_t bytes_ = 0;
};

/// What to do where the contents of a file are too many.
inline constexpr const char* give_a_smaller_file = "give a smaller file";

/// Refuses contents for which the memory is not there, before any of it is asked for. Errors  D14
inline void refuse_beyond_memory(std::uint64_t bytes, const std::string& name, const std::string& remedy = give_a_smaller_file) {
  constexpr std::uint64_t always_there = std::uint64_t{64} << 20;
  if (bytes <= always_there) return;
  const std::int64_t usable = read_memory_limits().usable().value;
  if (usable > 0 && bytes > static_cast<std::uint64_t>(usable))
    throw Error(Code{'D', 14}, written({"'", name, "' takes ", grouped_digits(bytes), " bytes of memory, but ", grouped_digits(usable),
                                        " are free. Fix: ", remedy, ", or a machine with more memory."}));
}

/// Does something with a file; memory that the system refuses becomes an Error that names the file. A path becomes a string in here, because that may
/// be what fails. Errors  D14, and those of `action`
template <class Path, class Action> auto within_memory(const Path& path, Action action, const char* remedy = give_a_smaller_file) {
  const auto refusal = [&] {
    return Error(Code{'D', 14}, written({quoted_path(path_text(path)), " takes more memory than the system gives. Fix: ", remedy,
                                         ", free memory, or raise the limit on it."}));
  };
  try {
    return action();
  } catch (const std::bad_alloc&) {
    throw refusal();
  } catch (const std::length_error&) {
    throw refusal();
  }
}

}  // namespace heddle::io_room
