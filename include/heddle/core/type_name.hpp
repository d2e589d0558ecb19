// SPDX-License-Identifier: MIT
// Room: core. The short name of a type, for sentences: "Mnist", "Linear<784, 50>".
// Sees: the standard library.  Does not see: every other room.
// In: a type.  Out: text with the namespaces removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heddle/core/text.hpp"

namespace heddle::core_room {

/// The type of a __PRETTY_FUNCTION__ "... [T = X]" or "[with T = X]", of which at most `enough` characters are read, without its namespaces. Few
/// steps of a constant expression: each plan names its model so.
template <int Capacity> [[nodiscard]] constexpr Text<Capacity> short_name(std::string_view all, std::size_t enough) {
  const auto begin = all.find("T = ") + 4;
  const auto end = all.rfind(']');
  all = all.substr(begin, end - begin < enough ? end - begin : enough);
  Text<Capacity> name;
  constexpr std::string_view unnamed = "(anonymous namespace)";  // clang; g++ writes it without a space
  const char* const text = all.data();
  const std::size_t size = all.size();
  std::size_t word = 0;
  std::size_t i = 0;
  for (; i < size && !name.cut; ++i) {
    const char c = text[i];
    if (c == ':') {
      if (i + 1 < size && text[i + 1] == ':') word = ++i + 1;
    } else if (c == '<' || c == ' ' || c == ',') {
      name << all.substr(word, i + 1 - word);
      word = i + 1;
    } else if (c == ';') {
      if (i + 1 < size && text[i + 1] == ' ') break;
    } else if (c == '(' && all.substr(i, unnamed.size()) == unnamed) {
      i += unnamed.size() - 1;
    }
  }
  if (!name.cut) name << all.substr(word, i - word);
  return name;
}

/// One constant for each type, however many sentences and layers name it.
template <class T> struct NamedType {
#if defined(__clang__) || defined(__GNUC__)
  // With all namespaces at most 1000 characters: the list of a long pipeline takes more than a constant expression may.
  static constexpr Text<64> of() { return short_name<64>(__PRETTY_FUNCTION__, 1000); }
#else
  static constexpr Text<64> of() { return Text<64>{"a type"}; }
#endif
  static constexpr Text<64> name = of();
};
template <class T> [[nodiscard]] constexpr const Text<64>& type_name() { return NamedType<T>::name; }

/// The same for reports, which are made at run time: at most 240 characters, however long the type is.
///
/// Tested  core/type_name_test
template <class T> [[nodiscard]] Text<240> long_type_name() {
#if defined(__clang__) || defined(__GNUC__)
  return short_name<240>(__PRETTY_FUNCTION__, std::string_view::npos);
#else
  return Text<240>{"a type"};
#endif
}

template <class T> [[nodiscard]] constexpr bool begins_with_heddle() {
#if defined(__clang__) || defined(__GNUC__)
  constexpr std::string_view all = __PRETTY_FUNCTION__;
  constexpr std::string_view first = "T = heddle::";
  return all.substr(all.find("T = "), first.size()) == first;
#else
  return false;
#endif
}
/// The type is one of Heddle's own.
template <class T> inline constexpr bool is_named_in_heddle = begins_with_heddle<T>();

/// One number per type, so that types compare as values: FNV-1a of the full name. Not an address: g++ 12 under
/// -fsanitize=undefined takes no comparison of addresses of templates for a constant.
enum class TypeId : std::uint64_t { none = 0 };

template <class T> [[nodiscard]] constexpr TypeId hash_type_name() {
#if defined(__clang__) || defined(__GNUC__)
  std::uint64_t hash = 14695981039346656037ull;
  for (const char letter : std::string_view{__PRETTY_FUNCTION__}) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211ull;
  return TypeId{hash};
#else
#error "heddle needs g++ or clang, or nvcc with one of them as host compiler: types are named by __PRETTY_FUNCTION__"
#endif
}

template <class T> inline constexpr TypeId type_identity = hash_type_name<T>();
template <class T> [[nodiscard]] constexpr TypeId type_id() { return type_identity<T>; }

}  // namespace heddle::core_room
