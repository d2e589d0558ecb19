// SPDX-License-Identifier: MIT
// Room: io. Named tensors in a safetensors file, as PyTorch's state_dict is stored; every bad file is refused with one sentence.
// Sees: io/file, io/json_header, io/tensor_header, io/replacement.  Does not see: models, plans, backends.
// In: a path or bytes.  Out: TensorFile, and from it the bytes again.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "heddle/io/file.hpp"
#include "heddle/io/json_header.hpp"
#include "heddle/io/replacement.hpp"
#include "heddle/io/temporary_view.hpp"
#include "heddle/io/tensor_header.hpp"

namespace heddle::io_room {

static_assert(std::endian::native == std::endian::little);  // data of safetensors are little-endian and are read as they lie in memory

/// The element types that are read and written: F32, I32, I64.
template <class T>
concept StoredElement = std::same_as<T, float> || std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

/// One tensor of a file: its sizes (none: a single number) and its elements in row-major order.
template <class = void> struct TensorOfFile {
  std::vector<std::int64_t> shape;
  std::variant<std::vector<std::int64_t>, std::vector<float>, std::vector<std::int32_t>> elements;  // the order of the data: wide types first

  /// As the file spells it: "F32".
  [[nodiscard]] std::string_view type_name() const {
    return elements.index() == 0 ? name_of<std::int64_t>() : elements.index() == 1 ? name_of<float>() : name_of<std::int32_t>();
  }
  template <StoredElement T> [[nodiscard]] static constexpr std::string_view name_of() {
    return std::same_as<T, float> ? "F32" : std::same_as<T, std::int32_t> ? "I32" : "I64";
  }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    if (const auto* wide = std::get_if<0>(&elements)) return std::as_bytes(std::span{*wide});
    if (const auto* real = std::get_if<1>(&elements)) return std::as_bytes(std::span{*real});
    return std::as_bytes(std::span{std::get<2>(elements)});
  }
};
using StoredTensor = TensorOfFile<>;

