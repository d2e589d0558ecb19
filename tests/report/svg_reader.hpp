// SPDX-License-Identifier: MIT
// Room: tests. Reads a picture as a browser would: whether its elements close, where its words stand, and whether two of them overlap.
// Sees: report/svg.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "heddle/report/svg.hpp"

namespace heddle::tests {

/// Attributes of an element by their names: attribute("<rect x=\"3\"/>", "x") is "3".
inline std::string attribute(const std::string& element, const std::string& name) {
  const auto at = element.find(' ' + name + "=\"");
  if (at == std::string::npos) return {};
  const auto begin = at + name.size() + 3;
  return element.substr(begin, element.find('"', begin) - begin);
}

/// The first element that is not closed in its turn, or "" where all are.
inline std::string unclosed(const std::string& svg) {
  std::vector<std::string> open;
  for (auto at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const auto end = svg.find('>', at);
    if (end == std::string::npos) return svg.substr(at, 20);
    const std::string tag = svg.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(0, tag.find_first_of(" /", 1));
    if (tag.front() == '/') {
      if (open.empty() || '/' + open.back() != tag) return tag;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : open.back();
}

/// Where words stand, as wide as in a wide font. "ab" at (10, 20) in the size of class s lies from 12 to 22 in y.
struct Words {
  std::string text;
  double left = 0, right = 0, top = 0, bottom = 0;
};
inline std::vector<Words> words_in(const std::string& svg) {
  std::vector<Words> all;
  for (auto at = svg.find("<text "); at != std::string::npos; at = svg.find("<text ", at + 1)) {
    const auto end = svg.find('>', at);
    const std::string element = svg.substr(at, end - at);
    Words words;
    words.text = svg.substr(end + 1, svg.find('<', end) - end - 1);
    for (const auto& [name, letter] : {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&amp;", "&"}})
      for (auto found = words.text.find(name); found != std::string::npos; found = words.text.find(name, found + 1))
        words.text.replace(found, std::string{name}.size(), letter);
    const std::string style = attribute(element, "class"), anchor = attribute(element, "text-anchor");
    const double size = style.front() == 'h' ? 14 : style.front() == 'n' ? 12 : 11;
    const double wide = report_room::width_of(words.text, size) * (style.front() == 'h' ? 1.1 : 1);
    words.left = std::strtod(attribute(element, "x").c_str(), nullptr) - (anchor == "end" ? wide : anchor == "middle" ? wide / 2 : 0);
    words.right = words.left + wide;
    words.bottom = std::strtod(attribute(element, "y").c_str(), nullptr) + size * 0.2;
    words.top = words.bottom - size;
    all.push_back(words);
  }
  return all;
}
/// Two words that cover each other, or words that leave the picture; "" where there are none.
inline std::string overlap_in(const std::string& svg) {
  const std::vector<Words> all = words_in(svg);
  const double width = std::strtod(attribute(svg, "width").c_str(), nullptr), height = std::strtod(attribute(svg, "height").c_str(), nullptr);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Words& a = all[i];
    if (a.left < 0 || a.right > width || a.top < 0 || a.bottom > height) return "'" + a.text + "' leaves the picture";
    for (std::size_t j = i + 1; j < all.size(); ++j)
      if (const Words& b = all[j]; a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
        return "'" + a.text + "' covers '" + b.text + "'";
  }
  return {};
}

/// What is wrong with a picture whatever it shows: numbers that are none, scripts, other files.
inline std::string fault_of_svg(const std::string& svg) {
  if (const std::string tag = unclosed(svg); !tag.empty()) return "not closed: " + tag;
  for (const char* const no : {"nan", "NaN", "inf\"", "<script", "href", "url(http", "@import"})
    if (svg.find(no) != std::string::npos) return std::string{"it has "} + no;
  if (!core_room::is_utf8(svg)) return "it is no UTF-8";
  return overlap_in(svg);
}

/// What the reader of XML of Python says of a text, "" if it takes it; "no python3" where there is none to ask.
inline std::string said_by_python(const std::string& text, const char* const reads) {
  if (std::system("python3 -c '' >/dev/null 2>&1") != 0) return "no python3";
  const std::string command = std::string{"python3 -c '"} + reads + "' >/dev/null";
  std::FILE* const pipe = popen(command.c_str(), "w");
  if (pipe == nullptr) return "no pipe";
  const bool whole = std::fwrite(text.data(), 1, text.size(), pipe) == text.size();
  return pclose(pipe) == 0 && whole ? "" : "refused";
}
inline constexpr const char* python_reads_xml = "import sys, xml.etree.ElementTree as t; t.fromstring(sys.stdin.buffer.read())";
inline constexpr const char* python_reads_json = "import sys, json; json.loads(sys.stdin.buffer.read().decode())";

}  // namespace heddle::tests
