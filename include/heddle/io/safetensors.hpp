// SPDX-License-Identifier: MIT
// Room: io. Named tensors in a safetensors file, as PyTorch's state_dict is stored; every bad file is refused with one sentence.
// Sees: io/file, io/json_header, run/error.  Does not see: models, plans, backends.
// In: a path or bytes.  Out: TensorFile, and from it the bytes again.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

#include "heddle/io/file.hpp"
#include "heddle/io/json_header.hpp"

namespace heddle::inline io_room {

static_assert(std::endian::native == std::endian::little, "safetensors data are little-endian and are read as they lie in memory");

/// The element types that are read and written: F32, I32, I64.
template <class T>
concept StoredElement = std::same_as<T, float> || std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

/// One tensor of a file: its sizes (none: a single number) and its elements in row-major order.
struct StoredTensor {
  std::vector<std::int64_t> shape;
  std::variant<std::vector<std::int64_t>, std::vector<float>, std::vector<std::int32_t>> elements;  // the order of the data: wide types first
};

/// Named tensors and the strings of __metadata__.
///
/// Errors  D01 unreadable; D20 unwritable; D21 length of the header; D22, D23, D24 header, see JsonHeaderReader; D25 element type; D26 shape
///         against bytes; D27 overlap or hole; D28 bytes missing or left over; D29 a tensor asked for that is not there, or is another one
/// Source  sources.md#safetensors
/// Tested  io/safetensors_test
class TensorFile {
 public:
  static constexpr std::uint64_t most_header_bytes = 100'000'000;  // the reference's limit

  std::map<std::string, std::string> metadata;

  /// Adds or replaces a tensor; D26 if the sizes do not multiply to the number of elements.
  template <StoredElement T> void put(const std::string& name, std::vector<std::int64_t> shape, std::span<const T> elements) {
    const std::vector<std::uint64_t> sizes(shape.begin(), shape.end());  // a negative size becomes too large
    if (bytes_of(sizes, sizeof(T), name, "the tensor to store") != elements.size_bytes())
      refuse(26, "the tensor to store: " + cited(name) + " has shape " + words(sizes) + " but " + std::to_string(elements.size()) + " elements",
             "give as many elements as the sizes multiply to");
    if (name == "__metadata__") refuse(24, "the tensor to store: the name '__metadata__' is reserved by the format", "choose another name");
    tensors_.insert_or_assign(name, StoredTensor{std::move(shape), std::vector<T>(elements.begin(), elements.end())});
  }
  template <StoredElement T> void put(const std::string& name, std::vector<std::int64_t> shape, const std::vector<T>& elements) {
    put(name, std::move(shape), std::span<const T>{elements});
  }

  [[nodiscard]] bool contains(const std::string& name) const { return tensors_.contains(name); }
  [[nodiscard]] const std::map<std::string, StoredTensor>& tensors() const { return tensors_; }

  /// The sizes of a tensor; D29 if there is none of this name.
  [[nodiscard]] const std::vector<std::int64_t>& shape(const std::string& name) const { return find(name).shape; }

  /// The elements of a tensor; D29 if there is none of this name, or it has another element type.
  template <StoredElement T> [[nodiscard]] std::span<const T> get(const std::string& name) const {
    const auto* elements = std::get_if<std::vector<T>>(&find(name).elements);
    if (elements == nullptr)
      refuse(29, "tensor " + cited(name) + " has elements of type " + std::string{type_name(find(name))} + ", not " + std::string{type_name<T>()},
             "ask for the type that is stored");
    return *elements;
  }
  /// The elements of a tensor that must have these sizes; D29 otherwise.
  template <StoredElement T> [[nodiscard]] std::span<const T> get(const std::string& name, std::initializer_list<std::int64_t> sizes) const {
    const std::vector<std::uint64_t> wanted(sizes.begin(), sizes.end());
    const std::vector<std::uint64_t> stored(shape(name).begin(), shape(name).end());
    if (wanted != stored)
      refuse(29, "tensor " + cited(name) + " has shape " + words(stored) + ", not " + words(wanted), "load a file of the same model");
    return get<T>(name);
  }

