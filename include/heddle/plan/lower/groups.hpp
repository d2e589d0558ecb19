// SPDX-License-Identifier: MIT
// Room: plan. Parameter groups: which parameters the options of a plan name.
// Sees: graph, plan/options, plan/program.  Does not see: memory, instructions, processes, threads.
// In: NoDecay<...>, LearningRateFactor<...>, Graph.  Out: ChosenGroups, or L20, L21, L22.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "heddle/core/lists.hpp"
#include "heddle/graph/trace.hpp"
#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/options/groups.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// One name of an option: of NoDecay, or of LearningRateFactor<"backbone", 1, 10>, whose factor is 1 / 10.
struct GroupName {
  std::string_view words;
  bool spares = false;  ///< of NoDecay
  int numerator = 1;
  int denominator = 1;
  bool whole = true;     ///< false: a factor was written with a point, as 0.1
  bool found = false;    ///< a parameter that is trained has this name
  bool frozen = false;   ///< one that is not has it
  bool tracked = false;  ///< one that is tracked has it

  [[nodiscard]] constexpr int count() const {
    int dots = 0;
    for (const char c : words) dots += c == '.' ? 1 : 0;
    return dots + 1;
  }
  [[nodiscard]] constexpr std::string_view option() const { return spares ? "NoDecay" : "LearningRateFactor"; }
};

/// True if `words` are words of a state_dict name that follow one another; from its front if they begin with a number, which is a position.
[[nodiscard]] constexpr bool has_words(std::string_view name, std::string_view words) {
  if (words.empty()) return false;
  std::size_t begin = 0;
  while (begin + words.size() <= name.size()) {
    const std::size_t end = begin + words.size();
    if ((end == name.size() || name[end] == '.') && name.substr(begin, words.size()) == words) return true;
    if (words[0] <= '9') return false;
    while (begin < name.size() && name[begin] != '.') ++begin;
    ++begin;
  }
  return false;
}

/// The name whose factor a parameter has: of the most words among those that it has, and another one of as many words, if there is one.
/// Of LearningRateFactor<"blocks", 1, 2> and LearningRateFactor<"blocks.0", 1, 4> a parameter blocks.0.bias has the second.
struct FactorOf {
  const GroupName* name = nullptr;
  const GroupName* rival = nullptr;
};

/// What a graph makes of names; the tables belong to another owner and have their initial values: one group more than parameters, and by parameter
/// its group and its factor.
/// NoDecay<> in a model of two Linear makes 2 groups, of which 2 parameters have the second.
struct GroupStudy {
  const Graph& graph;
  GroupName* names;
  int name_count;
  int spares_vectors;  ///< how often NoDecay<> is named
  ParameterGroup* groups;
  std::int16_t* of_parameter;
  FactorOf* factor_of;
  int count = 1;
  Diagnosis fault{};

  constexpr void run() {
    check_names();
    bool trained_vector = false, frozen_vector = false;
    for (int n = 0; n < graph.node_count && fault.ok(); ++n)
      for (int k = 0; k < graph.nodes[n].parameter_count && fault.ok(); ++k) {
        if (is_vector(n, k) && !tracked(n, k)) (graph.frozen(n) ? frozen_vector : trained_vector) = true;
        read_names(n, k);
      }
    if (!fault.ok()) return;
    for (int i = 0; i < name_count; ++i)
      if (!names[i].found) return refuse_unfound(names[i]);
    if (spares_vectors > 0 && !trained_vector) return refuse_no_vector(frozen_vector);
    for (int n = 0; n < graph.node_count; ++n)
      for (int k = 0; k < graph.nodes[n].parameter_count; ++k) of_parameter[number(n, k)] = group_of(n, k);
  }

 private:
  [[nodiscard]] constexpr Diagnosis refuse() const { return Diagnosis{Code{'L', 20}, ""} << graph.model.view(); }
  [[nodiscard]] constexpr int number(int node, int k) const { return graph.nodes[node].first_parameter + k; }
  /// Of a use of tied parameters that of its owner, which is before it.
  [[nodiscard]] constexpr int owner(int node, int k) const { return number(graph.owner(node), k); }
  [[nodiscard]] constexpr bool tracked(int node, int k) const { return graph.leaf(node).parameters[k].tracked(); }
  [[nodiscard]] constexpr bool is_vector(int node, int k) const { return graph.leaf(node).parameters[k].shape.dimensions < 2; }
  [[nodiscard]] constexpr Text<160> first_trained_name() const {
    int n = 0;
    while (n < graph.node_count && graph.nodes[n].trained_count() == 0) ++n;
    return n < graph.node_count ? graph.parameter_name(n, 0) : Text<160>{};
  }

