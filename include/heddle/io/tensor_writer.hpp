// SPDX-License-Identifier: MIT
// Room: io. Writes a safetensors file tensor by tensor: nobody needs the memory of all of them at once.
// Sees: io/replacement, io/tensor_header.  Does not see: models, plans, backends.
// In: names and shapes, then the elements.  Out: the file that a TensorFile of the same tensors writes, whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/io/replacement.hpp"
#include "heddle/io/tensor_header.hpp"

namespace heddle::io_room {

/// A file of float tensors, which are told by name and shape first and then appended in the order of their names.
/// Tensors of shapes {10, 50} and {10} take the bytes 0 to 2,000 and 2,000 to 2,040 behind the header.
///
/// Errors  D15 a name that cannot be stored; D20 unwritable; D21 a header that is too long; D26 elements that are not those of the shape
/// Tested  io/tensor_writer_test
template <class = void> class FloatTensorWriter {
 public:
  /// A tensor that is to be written: its name, and its shape such as {10, 50} of 500 floats.
  struct Told {
    std::string name;
    std::vector<std::int64_t> shape;
  };

  /// `tensors` are in the order of their names.
  FloatTensorWriter(const std::string& path, const std::vector<Told>& tensors) : file_(path) {
    std::uint64_t begin = 0;
    for (const Told& tensor : tensors) {
      refuse_name(tensor.name);
      const std::vector<std::uint64_t> sizes(tensor.shape.begin(), tensor.shape.end());
      const std::uint64_t end = begin + bytes_of_shape(sizes, sizeof(float), tensor.name, "the tensor to store");
      header_.entries.push_back({tensor.name, "F32", sizes, begin, end});
      begin = end;
    }
    const std::string head = bytes_before_data(header_);
    file_.append(std::as_bytes(std::span{head}));
  }
  void append(std::span<const float> elements) {
    const HeaderEntry& tensor = header_.entries.at(next_++);
    if (elements.size_bytes() != tensor.end - tensor.begin)
      refuse_tensors(Code{'D', 26},
                     "the tensor to store: " + cited(tensor.name) + " has shape " + shape_words(tensor.shape) + " but " +
                         std::to_string(elements.size()) + " elements",
                     "give as many elements as the sizes multiply to");
    file_.append(std::as_bytes(elements));
  }
  /// Gives the file its name. All tensors are appended before.
  void commit() {
    if (next_ < header_.entries.size())
      refuse_tensors(Code{'D', 26}, "the tensor to store: " + cited(header_.entries[next_].name) + " was never given", "append every tensor");
    file_.commit();
  }

 private:
  Replacement file_;
  JsonHeader header_;
  std::size_t next_ = 0;
};

}  // namespace heddle::io_room