  [[nodiscard]] static TensorFile read(const std::filesystem::path& path) { return parse(read_file(path), path.string()); }

  /// Reads the bytes of a file; `origin` is what the sentences call it. Each byte of the data belongs to exactly one tensor, or it is refused.
  [[nodiscard]] static TensorFile parse(std::span<const std::byte> bytes, std::string_view origin) {
    const std::uint64_t header_bytes = header_length(bytes, origin);
    JsonHeader header = JsonHeaderReader{{reinterpret_cast<const char*>(bytes.data()) + 8, header_bytes}, origin}.read();
    const std::span<const std::byte> data = bytes.subspan(8 + header_bytes);
    check_layout(header.entries, data.size(), origin);
    TensorFile file;
    file.metadata = std::move(header.metadata);
    for (const HeaderEntry& entry : header.entries) {
      StoredTensor tensor;
      tensor.shape.assign(entry.shape.begin(), entry.shape.end());
      const std::span<const std::byte> part = data.subspan(entry.begin, entry.end - entry.begin);
      if (entry.dtype == "F32")
        tensor.elements = copied<float>(part);
      else if (entry.dtype == "I32")
        tensor.elements = copied<std::int32_t>(part);
      else
        tensor.elements = copied<std::int64_t>(part);
      file.tensors_.emplace(entry.name, std::move(tensor));
    }
    return file;
  }

  /// The bytes of the file, the same for the same content: I64, F32, I32 (data stay aligned), by name within each; header padded to 8 bytes.
  [[nodiscard]] std::string serialise() const {
    JsonHeader header;
    header.metadata = metadata;
    std::string data;
    for (std::size_t type = 0; type < std::variant_size_v<decltype(StoredTensor::elements)>; ++type)
      for (const auto& [name, tensor] : tensors_) {
        if (tensor.elements.index() != type) continue;
        const std::uint64_t begin = data.size();
        std::visit(
            [&](const auto& e) {
              if (!e.empty()) data.append(reinterpret_cast<const char*>(e.data()), e.size() * sizeof(e[0]));
            },
            tensor.elements);
        header.entries.push_back({name, std::string{type_name(tensor)}, {tensor.shape.begin(), tensor.shape.end()}, begin, data.size()});
      }
    std::string json = write_json_header(header);
    json.append((8 - json.size() % 8) % 8, ' ');
    const std::uint64_t header_bytes = json.size();
    if (header_bytes > most_header_bytes)
      refuse(21, "the header would have " + std::to_string(header_bytes) + " bytes, above the limit of 100,000,000", "store fewer tensors in a file");
    std::string bytes(sizeof header_bytes, '\0');
    std::memcpy(bytes.data(), &header_bytes, sizeof header_bytes);
    return bytes + json + data;
  }

  /// Writes beside the path first and renames: a file of that name is replaced whole or stays as it was. D20 if that fails.
  void write(const std::filesystem::path& path) const {
    const std::string bytes = serialise();
    std::filesystem::path beside = path;
    beside += ".part";
    std::ofstream out{beside, std::ios::binary | std::ios::trunc};
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    std::error_code failed;
    if (out) std::filesystem::rename(beside, path, failed);
    if (out && !failed) return;
    std::error_code ignored;
    std::filesystem::remove(beside, ignored);
    refuse(20, "'" + path.string() + "' cannot be written",
           "name a file in a folder that exists, is writable and has " + std::to_string(bytes.size()) + " bytes free");
  }

 private:
  [[noreturn]] static void refuse(int code, const std::string& what, const std::string& fix) {
    throw Error{Code{'D', code}, what + ". Fix: " + fix + "."};
  }

  template <class T> static constexpr std::string_view type_name() {
    return std::same_as<T, float> ? "F32" : std::same_as<T, std::int32_t> ? "I32" : "I64";
  }
  static std::string_view type_name(const StoredTensor& tensor) {
    return std::visit([]<class T>(const std::vector<T>&) { return type_name<T>(); }, tensor.elements);
  }