/// Named tensors and the strings of __metadata__.
///
/// What is written is read again: names and metadata are UTF-8, and both sides have the same limits. Reading takes the memory of the tensors and
/// that of the header, nothing more; the header is judged before any tensor is read.
///
/// Errors  D01 unreadable; D14 more than the memory; D15 a name or text that cannot be stored; D17 more dimensions or metadata than a header may
///         have; D20 unwritable; D21 length of the header; D22, D23, D24 header, see JsonHeaderReader; D25 element type; D26 shape against bytes;
///         D27 overlap or hole; D28 bytes missing or left over; D29 a tensor asked for that is not there, or is another one;
///         D13 at build, elements of a temporary
/// Source  sources.md#safetensors
/// Tested  io/safetensors_test
template <class Late = void> class TensorsOfFile {
  using StoredTensor = TensorOfFile<Late>;

 public:
  std::map<std::string, std::string> metadata;

  /// Adds or replaces a tensor. Errors  D15 its name, D17 its dimensions, D26 sizes that do not multiply to the number of elements
  template <StoredElement T> void put(const std::string& name, std::vector<std::int64_t> shape, std::span<const T> elements) {
    refuse_name(name);
    if (shape.size() > most_dimensions)
      refuse_tensors(Code{'D', 17},
                     "the tensor to store: " + cited(name) + " has " + std::to_string(shape.size()) + " dimensions, above the limit of " +
                         std::to_string(most_dimensions),
                     "store it with fewer");
    const std::vector<std::uint64_t> sizes(shape.begin(), shape.end());  // a negative size becomes too large
    if (bytes_of_shape(sizes, sizeof(T), name, "the tensor to store") != elements.size_bytes())
      refuse_tensors(
          Code{'D', 26},
          "the tensor to store: " + cited(name) + " has shape " + shape_words(sizes) + " but " + std::to_string(elements.size()) + " elements",
          "give as many elements as the sizes multiply to");
    tensors_.insert_or_assign(name, StoredTensor{std::move(shape), std::vector<T>(elements.begin(), elements.end())});
  }
  template <StoredElement T> void put(const std::string& name, std::vector<std::int64_t> shape, const std::vector<T>& elements) {
    put(name, std::move(shape), std::span<const T>{elements});
  }

  /// Adds or replaces a tensor that was taken from another file.
  void put(const std::string& name, StoredTensor tensor) {
    refuse_name(name);
    tensors_.insert_or_assign(name, std::move(tensor));
  }
  /// Takes a tensor out. Errors  D29 if there is none of this name
  [[nodiscard]] StoredTensor take(const std::string& name) {
    static_cast<void>(find(name));
    return std::move(tensors_.extract(name).mapped());
  }
  [[nodiscard]] bool contains(const std::string& name) const { return tensors_.contains(name); }
  [[nodiscard]] const std::map<std::string, StoredTensor>& tensors() const& { return tensors_; }
  [[nodiscard]] std::map<std::string, StoredTensor> tensors() const&& { return tensors_; }

  /// The sizes of a tensor; D29 if there is none of this name.
  [[nodiscard]] const std::vector<std::int64_t>& shape(const std::string& name) const& { return find(name).shape; }
  [[nodiscard]] std::vector<std::int64_t> shape(const std::string& name) const&& { return find(name).shape; }

  /// The elements of a tensor; D29 if there is none of this name, or it has another element type.
  template <StoredElement T> [[nodiscard]] std::span<const T> get(const std::string& name) const& {
    const auto* elements = std::get_if<std::vector<T>>(&find(name).elements);
    if (elements == nullptr)
      refuse_tensors(Code{'D', 29},
                     "tensor " + cited(name) + " has elements of type " + std::string{find(name).type_name()} + ", not " +
                         std::string{StoredTensor::template name_of<T>()},
                     "ask for the type that is stored");
    return *elements;
  }
  /// The elements of a tensor that must have these sizes; D29 otherwise.
  template <StoredElement T> [[nodiscard]] std::span<const T> get(const std::string& name, std::initializer_list<std::int64_t> sizes) const& {
    const std::vector<std::uint64_t> wanted(sizes.begin(), sizes.end());
    const std::vector<std::uint64_t> stored(shape(name).begin(), shape(name).end());
    if (wanted != stored)
      refuse_tensors(Code{'D', 29}, "tensor " + cited(name) + " has shape " + shape_words(stored) + ", not " + shape_words(wanted),
                     "load a file of the same model");
    return get<T>(name);
  }
  template <StoredElement T, bool Lives = false> std::span<const T> get(const std::string&, std::initializer_list<std::int64_t> = {}) const&& {
    view_of_a_temporary<Lives>();
    return {};
  }

  /// Those that are left out are not looked at, and take no memory.
  [[nodiscard]] static TensorsOfFile read(const auto& path, LeavesOut leaves_out = nullptr) {
    return within_memory(path, [&] {
      InputFile file{path_text(path)};
      return from(file, leaves_out);
    });
  }
  /// Reads the bytes of a file that is in memory; `origin` is what the sentences call it.
  [[nodiscard]] static TensorsOfFile parse(std::span<const std::byte> bytes, std::string_view origin) {
    return within_memory(origin, [&] {
      BytesInMemory file{bytes, std::string{origin}};
      return from(file);
    });
  }

  /// The bytes of the file, the same for the same content: I64, F32, I32 (data stay aligned), by name within each; header padded to 8 bytes.
  [[nodiscard]] std::string serialise() const {
    std::string bytes = head();
    each_in_order([&](const std::string&, const StoredTensor& tensor) {
      if (const auto part = tensor.bytes(); !part.empty()) bytes.append(reinterpret_cast<const char*>(part.data()), part.size());
    });
    return bytes;
  }

  /// Replaces the file of that name whole, or leaves it as it was; see Replacement.
  void write(const auto& path) const {
    within_memory(path, [&] {
      const std::string first = head();
      Replacement file{path_text(path, Code{'D', 20})};
      file.append(std::as_bytes(std::span{first}));
      each_in_order([&](const std::string&, const StoredTensor& tensor) { file.append(tensor.bytes()); });
      file.commit();
    });
  }

 private:
  /// Each byte of the data belongs to exactly one tensor, or it is refused.
  template <ByteSource S> static TensorsOfFile from(S& source, LeavesOut leaves_out = nullptr) {
    const std::string& origin = source.name();
    const std::uint64_t header_bytes = header_length(source);
    JsonHeader header;
    {
      std::string json(header_bytes, '\0');
      read_all(source, std::as_writable_bytes(std::span{json}));
      header = JsonHeaderReader{json, origin}.read();
    }
    const std::uint64_t data_bytes = source.most() - 8 - header_bytes;
    check_layout(header.entries, data_bytes, origin, leaves_out);
    refuse_beyond_memory(data_bytes, origin);
    TensorsOfFile file;
    file.metadata = std::move(header.metadata);
    for (; !header.entries.empty(); header.entries.pop_front()) {
      HeaderEntry& entry = header.entries.front();
      StoredTensor tensor;
      tensor.shape.assign(entry.shape.begin(), entry.shape.end());
      const std::uint64_t bytes = entry.end - entry.begin;
      if (leaves_out != nullptr && leaves_out(entry.name)) {
        pass_over(source, bytes);
        continue;
      }
      if (entry.dtype == "F32")
        tensor.elements = read_elements<float>(source, bytes);
      else if (entry.dtype == "I32")
        tensor.elements = read_elements<std::int32_t>(source, bytes);
      else
        tensor.elements = read_elements<std::int64_t>(source, bytes);
      file.tensors_.emplace(std::move(entry.name), std::move(tensor));
    }
    return file;
  }
  template <StoredElement T, ByteSource S> static std::vector<T> read_elements(S& source, std::uint64_t bytes) {
    std::vector<T> elements(bytes / sizeof(T));
    read_all(source, std::as_writable_bytes(std::span{elements}));
    return elements;
  }
  template <ByteSource S> static void pass_over(S& source, std::uint64_t bytes) {
    std::array<std::byte, 4096> some{};
    for (; bytes > 0; bytes -= std::min<std::uint64_t>(bytes, some.size()))
      read_all(source, std::span{some}.first(std::min<std::uint64_t>(bytes, some.size())));
  }
  template <ByteSource S> static void read_all(S& source, std::span<std::byte> into) {
    if (source.read(into) < into.size())
      refuse_tensors(Code{'D', 28}, source.name() + ": the file has become shorter while it was read", "read it when it is whole");
  }

  /// Calls act(name, tensor) in the order of the data.
  template <class Act> void each_in_order(Act act) const {
    for (std::size_t type = 0; type < std::variant_size_v<decltype(StoredTensor::elements)>; ++type)
      for (const auto& [name, tensor] : tensors_)
        if (tensor.elements.index() == type) act(name, tensor);
  }
  /// All bytes before the data: the length, the header, spaces up to a multiple of 8.
  [[nodiscard]] std::string head() const {
    for (const auto& [key, value] : metadata)
      if (!is_utf8(key) || !is_utf8(value))
        refuse_tensors(Code{'D', 15}, "the metadata to store: " + cited(key) + " or its text " + cited(value) + " is not UTF-8",
                       "store text in UTF-8");
    if (metadata.size() > most_metadata)
      refuse_tensors(Code{'D', 17},
                     "the metadata to store are " + std::to_string(metadata.size()) + " strings, above the limit of " + std::to_string(most_metadata),
                     "store fewer");
    JsonHeader header;
    header.metadata = metadata;
    std::uint64_t begin = 0;
    each_in_order([&](const std::string& name, const StoredTensor& tensor) {
      const std::uint64_t end = begin + tensor.bytes().size();
      header.entries.push_back({name, std::string{tensor.type_name()}, {tensor.shape.begin(), tensor.shape.end()}, begin, end});
      begin = end;
    });
    return bytes_before_data(header);
  }

  template <ByteSource S> static std::uint64_t header_length(S& source) {
    const std::uint64_t all = source.most();
    std::array<std::byte, 8> first{};
    if (all < 8 || source.read(first) < 8)
      refuse_tensors(Code{'D', 21}, source.name() + ": the file has " + std::to_string(all) + " bytes, fewer than the 8 of the header length",
                     "save or download the file again");
    const auto length = std::bit_cast<std::uint64_t>(first);
    if (length > most_header_bytes)
      refuse_tensors(
          Code{'D', 21},
          source.name() + ": the header length is " + std::to_string(length) + " bytes, above the limit of " + grouped_digits(most_header_bytes),
          "give a safetensors file");
    if (length > all - 8)
      refuse_tensors(Code{'D', 21},
                     source.name() + ": the header length is " + std::to_string(length) + " bytes but " + std::to_string(all - 8) + " follow",
                     "save or download the file again");
    return length;
  }

  const StoredTensor& find(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end())
      refuse_tensors(Code{'D', 29}, "there is no tensor " + cited(name) + " among the " + std::to_string(tensors_.size()) + " of the file",
                     "load a file of the same model");
    return found->second;
  }

  std::map<std::string, StoredTensor> tensors_;
};
using TensorFile = TensorsOfFile<>;

}  // namespace heddle::io_room

namespace heddle::extending {
using io_room::TensorFile;
}  // namespace heddle::extending
