// SPDX-License-Identifier: MIT
// Room: report. Curves as a picture: losses by step of one run or several, on a linear or a logarithmic axis.
// Sees: report/{svg, fixed_point}, seams/error.  Does not see: trainers, who has made the numbers.
// In: named points.  Out: SVG 1.1 for light and dark pages.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/core/finite.hpp"
#include "heddle/core/written.hpp"
#include "heddle/report/fixed_point.hpp"
#include "heddle/report/svg.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::report_room {

/// Points that are joined in their order: {"Single", {{1, 2.3}, {2, 1.9}}} is a loss of 2.3 at step 1 and of 1.9 at step 2.
struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;
};
/// How curves are drawn. {.title = "GPT", .logarithmic = true} has ticks at 1, 2, 5 and 10 times powers of ten.
struct CurveSvg {
  std::string title{};
  std::string x = "step";
  std::string y = "loss";
  bool logarithmic = false;  ///< the axis of y
  double width = 760;        ///< [px], at least 400
  double height = 400;       ///< [px], at least 200
};

/// Errors  V06 no curve, no point, a point that is no number or too large to draw, and on a logarithmic axis a y that is 0 or below
/// Tested  report/curve_svg_test
inline void refuse_curves(const std::vector<Curve>& curves, bool logarithmic) {
  const auto refuse = [](const std::string& words, const char* fix) { throw Error(Code{'V', 6}, words + ". Fix: " + fix); };
  if (curves.empty()) refuse("no curve is given, so there is nothing to draw", "give at least one.");
  for (const Curve& curve : curves) {
    if (curve.points.empty()) refuse(written({"curve '", curve.name, "' has no point"}), "leave it out, or give what was measured.");
    for (std::size_t i = 0; i < curve.points.size(); ++i) {
      const auto& [x, y] = curve.points[i];
      const std::string where = written({"point ", i, " of curve '", curve.name, "' is (", short_number(x), ", ", short_number(y), ")"});
      for (const double number : {x, y})
        if (!is_finite(number) || number > 1e15 || number < -1e15) refuse(where, "draw numbers between -1e15 and 1e15, and what came before a NaN.");
      if (logarithmic && !(y > 0)) refuse(where + ", and a logarithmic axis begins above 0", "draw it on a linear one.");
    }
  }
}

/// Draws curves into a frame, with a legend at its right: a picture of 760 pixels has a frame of about 500.
///
/// Tested  report/curve_svg_test
class CurvePicture {
 public:
  CurvePicture(const std::vector<Curve>& curves, const CurveSvg& how) : curves_(curves), how_(how) {
    const auto& [x, y] = curves.front().points.front();
    x_ = {x, x};
    y_ = {scaled(y), scaled(y)};
    for (const Curve& curve : curves)
      for (const auto& [at, value] : curve.points) {
        x_ = {std::min(x_.low, at), std::max(x_.high, at)};
        y_ = {std::min(y_.low, scaled(value)), std::max(y_.high, scaled(value))};
      }
    if (!how.logarithmic && y_.low > 0 && y_.low < y_.high / 2) y_.low = 0;
    for (Range* range : {&x_, &y_})
      if (range->low == range->high) *range = {range->low - 0.5, range->high + 0.5};
    ticks_of_y();
    double labels = 0, names = 0;
    for (const auto& [at, label] : y_ticks_) labels = std::max(labels, width_of(label, 11));
    for (const Curve& curve : curves) names = std::max(names, std::min(width_of(printable(curve.name), 12), wide() / 4));
    left_ = margin + 18 + labels + 6;
    right_ = wide() - margin - sample - names - 23;
    bottom_ = std::max(200.0, how.height) - 44;
  }
  [[nodiscard]] std::string document() {
    if (!how_.title.empty()) front_.words("h", margin, 26, fitted_words(how_.title, 16, wide() - 2 * margin));
    for (const auto& [at, label] : y_ticks_) {
      front_.line("grid", left_, y_of(at), right_, y_of(at));
      front_.words("s dim", left_ - 6, y_of(at) + 4, label, "end");
    }
    const Ticks ticks = ticks_of_x();
    for (int i = 0; i < ticks.count; ++i) {
      front_.line("grid", x_of(ticks.at(i)), bottom_, x_of(ticks.at(i)), bottom_ + 4);
      if (x_of(ticks.at(i)) + width_of(ticks.label(i), 11) / 2 < right_ + 16)
        front_.words("s dim", x_of(ticks.at(i)), bottom_ + 17, ticks.label(i), "middle");
    }
    front_.words("s dim", (left_ + right_) / 2, bottom_ + 33, fitted_words(how_.x, 11, right_ - left_), "middle");
    front_.words("s dim", margin, top_ - 10, fitted_words(how_.y + (how_.logarithmic ? ", logarithmic" : ""), 11, right_ - margin));
    for (std::size_t c = 0; c < curves_.size(); ++c) curve(c);
    const double height = std::max({bottom_ + 44, top_ + 18 * static_cast<double>(curves_.size()) + 10});
    return svg_document(wide(), height, how_.title.empty() ? how_.y : how_.title, front_.text());
  }