  /// Writes [50, 784].
  static std::string words(const std::vector<std::uint64_t>& sizes) {
    std::string text = "[";
    for (std::size_t i = 0; i < sizes.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(static_cast<std::int64_t>(sizes[i]));
    return text + "]";
  }

  static std::uint64_t bytes_of(const std::vector<std::uint64_t>& sizes, std::uint64_t element_bytes, const std::string& name,
                                std::string_view origin) {
    constexpr std::uint64_t most = std::uint64_t{1} << 62;  // sizes are std::int64_t from here on
    std::uint64_t bytes = element_bytes;
    for (const std::uint64_t size : sizes) {
      if (size > most || (size != 0 && bytes > most / size))
        refuse(26, std::string{origin} + ": " + cited(name) + " has " + std::to_string(sizes.size()) + " sizes whose product is above 2^62 bytes",
               "save the file again");
      bytes *= size;
    }
    return bytes;
  }

  static std::uint64_t header_length(std::span<const std::byte> bytes, std::string_view origin) {
    const std::string file{origin};
    if (bytes.size() < 8)
      refuse(21, file + ": the file has " + std::to_string(bytes.size()) + " bytes, fewer than the 8 of the header length",
             "save or download the file again");
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length > most_header_bytes)
      refuse(21, file + ": the header length is " + std::to_string(length) + " bytes, above the limit of 100,000,000", "give a safetensors file");
    if (length > bytes.size() - 8)
      refuse(21, file + ": the header length is " + std::to_string(length) + " bytes but " + std::to_string(bytes.size() - 8) + " follow",
             "save or download the file again");
    return length;
  }

  /// In the order of their offsets, tensors must follow each other without overlap or hole, up to the last byte.
  static void check_layout(std::vector<HeaderEntry>& entries, std::uint64_t data_bytes, std::string_view origin) {
    std::sort(entries.begin(), entries.end(), [](const HeaderEntry& a, const HeaderEntry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;  // an empty tensor before the one that starts at the same byte
    });
    const std::string file{origin};
    std::uint64_t reached = 0;
    for (const HeaderEntry& entry : entries) {
      const std::string which = file + ": tensor " + cited(entry.name);
      const std::string range = "[" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + ")";
      if (entry.dtype != "F32" && entry.dtype != "I32" && entry.dtype != "I64")
        refuse(25, which + " has elements of type " + cited(entry.dtype) + "; F32, I32 and I64 are read", "convert it before saving");
      if (entry.begin > entry.end) refuse(27, which + " has the bytes " + range + ", which end before they begin", "save the file again");
      const std::uint64_t stated = bytes_of(entry.shape, entry.dtype == "I64" ? 8 : 4, entry.name, origin);
      if (stated != entry.end - entry.begin)
        refuse(26, which + " of " + entry.dtype + " " + words(entry.shape) + " takes " + std::to_string(stated) + " bytes but has " + range,
               "save the file again");
      if (entry.begin != reached)
        refuse(27, which + " has the bytes " + range + " but the tensors before it end at byte " + std::to_string(reached), "save the file again");
      reached = entry.end;
    }
    if (reached != data_bytes)
      refuse(28, file + ": the tensors take " + std::to_string(reached) + " bytes but " + std::to_string(data_bytes) + " follow the header",
             "save or download the file again");
  }

  template <StoredElement T> static std::vector<T> copied(std::span<const std::byte> part) {
    std::vector<T> elements(part.size() / sizeof(T));
    if (!elements.empty()) std::memcpy(elements.data(), part.data(), part.size());  // the part may lie at any address
    return elements;
  }

  const StoredTensor& find(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end())
      refuse(29, "there is no tensor " + cited(name) + " among the " + std::to_string(tensors_.size()) + " of the file",
             "load a file of the same model");
    return found->second;
  }

  std::map<std::string, StoredTensor> tensors_;
};

}  // namespace heddle::inline io_room