  constexpr void check_names() {
    if (spares_vectors > 1) return void(fault = Diagnosis{Code{'L', 20}, "NoDecay<> is named twice. Fix: keep one of them."});
    for (int i = 0; i < name_count && fault.ok(); ++i) {
      const GroupName& name = names[i];
      if (!name.whole)
        return void(fault = Diagnosis{Code{'L', 21}, ""} << "LearningRateFactor of '" << name.words
                                                         << "' is no fraction of two ints. Fix: write LearningRateFactor<\"" << name.words
                                                         << "\", 1, 10> for 0.1.");
      if (!name.spares && (name.numerator < 1 || name.denominator < 1))
        return void(fault = Diagnosis{Code{'L', 21}, ""} << "LearningRateFactor of '" << name.words << "' is " << name.numerator << " / "
                                                         << name.denominator
                                                         << ", which is not above 0. Fix: name a numerator and a denominator of at least 1"
                                                         << (name.numerator == 0 ? ", or Frozen<L> for a layer that is not to change." : "."));
      for (int j = 0; j < i; ++j)
        if (names[j].words == name.words && names[j].spares == name.spares)
          return void(fault = Diagnosis{Code{'L', 20}, ""} << name.option() << " names '" << name.words << "' twice. Fix: keep one of them.");
    }
  }
  constexpr void read_names(int node, int k) {
    const Text<160> own = graph.parameter_name(node, k);
    for (int i = 0; i < name_count; ++i) {
      if (!has_words(own.view(), names[i].words)) continue;
      (tracked(node, k) ? names[i].tracked : graph.frozen(node) ? names[i].frozen : names[i].found) = true;
      if (tracked(node, k)) continue;
      if (names[i].spares)
        of_parameter[owner(node, k)] = 1;  // until groups are numbered
      else
        take(names[i], factor_of[owner(node, k)]);
    }
  }
  /// Names of an owner and of its uses meet here.
  static constexpr void take(const GroupName& name, FactorOf& factor) {
    if (factor.name == nullptr || factor.name->count() < name.count())
      factor = {&name, nullptr};
    else if (factor.name != &name && factor.name->count() == name.count())
      factor.rival = &name;
  }
  constexpr void refuse_unfound(const GroupName& name) {
    const bool untrained = name.frozen || name.tracked;
    fault = refuse() << " has " << (untrained ? "parameters" : "no parameter") << " of the name '" << name.words << "'";
    if (untrained)
      fault << " in " << (name.frozen ? "frozen layers" : "what layers track") << " alone, which are not trained, so " << name.option()
            << " of it changes nothing";
    fault << ". Fix: " << (untrained ? "drop it, or " : "") << "use words of a name such as '" << first_trained_name().view() << "'.";
  }
  constexpr void refuse_no_vector(bool frozen) {
    fault = refuse() << " has " << (frozen ? "" : "no ") << "parameter" << (frozen ? "s" : "") << " of fewer than two dimensions"
                     << (frozen ? " in frozen layers alone, which are not trained" : "")
                     << ", so NoDecay<> means none. Fix: name parameters such as '" << first_trained_name().view() << "', or drop it.";
  }
  [[nodiscard]] static constexpr int common_factor(int a, int b) { return b == 0 ? a : common_factor(b, a % b); }
  [[nodiscard]] constexpr std::int16_t group_of(int node, int k) {
    if (graph.frozen(node) || tracked(node, k)) return 0;  // nothing changes it
    if (const int p = owner(node, k); p != number(node, k)) return of_parameter[p];
    ParameterGroup own;
    own.decays = of_parameter[number(node, k)] == 0 && !(spares_vectors > 0 && is_vector(node, k));
    if (const FactorOf& factor = factor_of[number(node, k)]; factor.name != nullptr) {
      if (factor.rival != nullptr && fault.ok())
        fault = refuse() << " has a parameter '" << graph.parameter_name(node, k).view() << "' of two factors, of '" << factor.name->words
                         << "' and of '" << factor.rival->words << "'. Fix: name the one that counts by more words of the parameter's name.";
      const int shared = common_factor(factor.name->numerator, factor.name->denominator);
      own.numerator = factor.name->numerator / shared;
      own.denominator = factor.name->denominator / shared;
    }
    int g = 0;
    while (g < count && groups[g] != own) ++g;
    if (g == count) groups[count++] = own;
    return static_cast<std::int16_t>(g);
  }
};

