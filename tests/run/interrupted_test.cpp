// SPDX-License-Identifier: MIT
#include "heddle/run/interrupted.hpp"

#include <doctest/doctest.h>

#include "says.hpp"

using heddle::run_room::Interrupted, heddle::run_room::refuse_after;
using heddle::tests::sentence;

TEST_CASE("what an interrupted call leaves behind is said by how it ended") {
  const std::string remedy = ". Fix: make a new trainer and load the parameters of the last good step.";
  CHECK(sentence([] { refuse_after(Interrupted::in_a_step, "step 7", 2); }) ==
        "[heddle.R04] step 7 was interrupted after some ranks had changed their parameters, so they no longer agree" + remedy);
  CHECK(sentence([] { refuse_after(Interrupted::in_a_step, "step 7", 1); }) ==
        "[heddle.R04] step 7 was interrupted after it had changed parameters, and those from before it are gone" + remedy);
  CHECK(sentence([] { refuse_after(Interrupted::by_a_lost_rank, "step 7", 2); }) ==
        "[heddle.R04] step 7 was interrupted when a rank was lost, and the processes cannot know what the others have changed since" + remedy);
  CHECK(sentence([] { refuse_after(Interrupted::while_set, "step 7", 2); }) ==
        "[heddle.R04] a call that sets parameters was interrupted after it had set some of them, so they are of two origins" + remedy);
}
