// SPDX-License-Identifier: MIT
// Room: run. Whether named tensors from elsewhere are exactly those of a model: every difference in one sentence.
// Sees: core, run/error.  Does not see: files, plans, any backend.
// In: names, shapes and element types, wanted and given.  Out: nothing, or an Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/nearest.hpp"
#include "heddle/run/error.hpp"

namespace heddle::inline run_room {

/// A tensor without its elements: "linear1.weight", 50 x 784, F32.
struct NamedShape {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string_view type = "F32";

  /// Writes [50, 784].
  [[nodiscard]] std::string words() const {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return text + "]";
  }
};

/// "; nearest: 'linear1.weight'", or nothing where no name is near. Names are those of a model, in its order.
///
/// Tested  run/strict_load_test
[[nodiscard]] inline std::string nearest_names(std::string_view wanted, const std::vector<std::string>& names) {
  Nearest found{wanted};
  for (std::size_t i = 0; i < names.size(); ++i) found.consider(names[i], static_cast<int>(i));
  std::string words;
  for (int i = 0; i < found.count(); ++i) words += (i == 0 ? "; nearest: '" : ", '") + names[static_cast<std::size_t>(found.number(i))] + "'";
  return words;
}

/// The differences of one kind, up to a number that can be read; the rest is counted.
class Differences {
 public:
  /// Those that are counted only need no words.
  [[nodiscard]] bool names_more() const { return count_ < most_named; }
  void add(const std::string& words) {
    if (++count_ <= most_named) words_ += (words_.empty() ? "" : "; ") + words;
  }
  void finish(const char* kind) {
    if (count_ > most_named) words_ += "; " + std::to_string(count_ - most_named) + " more " + kind;
  }
  [[nodiscard]] const std::string& words() const { return words_; }

 private:
  static constexpr int most_named = 20;
  std::string words_;
  int count_ = 0;
};

/// Refuses tensors that are not those of a model: other shapes and element types, missing ones, and ones that the model does not have. `path` is the
/// file that has them, if one was named.
///
/// Errors  D16, with all differences
/// Tested  run/strict_load_test, run/runner_test
inline void refuse_other_tensors(std::string_view model, const std::vector<NamedShape>& wanted, const std::vector<NamedShape>& given,
                                 const std::string& path = {}) {
  std::map<std::string_view, const NamedShape*> left;
  for (const NamedShape& tensor : given) left.emplace(tensor.name, &tensor);
  Differences others;
  Differences missing;
  Differences surplus;
  for (const NamedShape& tensor : wanted) {
    const auto found = left.find(tensor.name);
    const std::string name = "'" + tensor.name + "'";
    if (found == left.end()) {
      missing.add(name + " is missing");
      continue;
    }
    if (found->second->shape != tensor.shape) others.add(name + " has shape " + found->second->words() + ", not " + tensor.words());
    if (found->second->type != tensor.type) others.add(name + " is of " + std::string{found->second->type} + ", not " + std::string{tensor.type});
    left.erase(found);
  }
  std::vector<std::string> names;
  for (const NamedShape& tensor : wanted) names.push_back(tensor.name);
  for (const NamedShape& tensor : given)
    if (left.contains(tensor.name))
      surplus.add("'" + tensor.name.substr(0, 100) + "' is not in the model" + (surplus.names_more() ? nearest_names(tensor.name, names) : ""));
  others.finish("have another shape or type");
  missing.finish("are missing");
  surplus.finish("are not in the model");
  std::string all;
  for (const Differences* kind : {&others, &missing, &surplus})
    if (!kind->words().empty()) all += (all.empty() ? "" : "; ") + kind->words();
  if (!all.empty())
    throw Error(Code{'D', 16}, "the tensors " + (path.empty() ? "" : "of '" + path + "' ") + "are not those of " + std::string{model} + ": " + all +
                                   ". Fix: load a file of the same model, or set single tensors with set_parameter.");
}

}  // namespace heddle::inline run_room
