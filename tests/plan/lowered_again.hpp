// SPDX-License-Identifier: MIT
// Room: tests. Every plan that a program checks is lowered and checked once more while it runs: both ways make the same.
// Sees: graph, plan.  Does not see: processes, kernels.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include <cxxabi.h>
#include <fcntl.h>
#include <unistd.h>

#include "heddle/core/written.hpp"
#include "heddle/plan/lowered.hpp"
#include "heddle/plan/read/program_hash.hpp"
#include "plan/difference.hpp"
#include "plan/noticed.hpp"

namespace heddle::tests {

/// The plan is lowered once more, from its parts as data. Returns in words where what comes out is not what the compiler made; "" if nowhere.
inline std::string lowered_otherwise(const NoticedPlan& plan) {
  if (plan.request == nullptr) return "";  // only a type can ask so
  const LoweringRequest request = plan.request();
  const LoweredPlan again{request};
  const std::string refused{check(again).sentence().view()};
  if (const std::string found{plan.found->sentence().view()}; refused != found) return written({"check says '", found, "' and '", refused, "'"});
  if (plan.training == nullptr || !again.fault().ok()) return "";
  const std::string words = Difference(*plan.training, request.trains ? again.training() : again.applied()).words();
  return words.empty() ? Difference(*plan.evaluation, request.trains ? again.evaluation() : again.applied()).words() : words;
}

/// All plans that the program checks. Each is appended as a line to the file that HEDDLE_PLANS_FILE names, if it is set: what was compared, a hash,
/// the type. HEDDLE_PLANS_ARE_SPOILT makes all of them differ, so that it can be seen that this is told.
struct LoweredAgain {
  std::string differences;

  LoweredAgain() {
    const char* const path = std::getenv("HEDDLE_PLANS_FILE");
    const bool spoilt = std::getenv("HEDDLE_PLANS_ARE_SPOILT") != nullptr;
    for (const NoticedPlan* noticed = first_noticed; noticed != nullptr; noticed = noticed->next) {
      NoticedPlan plan = *noticed;
      if (spoilt) plan.training = plan.evaluation;
      if (const std::string words = lowered_otherwise(plan); !words.empty())
        differences += written({spelled(plan), " is lowered otherwise while a program runs: ", words, "\n"});
      if (path != nullptr) write_line(path, *noticed);
    }
  }

 private:
  static std::string spelled(const NoticedPlan& plan) {
    const std::unique_ptr<char, decltype(&std::free)> name{abi::__cxa_demangle(plan.name, nullptr, nullptr, nullptr), &std::free};
    std::string spelled = name ? name.get() : plan.name;
    if (spelled.ends_with('*')) spelled.pop_back();  // its address is typed, since a refused plan cannot be completed
    return spelled;
  }
  static void write_line(const char* path, const NoticedPlan& plan) {
    const bool refused = !plan.found->ok();
    const char* const compared = plan.request == nullptr ? "type_only" : refused ? "refused" : plan.request().trains ? "plan" : "inference";
    const std::uint64_t hash = plan.training == nullptr ? 0 : program_hash(*plan.training);
    const std::string line = written({compared, " ", std::to_string(hash), " ", plan.name, "\n"});
    const auto before = std::signal(SIGXFSZ, SIG_IGN);  // tools are also started where no file may grow
    if (const int file = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666); file >= 0) {
      [[maybe_unused]] const auto bytes = ::write(file, line.data(), line.size());  // one call: lines of other processes stand before or after it
      ::close(file);
    }
    std::signal(SIGXFSZ, before);
  }
};

}  // namespace heddle::tests
