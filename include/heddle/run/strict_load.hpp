// SPDX-License-Identifier: MIT
// Room: run. Whether named tensors from elsewhere are exactly those of a model: every difference in one sentence.
// Sees: core, seams/error.  Does not see: files, plans, any backend.
// In: names, shapes and element types, wanted and given.  Out: nothing, or an Error.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/nearest.hpp"
#include "heddle/core/utf8.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

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

/// Tensors that are wrong in one way, up to a number that can be read; the rest is counted.
/// Of 23 missing tensors 20 are named, and 3 more are counted.
class WrongTensors {
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

/// A second name of a tensor: 'head.weight' of a layer that is tied to the one of 'wte.weight'.
struct TiedName {
  std::string name;
  std::string owner;
};

/// Under which of its names a tensor is given, or its own.
[[nodiscard]] inline std::string given_name(const std::string& name, const std::vector<TiedName>& ties, const std::vector<NamedShape>& given) {
  const auto has = [&](const std::string& wanted) {
    return std::any_of(given.begin(), given.end(), [&](const NamedShape& tensor) { return tensor.name == wanted; });
  };
  if (!has(name))
    for (const TiedName& tie : ties)
      if (tie.owner == name && has(tie.name)) return tie.name;
  return name;
}

/// PyTorch counts the steps of a BatchNorm beside what it tracks; nothing reads that number where a momentum is named, so a model need not have it:
/// 'norm.num_batches_tracked' beside 'norm.running_mean'.
[[nodiscard]] inline bool counts_steps(const NamedShape& tensor, const std::vector<std::string>& names) {
  constexpr std::string_view last = "num_batches_tracked";
  const std::string_view name = tensor.name;
  if (!name.ends_with(last) || tensor.type != "I64" || !tensor.shape.empty()) return false;
  const std::string tracked = std::string{name.substr(0, name.size() - last.size())} + "running_mean";
  return std::find(names.begin(), names.end(), tracked) != names.end();
}

/// Refuses tensors that are not those of a model: other shapes and element types, missing ones, and ones that the model does not have. A tied tensor
/// may be given under any of its names, or under several with the same values: same_values(a, b) is asked of two that have the same shape.
/// `path` is the file that has them, if one was named.
///
/// Errors  D16, with all differences
/// Tested  run/strict_load_test, run/runner_test
template <class SameValues>
void refuse_other_tensors(std::string_view model, const std::string& path, const std::vector<NamedShape>& wanted,
                          const std::vector<NamedShape>& given, const std::vector<TiedName>& ties, SameValues same_values) {
  std::map<std::string_view, const NamedShape*> left;
  for (const NamedShape& tensor : given) left.emplace(tensor.name, &tensor);
  WrongTensors others;
  WrongTensors missing;
  WrongTensors surplus;
  const auto take = [&](const std::string& name, const NamedShape& tensor) {  // whether it is one of the model
    const auto found = left.find(name);
    const NamedShape& stored = *found->second;
    left.erase(found);
    if (stored.shape != tensor.shape) others.add("'" + name + "' has shape " + stored.words() + ", not " + tensor.words());
    if (stored.type != tensor.type) others.add("'" + name + "' is of " + std::string{stored.type} + ", not " + std::string{tensor.type});
    return stored.shape == tensor.shape && stored.type == tensor.type;
  };
  for (const NamedShape& tensor : wanted) {
    const std::string name = given_name(tensor.name, ties, given);
    if (!left.contains(name)) {
      missing.add("'" + tensor.name + "' is missing");
      continue;
    }
    const bool fits = take(name, tensor);
    for (const TiedName& tie : ties)
      if (tie.owner == tensor.name && left.contains(tie.name) && take(tie.name, tensor) && fits && !same_values(tie.name, name))
        others.add("'" + tie.name + "' is tied to '" + name + "', but holds other values");
  }
  std::vector<std::string> names;
  for (const NamedShape& tensor : wanted) names.push_back(tensor.name);
  for (const NamedShape& tensor : given)
    if (left.contains(tensor.name) && !counts_steps(tensor, names))
      surplus.add("'" + std::string{first_characters(tensor.name, 100)} + "' is not in the model" +
                  (surplus.names_more() ? nearest_names(tensor.name, names) : ""));
  others.finish("have another shape, type or values");
  missing.finish("are missing");
  surplus.finish("are not in the model");
  std::string all;
  for (const WrongTensors* kind : {&others, &missing, &surplus})
    if (!kind->words().empty()) all += (all.empty() ? "" : "; ") + kind->words();
  if (!all.empty())
    throw Error(Code{'D', 16}, written({"the tensors ", (path.empty() ? "" : "of '" + path + "' "), "are not those of ", model, ": ", all,
                                        ". Fix: load a file of the same model, or set single tensors with set_parameter."}));
}
/// The same of a model that ties nothing.
inline void refuse_other_tensors(std::string_view model, const std::vector<NamedShape>& wanted, const std::vector<NamedShape>& given,
                                 const std::string& path = {}) {
  refuse_other_tensors(model, path, wanted, given, {}, [](const std::string&, const std::string&) { return true; });
}

}  // namespace heddle::run_room