/// Owns the groups of a plan, as a constant; NoDecay<> in a model of 4 parameters has 2 groups, and a number of one for each parameter.
template <int Parameters> struct GroupChoice {
  ParameterGroup list[std::size_t{Parameters + 1}]{};
  std::int16_t of_parameter[std::size_t{Parameters + 1}]{};
  int count = 0;
  Diagnosis fault;
  [[nodiscard]] constexpr ParameterGroups view(bool clips_values = false) const { return {list, of_parameter, count, clips_values}; }
};

template <class Part> inline constexpr bool is_group_option = false;
template <Name... Names> inline constexpr bool is_group_option<NoDecay<Names...>> = true;
template <Name Label, auto Numerator, auto Denominator>
inline constexpr bool is_group_option<LearningRateFactor<Label, Numerator, Denominator>> = true;

/// Notes the names that the parts of a plan say, in their order. NoDecay<"a", "b"> beside LearningRateFactor<"c", 2> is 3 names.
template <int Most> struct GroupNames {
  GroupName list[std::size_t{Most + 1}]{};
  int count = 0;
  int spares_vectors = 0;
  bool spares = false;
  bool scales = false;

  template <class Part> constexpr void read(std::type_identity<Part>) {}
  template <Name... Names> constexpr void read(std::type_identity<NoDecay<Names...>>) {
    spares = true;
    if (sizeof...(Names) == 0) ++spares_vectors;
    sum_of({(void(list[count++] = GroupName{Names.view(), true}), 0)...});
  }
  template <Name Label, auto Numerator, auto Denominator> constexpr void read(std::type_identity<LearningRateFactor<Label, Numerator, Denominator>>) {
    scales = true;
    if constexpr (std::is_same_v<std::remove_cv_t<decltype(Numerator)>, int> && std::is_same_v<std::remove_cv_t<decltype(Denominator)>, int>)
      list[count++] = GroupName{Label.view(), false, Numerator, Denominator};
    else
      list[count++] = GroupName{.words = Label.view(), .whole = false};
  }
};
template <class Part> inline constexpr int names_of = 0;
template <Name... Names> inline constexpr int names_of<NoDecay<Names...>> = static_cast<int>(sizeof...(Names));
template <Name Label, auto Numerator, auto Denominator> inline constexpr int names_of<LearningRateFactor<Label, Numerator, Denominator>> = 1;

/// L22: what a group would change is there to be changed.
template <class Optimizer> [[nodiscard]] constexpr Diagnosis check_changed_options(bool spares, bool scales) {
  using Options = typename Optimizer::Options;
  constexpr bool has_decay = requires(Options & o) { o.weight_decay = 0; };
  constexpr bool has_rate = requires(Options & o) { o.learning_rate *= 2; };
  const bool decay = spares && !has_decay;
  if (!decay && !(scales && !has_rate)) return {};
  return Diagnosis{Code{'L', 22}, ""} << (decay ? "NoDecay" : "LearningRateFactor") << " changes " << (decay ? "weight_decay" : "learning_rate")
                                      << ", which the Options of " << Optimizer::name() << " do not have. Fix: drop "
                                      << (decay ? "NoDecay" : "LearningRateFactor") << ", or add " << (decay ? "weight_decay" : "learning_rate")
                                      << " to them.";
}