 private:
  /// From 0.5 to 2.5, of what is drawn.
  struct Range {
    double low = 0, high = 0;
  };
  static constexpr double margin = 16, sample = 26;

  [[nodiscard]] double wide() const { return std::max(400.0, how_.width); }
  [[nodiscard]] double scaled(double y) const { return how_.logarithmic ? std::log10(y) : y; }
  [[nodiscard]] double x_of(double x) const { return left_ + (x - x_.low) / (x_.high - x_.low) * (right_ - left_); }
  [[nodiscard]] double y_of(double scaled) const { return bottom_ - (scaled - y_.low) / (y_.high - y_.low) * (bottom_ - top_); }

  /// As many as have room beside each other, at most ten.
  [[nodiscard]] Ticks ticks_of_x() const {
    for (int most = 10; most > 2; --most)
      if (const Ticks ticks{x_.low, x_.high, most};
          width_of(ticks.label(0) + ticks.label(ticks.count - 1), 11) / 2 + 10 < ticks.step / (x_.high - x_.low) * (right_ - left_))
        return ticks;
    return {x_.low, x_.high, 2};
  }
  /// On a logarithmic axis the powers of ten, and 2 and 5 times these where there are few; within one of them as on a linear axis.
  void ticks_of_y() {
    if (how_.logarithmic && y_.high - y_.low > 0.7) {
      const double every = std::max(1.0, std::ceil((y_.high - y_.low) / 8));
      for (double power = std::floor(y_.low); power <= y_.high; power += every)
        for (const int factor : {1, 2, 5}) {
          const double at = power + std::log10(factor);
          if (at < y_.low - 1e-9 || at > y_.high + 1e-9 || (factor > 1 && y_.high - y_.low > 3)) continue;
          y_ticks_.emplace_back(at, power >= 0 && power < 7   ? fixed_point(factor * std::pow(10, power), 0)
                                    : power < 0 && power > -5 ? fixed_point(factor * std::pow(10, power), static_cast<int>(-power))
                                                              : std::to_string(factor) + "e" + std::to_string(static_cast<int>(power)));
        }
      return;
    }
    const auto back = [&](double scaled) { return how_.logarithmic ? std::pow(10, scaled) : scaled; };
    const Ticks ticks{back(y_.low), back(y_.high), std::clamp(static_cast<int>(how_.height / 45), 3, 10)};
    for (int i = 0; i < ticks.count; ++i) y_ticks_.emplace_back(scaled(ticks.at(i)), ticks.label(i));
  }
  /// The line of a curve, dashed as its number says, and its name beside the frame.
  void curve(std::size_t number) {
    constexpr std::string_view dashes[] = {"", "7 3", "2 3", "8 3 2 3"};
    const std::string style = "curve c" + std::to_string(number % 6);
    const std::string_view dash = dashes[number % std::size(dashes)];
    const auto line = [&](const std::string& points, std::string_view title) {
      front_.add("<polyline class=\"" + style + '"' + (dash.empty() ? "" : " stroke-dasharray=\"" + std::string{dash} + '"') + " points=\"" + points +
                 "\"><title>" + xml_escaped(title) + "</title></polyline>\n");
    };
    std::string points;
    for (const auto& [x, y] : curves_[number].points) points += (points.empty() ? "" : " ") + pixels(x_of(x)) + ',' + pixels(y_of(scaled(y)));
    line(points, curves_[number].name);
    const double y = top_ + 18 * static_cast<double>(number) + 4;
    front_.add("<line class=\"" + style + '"' + (dash.empty() ? "" : " stroke-dasharray=\"" + std::string{dash} + '"') + " x1=\"" +
               pixels(right_ + 16) + "\" y1=\"" + pixels(y) + "\" x2=\"" + pixels(right_ + 16 + sample) + "\" y2=\"" + pixels(y) + "\"/>\n");
    front_.words("n", right_ + 22 + sample, y + 4, fitted_words(curves_[number].name, 12, wide() - margin - right_ - 22 - sample));
  }

  const std::vector<Curve>& curves_;
  const CurveSvg& how_;
  Range x_, y_;
  std::vector<std::pair<double, std::string>> y_ticks_;  // where, of what is scaled, and what stands there
  double left_ = 0, right_ = 0, bottom_ = 0;
  static constexpr double top_ = 64;
  Svg front_;
};

/// Losses by step, or any numbers by any others.
///
/// Errors  V06
/// Tested  report/curve_svg_test
[[nodiscard]] inline std::string curve_svg(const std::vector<Curve>& curves, const CurveSvg& how = {}) {
  refuse_curves(curves, how.logarithmic);
  return CurvePicture{curves, how}.document();
}

}  // namespace heddle::report_room

namespace heddle::extending {
using report_room::Curve, report_room::curve_svg, report_room::CurveSvg;
}  // namespace heddle::extending
