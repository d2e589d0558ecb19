// SPDX-License-Identifier: MIT
#include "heddle/run/said_at_crash.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

#include "heddle/backend/cpu.hpp"
#include "heddle/run/gradcheck.hpp"

using namespace heddle;

namespace said {

/// y = gain x, whose kernel asks for no null: it says that its backward can be asked for one gradient at a time, and is then handed null.
template <bool Parts> struct Gain {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gain";
    leaf.spelled << (Parts ? "Gain<true>" : "Gain<false>");
    leaf.in = leaf.out = in;
    leaf.with({"gain", Shape{in.shape.last()}, Initial::ones});
    return leaf;
  }
};

/// What a program wrote to stderr, and by which signal it ended.
struct Ended {
  std::string text;
  int signal = 0;
};
template <class Body> Ended ended(Body body) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(SIGSEGV, SIG_DFL);  // not that of the tests
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  Ended found;
  std::array<char, 4096> some{};
  for (ssize_t got = 0; (got = read(ends[0], some.data(), some.size())) != 0;) {
    if (got > 0) found.text.append(some.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) found.signal = WTERMSIG(status);
  return found;
}

}  // namespace said

template <bool Parts, class C> struct heddle::Kernel<said::Gain<Parts>, C> {
  static constexpr bool backward_in_parts = Parts;
  static void forward(const extending::ForwardCall& call) {
    const std::int64_t n = call.leaf->in.elements();
    for (std::int64_t i = 0; i < call.rows * n; ++i)
      call.output[i] = call.input[i] * call.parameters[0][i % call.leaf->parameters[0].shape.elements()];
  }
  static void backward(const extending::BackwardCall& call) {
    const std::int64_t n = call.leaf->in.elements(), width = call.leaf->parameters[0].shape.elements();
    float* const gain = call.parameter_gradients[0];
    if (!call.add) C::zero(gain, width);
    for (std::int64_t i = 0; i < call.rows * n; ++i) {
      gain[i % width] += call.output_gradient[i] * call.input[i];
      call.input_gradient[i] = call.output_gradient[i] * call.parameters[0][i % width];
    }
  }
};

TEST_CASE("a kernel that goes through null in a gradcheck ends the program with what was null in which call") {
  const said::Ended parts = said::ended([] { static_cast<void>(gradcheck<said::Gain<true>>()); });
  CHECK(parts.text.find("[heddle.G11] Gain<true>: its backward reads or writes where no memory is and ends the program. Null in this call: "
                        "call.parameter_gradients. Fix: make nothing of these, as in a training that hands them over so.\n") != std::string::npos);
  const said::Ended absent = said::ended([] { static_cast<void>(gradcheck<said::Gain<false>>()); });
  CHECK(absent.text.find(
            "its backward reads or writes where no memory is and ends the program. Null in this call: call.output, call.input_gradient.") !=
        std::string::npos);
#if !defined(__SANITIZE_ADDRESS__)
  CHECK(parts.signal == SIGSEGV);
  CHECK(absent.signal == SIGSEGV);
#endif
}

TEST_CASE("nothing is said once the call is over, nor where nothing happens") {
  const said::Ended after = said::ended([] {
    { const SaidAtCrash crash{"too late"}; }
    std::raise(SIGSEGV);
  });
  CHECK(after.text.find("too late") == std::string::npos);
  const said::Ended quiet = said::ended([] { const SaidAtCrash crash{"nothing happened"}; });
  CHECK(quiet.text.empty());
  CHECK(quiet.signal == 0);
}

TEST_CASE("the handler of a program comes back as it was, with its flags and its mask, and while several live each thread says its own") {
  const said::Ended kept = said::ended([] {
    struct sigaction own {};
    own.sa_handler = [](int) { _exit(7); };
    own.sa_flags = SA_ONSTACK | SA_NODEFER;
    sigaddset(&own.sa_mask, SIGINT);
    sigaction(SIGSEGV, &own, nullptr);
    { const SaidAtCrash outer{"outer"}, inner{"inner"}; }
    struct sigaction now {};
    sigaction(SIGSEGV, nullptr, &now);
    if (now.sa_handler != own.sa_handler || (now.sa_flags & (SA_ONSTACK | SA_NODEFER)) != (SA_ONSTACK | SA_NODEFER) ||
        sigismember(&now.sa_mask, SIGINT) != 1)
      static_cast<void>(!write(STDERR_FILENO, "lost", 4));
  });
  CHECK(kept.text.empty());
  const said::Ended threads = said::ended([] {
    std::thread other{[] {
      for (int i = 0; i < 2000; ++i) const SaidAtCrash crash{"of the other thread"};
    }};
    for (int i = 0; i < 2000; ++i) const SaidAtCrash crash{"too early"};
    other.join();
    const SaidAtCrash outer{"outer"}, crash{"of this thread"};
    std::raise(SIGSEGV);
    std::raise(SIGSEGV);
  });
  CHECK(threads.text.find("of this thread\n") == 0);
#if !defined(__SANITIZE_ADDRESS__)
  CHECK(threads.signal == SIGSEGV);
#endif
}