/// The groups that the parts of a plan name in its model; a plan without such an option has none.
///
/// Errors  L20 names that are not there or are said twice, L21 factors, L22 options of the optimizer
/// Tested  plan/lower/groups_test, fail/L20_name_not_there, fail/L21_factor_of_zero, fail/L22_no_weight_decay
template <class Model, class Optimizer, class... Types> struct ChosenGroups {
  static constexpr auto value = [] {
    if constexpr (sum_of({(is_group_option<Types> ? 1 : 0)...}) == 0) {
      return GroupChoice<0>{};
    } else {
      constexpr int parameters = graph_of<Model>.parameter_count;
      GroupChoice<parameters> out;
      GroupNames<sum_of({names_of<Types>...})> names;
      sum_of({(names.read(std::type_identity<Types>{}), 0)...});
      out.fault = check_changed_options<Optimizer>(names.spares, names.scales);
      if (!out.fault.ok()) return out;
      FactorOf factor_of[std::size_t{parameters + 1}]{};
      GroupStudy study{graph_of<Model>, names.list, names.count, names.spares_vectors, out.list, out.of_parameter, factor_of};
      study.run();
      out.count = study.count;
      out.fault = study.fault;
      return out;
    }
  }();
};

/// A plan with the options of groups that stand among Types besides: one device that a plan with groups is compared with.
template <class ThePlan, class... Types> struct WithGroupOptions { using type = ThePlan; };
template <template <class...> class Of, class... Parts, class First, class... Rest>
struct WithGroupOptions<Of<Parts...>, First, Rest...>
    : WithGroupOptions<std::conditional_t<is_group_option<First>, Of<Parts..., First>, Of<Parts...>>, Rest...> {};

/// L20 of a group that changes something, but of parameters that are not trained alone: it would change nothing without a word.
[[nodiscard]] constexpr Diagnosis check_frozen_groups(const Graph& graph, const ParameterGroups& groups) {
  for (int g = 0; g < groups.count; ++g) {
    int frozen = -1, trained = -1;  // nodes
    for (int n = 0; n < graph.node_count; ++n)
      for (int k = 0; k < graph.nodes[n].parameter_count; ++k)
        if (groups.of_parameter[graph.nodes[n].first_parameter + k] == g) (graph.frozen(n) ? frozen : trained) = n;
    if (frozen < 0 || trained >= 0 || groups.list[g] == ParameterGroup{}) continue;
    return Diagnosis{Code{'L', 20}, ""} << "group " << g << " has parameters of frozen layers alone, such as " << graph.describe(frozen).view()
                                        << ", which are not trained, so it changes nothing. Fix: give them a group of factor 1 that decays, such as "
                                           "group 0 of a Plan.";
  }
  return {};
}

/// L20, L21 of groups that no options of a Plan made.
///
/// Tested  plan/lower/lowering_request_test
[[nodiscard]] constexpr Diagnosis check_groups(const Graph& graph, const ParameterGroups& groups) {
  if (groups.count == 0) return {};
  if (groups.count < 0 || groups.count > graph.parameter_count + 1 || groups.list == nullptr || groups.of_parameter == nullptr)
    return Diagnosis{Code{'L', 20}, ""} << graph.model.view() << " is to have " << groups.count
                                        << " groups of parameters, or a view of them is missing. Fix: let groups show 1 to "
                                        << graph.parameter_count + 1 << " groups, and the group of each of " << graph.parameter_count
                                        << " parameters.";
  for (int g = 0; g < groups.count; ++g)
    if (groups.list[g].numerator < 1 || groups.list[g].denominator < 1)
      return Diagnosis{Code{'L', 21}, ""} << "group " << g << " of parameters has the factor " << groups.list[g].numerator << " / "
                                          << groups.list[g].denominator
                                          << ", which is not above 0. Fix: name a numerator and a denominator of at least 1.";
  for (int n = 0; n < graph.node_count; ++n)
    for (int k = 0; k < graph.nodes[n].parameter_count; ++k) {
      const int own = groups.of_parameter[graph.nodes[n].first_parameter + k];
      const int owner = groups.of_parameter[graph.nodes[graph.owner(n)].first_parameter + k];
      if (own == owner && own >= 0 && own < groups.count) continue;
      return Diagnosis{Code{'L', 20}, ""} << "parameter '" << graph.parameter_name(n, k).view() << "' is of group " << own << ", but "
                                          << (own == owner ? "groups are 0 to " : "what it is tied to is of group ")
                                          << (own == owner ? groups.count - 1 : owner) << ". Fix: name one of them.";
    }
  return check_frozen_groups(graph, groups);
}

}  // namespace heddle::plan_room
