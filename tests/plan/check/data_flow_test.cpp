// SPDX-License-Identifier: MIT
#include "heddle/plan/check/data_flow.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "heddle/graph/branches.hpp"
#include "heddle/graph/frozen.hpp"
#include "heddle/graph/layers/concat.hpp"
#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/norm.hpp"
#include "heddle/graph/layers/rescaling.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"
#include "heddle/plan/check/check.hpp"
#include "heddle/plan/inference.hpp"
#include "plan/flow.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr auto flows = Code{'S', 17};
using Inferred = Inference<Chain, Batch<16>, Single>;  // its targets have no elements
struct Letters : Sequential<Input<1>, Embedding<12, 6>, Linear<6, 8>, Tanh, Linear<8, 12>> {};
struct Begun : Sequential<Input<8>, Linear<8, 6>, Linear<6, 3>> {};  // its input is copied
using Copied = Trained<Begun, Single>;
struct Steps : Sequential<Input<4, 7>, Linear<7, 12>, Residual<Linear<12, 12>, Tanh, Linear<12, 12>>, Linear<12, 6>> {};
using SplitSequence = Plan<Steps, MeanSquaredError, SGD, Batch<12>, TensorParallel<2, SequenceParallel>>;
using InParts = Plan<Letters, CrossEntropy, SGD, Batch<4>, TensorParallel<2>>;  // the loss takes parts of the output

struct Several
    : Sequential<Inputs<Input<4>, Input<4>, Input<8>>, Branches<Add, Embedding<12, 2>, Sequential<FromInput<1>, Embedding<12, 2>>>, Flatten,
                 Linear<8, 6>, Tanh, Branches<Concat, Sequential<>, Sequential<FromInput<2>, Rescaling<>, Linear<8, 6>>>, Linear<12, 3>> {};

struct Normed : Sequential<LayerNorm<8>, Linear<8, 6>, RMSNorm<6>, Linear<6, 3>> {};
using WithNorms = Trained<Normed, Single>;

struct Joined : Sequential<Linear<8, 6>, Branches<Concat, Linear<6, 4>, Tanh>, Linear<10, 3>> {};
using WithJoin = Trained<Joined, Single>;

/// What check says with one entry changed.
template <class Change> Diagnosis changed(const Program& p, BodyOp what, int which, Change change) {
  Copy copy{p};
  for (Entry& entry : copy.entries)
    if (entry.what == what && body_of(p, static_cast<int>(&entry - copy.entries.data())).count() > 0 && which-- == 0) {
      change(entry);
      break;
    }
  REQUIRE(which < 0);
  return check(copy.view());
}
Diagnosis without(const Program& p, BodyOp what, int which = 0) {
  return changed(p, what, which, [](Entry& entry) { entry = no_entry(); });
}

int index_of(const Program& p, BodyOp what) {
  int e = p.forward_bodies[0].begin;
  while (e < p.forward_bodies[0].end && p.entries[e].what != what) ++e;
  REQUIRE(e < p.forward_bodies[0].end);
  return e;
}
/// What check says of a Program of one chunk with entries inserted into its forward, behind number `at`.
Diagnosis inserted(Program p, int at, const std::vector<Entry>& more) {
  std::vector<Entry> entries(p.entries, p.entries + std::max(p.forward_bodies[0].end, p.training ? p.backward_bodies[0].end : 0));
  entries.insert(entries.begin() + at + 1, more.begin(), more.end());
  const auto longer = static_cast<int>(more.size());
  const IndexRange forward{p.forward_bodies[0].begin, p.forward_bodies[0].end + longer};
  const IndexRange backward{p.backward_bodies[0].begin + longer, p.backward_bodies[0].end + longer};
  p.entries = entries.data();
  p.forward_bodies = &forward;
  if (p.training) p.backward_bodies = &backward;
  return check(p);
}

/// What the rule says if in all bodies of a chunk one place stands for another, and if so asked that one for the first.
Diagnosis renamed(const Program& p, int entry, Place from, Place to, bool exchanged = false) {
  Copy copy{p};
  for (int c = 0; c < p.chunks; ++c) {
    const IndexRange bodies[] = {p.forward_bodies[c], p.training ? p.backward_bodies[c] : IndexRange{},
                                 p.training ? p.weight_bodies[c] : IndexRange{}};
    const auto is_in = [](const IndexRange& body, int e) { return e >= body.begin && e < body.end; };
    if (std::none_of(std::begin(bodies), std::end(bodies), [&](const IndexRange& body) { return is_in(body, entry); })) continue;
    for (const IndexRange& body : bodies)
      for (int e = body.begin; e < body.end; ++e)
        for (Place* place : {&copy.entries[static_cast<std::size_t>(e)].a, &copy.entries[static_cast<std::size_t>(e)].b,
                             &copy.entries[static_cast<std::size_t>(e)].c, &copy.entries[static_cast<std::size_t>(e)].d})
          if (*place == from && (from.pool != Place::scratch || is_in(body, entry)))
            *place = to;
          else if (exchanged && *place == to)
            *place = from;
  }
  return run_time::value_flow(copy.view());
}
/// Entries that are left out alone and missed by nobody.
int missed_deletions(const Program& p) {
  REQUIRE(check(p).sentence().view() == "");
  Copy copy{p};
  int missed = 0;
  for (std::size_t e = 0; e < copy.entries.size(); ++e) {
    if (body_of(p, static_cast<int>(e)).count() == 0) continue;
    const Entry kept = std::exchange(copy.entries[e], no_entry());
    CAPTURE(static_cast<int>(kept.what));
    CAPTURE(e);
    const bool found = !check(copy.view()).ok();
    CHECK(found);
    missed += found ? 0 : 1;
    copy.entries[e] = kept;
  }
  return missed;
}

}  // namespace

TEST_CASE("what the lowering makes flows as the graph says, under every policy and order") {
  for (const Program* p :
       {&Replicas::training, &InTurns::training, &HalvedSlices::training, &SplitSlices::training, &SplitHalves::training, &TiedStages::training,
        &InTurns::evaluation, &Inferred::training, &Inferred::evaluation, &SplitSlices::evaluation, &SplitHalves::evaluation})
    CHECK(check(*p).sentence().view() == "");
}

TEST_CASE("any one entry of any body that is missing is found") {
  CHECK(missed_deletions(Trained<Chain, Single>::training) == 0);
  CHECK(missed_deletions(Replicas::training) == 0);
  CHECK(missed_deletions(InTurns::training) == 0);
  CHECK(missed_deletions(InTurns::evaluation) == 0);
  CHECK(missed_deletions(HalvedSlices::training) == 0);
  CHECK(missed_deletions(SplitSlices::training) == 0);
  CHECK(missed_deletions(SplitSlices::evaluation) == 0);
  CHECK(missed_deletions(SplitHalves::training) == 0);
  CHECK(missed_deletions(TiedStages::training) == 0);
}

TEST_CASE("what is loaded, stored and judged has the elements of the model") {
  const Program& p = Trained<Chain, Single>::training;
  const auto fewer = [](Entry& entry) { --entry.features; };
  CHECK(refused_for(changed(p, BodyOp::load_input, 0, fewer), flows, "takes in the forward of chunk 0 7 elements a row, but there are 8"));
  CHECK(refused_for(changed(p, BodyOp::loss, 0, fewer), flows, "the loss takes in the forward of chunk 0 2 elements a row, but there are 3"));
  CHECK(refused_for(changed(Trained<Chain, Single>::evaluation, BodyOp::store_output, 0, fewer), flows, "2 elements a row, but there are 3"));
}

TEST_CASE("each input of a model flows to the layers that read it, whatever else is loaded has another name, size or type") {
  using Staged = Plan<Several, CrossEntropy, SGD, Batch<8>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
  const Program& p = Staged::training;
  CHECK(check(p).sentence().view() == "");
  CHECK(missed_deletions(p) == 0);
  CHECK(missed_deletions(Staged::evaluation) == 0);
  const auto loads = [](int number) { return [=](Entry& entry) { entry.operand = static_cast<std::int8_t>(number); }; };
  CHECK(refused_for(changed(p, BodyOp::load_input, 0, loads(1)), flows,
                    "reads in the forward of chunk 0 its input, but there lies input 1 of the model"));
  CHECK(refused_for(changed(p, BodyOp::load_input, 1, loads(0)), flows,
                    "reads in the forward of chunk 0 its input, but there lies the input of the model"));
  CHECK(refused_for(changed(p, BodyOp::load_input, 2, loads(1)), flows, "takes in the forward of chunk 1 8 elements a row, but there are 4"));
  CHECK(refused_for(changed(p, BodyOp::load_input, 2, [](Entry& entry) { entry.type = ElementType::float32; }), flows,
                    "writes in the forward of chunk 1 float32, but what is read is uint8"));
  CHECK(refused_for(changed(p, BodyOp::load_input, 1, loads(3)), Code{'S', 20}, "names input 3, but what is there is 0 to 2"));
}

TEST_CASE("a layer whose input is not made, or was overwritten, is named with what lies there") {
  const Program& p = Trained<Chain, Single>::training;
  CHECK(refused_for(without(p, BodyOp::load_input), flows,
                    "layer 0 '0.0' Linear<8, 6> reads in the forward of chunk 0 its input, but there lies nothing"));
  const auto alone = [](Entry& entry) {  // the one before may run at once with it
    (&entry)[-1].fused = false;
    entry = no_entry();
  };
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 1, alone), flows,
                    "layer 2 '1.0' Linear<6, 6> reads in the forward of chunk 0 its input, but there lies the output of layer 0, 6 elements a row, "
                    "whole on every rank"));
  CHECK(refused_for(without(p, BodyOp::loss), flows, "the loss is never made"));
  CHECK(refused_for(without(p, BodyOp::load_targets), flows, "the loss reads in the forward of chunk 0 the targets, but there lies nothing"));
  CHECK(refused_for(without(p, BodyOp::leaf_backward, 4), flows, "layer 0 '0.0' Linear<8, 6> makes no gradient of its parameters"));
  CHECK(refused_for(without(InTurns::evaluation, BodyOp::store_output), flows, "the loss has no output stored"));
}

TEST_CASE("the backward of a norm reads the statistics that its own forward has left, which nothing lies over") {
  const Program& p = lower<WithNorms>();
  const auto statistics = [&](int node) {
    for (int e = p.forward_bodies[0].begin; e < p.forward_bodies[0].end; ++e)
      if (p.entries[e].what == BodyOp::leaf_forward && p.entries[e].node == node) return p.entries[e].e;
    return Place{};
  };
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 0, [](Entry& e) { e.e = Place{}; }), flows,
                    "layer 0 '0' LayerNorm<8> reads in the backward of chunk 0 its statistics, but there lies nothing"));
  CHECK(refused_for(changed(p, BodyOp::leaf_backward, 1, [&](Entry& e) { e.e = statistics(0); }), flows,
                    "layer 2 '2' RMSNorm<6> reads in the backward of chunk 0 its statistics, but there lies the statistics of layer 0"));
  CHECK(changed(p, BodyOp::leaf_forward, 0, [](Entry& e) { e.e = e.d; }).code == flows);
  CHECK(changed(p, BodyOp::leaf_forward, 0, [](Entry& e) { e.e = e.a; }).code == flows);
  CHECK(changed(p, BodyOp::leaf_forward, 1, [&](Entry& e) { e.d = statistics(0); }).code == flows);
  CHECK(changed(p, BodyOp::leaf_backward, 1, [&](Entry& e) { e.d = e.e; }).code == flows);
}

TEST_CASE("a value in another place than its reader looks is found, and so is a gradient") {
  const Program& p = Trained<Chain, Single>::training;
  const auto moved = [](Entry& entry) { entry.a.offset += line_bytes * 64; };
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 2, moved), flows, " reads in the forward of chunk 0 its input, but there lies nothing"));
  CHECK(refused_for(changed(p, BodyOp::leaf_backward, 2, moved), flows, " its saved input, but there lies nothing"));
  const auto back = [](Entry& entry) { entry.c = entry.a; };
  CHECK(refused_for(changed(p, BodyOp::leaf_backward, 2, back), flows,
                    " reads in the backward of chunk 0 the gradient of its output, but there lies the output"));
  const auto away = [&p](Entry& entry) { entry.d.offset = p.arenas[0].total; };
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 2, away), flows, "6 elements a row to a place that is too small, or not of its device"));
  const auto over = [](Entry& entry) { entry.d = entry.a; };
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 2, over), flows, " writes in the forward of chunk 0 over its input"));
  const auto beside = [](Entry& entry) { entry.d = {entry.a.pool, entry.a.offset + line_bytes}; };
  CHECK(refused_for(changed(p, BodyOp::leaf_forward, 2, beside), flows, " over its input"));
  const auto again = [](Entry& entry) { entry.d = entry.c; };
  CHECK(refused_for(changed(p, BodyOp::leaf_backward, 2, again), flows, " writes in the backward of chunk 0 over the gradient of its output"));
  const auto saved = [](Entry& entry) { entry.d = entry.a; };
  CHECK(refused_for(changed(p, BodyOp::leaf_backward, 2, saved), flows, " writes in the backward of chunk 0 over what it has saved"));
}

TEST_CASE("a loss writes its gradient over nothing that it reads, but at the very place of the output it may") {
  const Program& whole = Trained<Chain, Single>::training;
  const int at = index_of(whole, BodyOp::loss);
  const Entry& loss = whole.entries[at];
  REQUIRE(loss.d.offset == loss.b.offset + line_bytes);  // nobody reads any of them again in the forward
  CHECK(refused_for(renamed(whole, at, loss.a, loss.b, true), flows, "the loss writes in the forward of chunk 0 over the output of the model"));
  CHECK(refused_for(renamed(whole, at, loss.b, {loss.d.pool, loss.d.offset + line_bytes}), flows,
                    "the loss writes in the forward of chunk 0 over the targets"));
  CHECK(refused_for(renamed(whole, at, loss.b, loss.d), flows, " over the targets"));
  CHECK(renamed(whole, at, loss.a, loss.d).sentence().view() == "");
  const Program& parts = InParts::training;
  const int last = index_of(parts, BodyOp::loss);
  const Entry& terms = parts.entries[index_of(parts, BodyOp::loss_terms)];
  REQUIRE(parts.entries[last].c.set());
  CHECK(refused_for(renamed(parts, last, terms.c, terms.a), flows, "the loss writes in the forward of chunk 0 over the output of the model"));
  CHECK(refused_for(renamed(parts, last, terms.c, terms.b), flows, "the loss writes in the forward of chunk 0 over the targets"));
}

TEST_CASE("what is added, copied or laid another way lies neither partly over what it is made of, nor over the room of a collective") {
  int added = 0, copied = 0, gathered = 0, scattered = 0, sliced = 0;
  for (const Program* p : {&Replicas::training, &HalvedSlices::training, &SplitSlices::training, &SplitHalves::training, &SplitSequence::training,
                           &InParts::training, &Copied::training}) {
    const int entries = static_cast<int>(Copy{*p}.entries.size());
    for (int e = 0; e < entries; ++e) {
      if (body_of(*p, e).count() == 0) continue;
      const Entry& entry = p->entries[e];
      const auto over = [&](const Place& read, const char* words, int& count, std::int64_t further = line_bytes) {
        if (entry.features * p->batch.grain_rows <= 16) return;  // one line
        const Diagnosis found = renamed(*p, e, entry.d, {read.pool, read.offset + further});
        CHECK(found.code == flows);
        if (found.words.view().find(words) != std::string_view::npos) ++count;
      };
      if (entry.what == BodyOp::add) over(entry.a, " over a term of its sum", added);
      if (entry.what == BodyOp::copy) over(entry.a, " over what it copies", copied);
      if (entry.what == BodyOp::gather_value) over(entry.b, ", or the room of its parts", gathered);
      if (entry.what == BodyOp::scatter_value) over(entry.b, ", or the room of its parts", scattered, 0);
      if (entry.what == BodyOp::slice_value) over(entry.a, " over what is to lie another way", sliced);
    }
  }
  CHECK(added > 0);
  CHECK(copied > 0);
  CHECK(gathered > 0);
  CHECK(scattered > 0);
  CHECK(sliced > 0);
}

TEST_CASE("a sum has each of its terms once: one term twice, or that of another sum, is found where the sum is read") {
  const Program& p = Replicas::training;
  const auto twice = [](Entry& entry) { entry.b = entry.a; };
  for (const int sum : {0, 1, 2, 3}) {  // two of values, two of gradients
    CAPTURE(sum);
    CHECK(refused_for(changed(p, BodyOp::add, sum, twice), flows, ", but there lies a sum of other terms"));
  }
  const auto longer = [](Entry& entry) { entry.features = 9; };
  CHECK(refused_for(changed(p, BodyOp::add, 0, longer), flows,
                    "two tensors of 9 elements a row are added for layer 4, but one is the output of layer "));
}

TEST_CASE("no sum of what the loss knows is another thing that it knows: its gradient is made by itself alone") {
  const Program& p = InParts::training;
  const Entry& terms = p.entries[index_of(p, BodyOp::loss_terms)];
  const int at = index_of(p, BodyOp::loss);
  Entry add;
  add.what = BodyOp::add;
  add.features = p.loss.terms;
  add.a = add.b = terms.c;
  add.d = p.entries[at].d;
  CHECK(
      refused_for(inserted(p, at, {add}), flows, "reads in the backward of chunk 0 the gradient of its output, but there lies a sum of other terms"));
  add.d = terms.c;  // beside the gradient: nobody reads the terms again
  CHECK(inserted(p, at, {add}).sentence().view() == "");
}

TEST_CASE("what is laid another way along axis tensor lies as the collective takes it; a sum is not taken twice") {
  // Earlier rules see that an entry is missing; of what lies there only the names know.
  const auto flow_of = [](Copy& copy) { return run_time::value_flow(copy.view()); };
  for (const Program* p : {&SplitSlices::training, &SplitHalves::training, &SplitSlices::evaluation}) {
    Copy copy{*p};
    int seen = 0;
    for (std::size_t e = 0; e + 1 < copy.entries.size(); ++e) {
      Entry& entry = copy.entries[e];
      if (!converts(entry.what) || body_of(*p, static_cast<int>(e)).count() == 0) continue;
      const Entry kept = std::exchange(entry, no_entry());
      CHECK(flow_of(copy).code == flows);
      entry = kept;
      entry.axis = axis::shard;
      CHECK(refused_for(flow_of(copy), flows, " is laid another way along axis shard in the "));
      entry = kept;
      entry.features *= 2;
      CHECK(flow_of(copy).code == flows);
      entry = kept;
      if (entry.what == BodyOp::reduce_value) {
        entry.what = BodyOp::gather_value;
        CHECK(flow_of(copy).code == flows);
        entry = kept;
        Entry& next = copy.entries[e + 1];
        const Entry after = std::exchange(next, kept);
        CHECK(refused_for(flow_of(copy), flows, "whole on every rank, not a term of a sum on every rank"));
        next = after;
      }
      ++seen;
    }
    CHECK(seen > 0);
  }
}

TEST_CASE("an entry that is left out for some micro-batches, or runs in another chunk, is found") {
  const auto last = [](Entry& entry) { entry.when = When::last_micro_batch; };
  CHECK(refused_for(changed(InTurns::training, BodyOp::leaf_forward, 0, last), flows,
                    "layer 0 '0.0' Linear<8, 6> is left out for some micro-batches in the forward of chunk 0"));
  const auto other = [](Entry& entry) { entry.node = 2; };
  CHECK(refused_for(changed(InTurns::training, BodyOp::leaf_forward, 0, other), flows,
                    "layer 2 '1.0' Linear<6, 6> runs in the forward of chunk 0, which has layers 0 to 1"));
  CHECK(refused_for(changed(InTurns::training, BodyOp::leaf_backward, 0, [](Entry& entry) { entry.node = 0; }), flows, "which has layers 4 to 4"));
  const auto asked = [](Entry& entry) { entry.when = When::reporting; };
  CHECK(refused_for(changed(InTurns::evaluation, BodyOp::store_output, 0, asked), flows, "the loss is left out for some micro-batches"));
  CHECK(refused_for(changed(InTurns::training, BodyOp::load_targets, 0, asked), flows, "the loss is left out for some micro-batches"));
}

TEST_CASE("an evaluation loads targets and makes a loss only if it is asked for one: a prediction has no targets") {
  const auto always = [](Entry& entry) { entry.when = When::always; };
  for (const BodyOp what : {BodyOp::load_targets, BodyOp::loss})
    for (const Program* p : {&InTurns::evaluation, &Inferred::evaluation})
      CHECK(refused_for(changed(*p, what, 0, always), flows, "the loss is made unasked in the forward of chunk "));
}

TEST_CASE("gradients of parameters are made once and reduced where they are made") {
  const Program& p = Trained<Chain, Single, Accumulate<2>>::training;  // of one grain the second would write the same again
  Copy copy{p};
  const IndexRange backward = p.backward_bodies[0];
  copy.entries[static_cast<std::size_t>(backward.begin)].fused = false;
  copy.entries[static_cast<std::size_t>(backward.begin) + 1] = copy.entries[static_cast<std::size_t>(backward.begin)];
  CHECK(refused_for(check(copy.view()), flows, " makes the gradients of its parameters twice in the backward of chunk 0"));
  Copy moved{HalvedSlices::training};
  Entry& last = moved.entries[static_cast<std::size_t>(HalvedSlices::training.backward_bodies[1].begin)];
  last = no_entry();
  last.what = BodyOp::reduce_parameter;
  last.node = 10;
  Program p_moved = moved.view();
  CHECK(refused_for(run_time::value_flow(p_moved), flows, "layer 10 '4' Linear<6, 3> has gradients reduced in the backward for inputs of chunk 1"));
}

TEST_CASE("what is sent is what lies where it is sent from, and arrives where it is read") {
  const Program& p = InTurns::training;
  std::vector<Transfer> transfers(p.transfers, p.transfers + p.transfer_count);
  Program other = p;
  other.transfers = transfers.data();
  CHECK(check(other).ok());
  transfers[0].source.offset += line_bytes * 64;
  CHECK(refused_for(check(other), flows, " elements of a value, but nothing lies where it sends from"));
  transfers[0] = p.transfers[0];
  transfers[0].elements += 16;
  CHECK(refused_for(check(other), flows, " has another size"));
  transfers[0] = p.transfers[0];
  transfers[0].target.offset += line_bytes * 8;
  CHECK(run_time::value_flow(other).code == flows);
  transfers[0] = p.transfers[0];
  transfers[1].source = transfers[0].source;
  CHECK(run_time::value_flow(other).code == flows);
}

TEST_CASE("a frozen layer makes no gradients of its parameters, though all else would stay as it is") {
  struct Fixed : Sequential<Linear<8, 6>, Frozen<Linear<6, 6>>, Tanh, Linear<6, 3>> {};
  using Whole = Trained<Fixed, Single>;
  using Halved = Trained<Fixed, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>>;
  const Program& p = Whole::training;
  REQUIRE(check(p).ok());
  const auto more = [](BodyOp what) { return [what](Entry& entry) { entry.what = what; }; };
  CHECK(refused_for(changed(p, BodyOp::leaf_backward_input, 0, more(BodyOp::leaf_backward)), flows,
                    "layer 1 '1' Linear<6, 6> is frozen, but makes gradients of its parameters in the backward of chunk 0"));
  const Program& halved = Halved::training;
  REQUIRE(check(halved).ok());
  Copy copy{halved};
  int weights = 0;
  for (Entry& entry : copy.entries) {
    if (entry.what != BodyOp::leaf_backward_weight || entry.node != 0) continue;
    entry.node = 1;
    ++weights;
  }
  REQUIRE(weights == 1);
  CHECK(check(copy.view()).code == flows);
  CHECK(refused_for(without(p, BodyOp::leaf_backward_input), flows,
                    "layer 0 '0' Linear<8, 6> reads in the backward of chunk 0 the gradient of its output"));
}

TEST_CASE("token ids have no gradient: a lookup that makes one is named") {
  using Alone = Plan<Letters, CrossEntropy, SGD, Batch<4>, Single>;
  const Diagnosis found = changed(Alone::training, BodyOp::leaf_backward, 3, [](Entry& entry) { entry.d = entry.c; });
  CHECK(found.sentence().view() ==
        "[heddle.S17] layer 1 '1' Embedding<12, 6> reads what has no gradient, but makes one in the backward of chunk 0. Fix: make, move "
        "and lay every tensor once, before it is read, and write nothing over it.");
}

TEST_CASE("a leaf of two operands reads both where they lie, and its backward hands each its own gradient") {
  const Program& p = WithJoin::training;
  const auto says = [](const Diagnosis& found, std::string_view words) {
    return found.code == flows && found.words.view().find(words) != std::string_view::npos;
  };
  // forward: Linear, Linear, Tanh, Concat, Linear; backward: Linear, Concat of Tanh, Concat of Linear, Tanh, Linear, Linear
  CHECK(p.entries[p.forward_bodies[0].begin + 4].b.set());
  CHECK(says(changed(p, BodyOp::leaf_forward, 3, [](Entry& entry) { entry.b = entry.a; }),
             "layer 3 '1' Concat reads in the forward of chunk 0 its second input"));
  CHECK(says(changed(p, BodyOp::leaf_forward, 3, [](Entry& entry) { entry.a = entry.b; }),
             "layer 3 '1' Concat reads in the forward of chunk 0 its input"));
  CHECK(says(changed(p, BodyOp::leaf_forward, 3, [](Entry& entry) { entry.d = entry.b; }), "over its second input"));
  CHECK(says(changed(p, BodyOp::leaf_backward, 1, [](Entry& entry) { entry.operand = 0; }), "reads in the backward of chunk 0"));
  CHECK(says(changed(p, BodyOp::leaf_backward, 2, [](Entry& entry) { entry.operand = 1; }), "reads in the backward of chunk 0"));
  CHECK(says(without(p, BodyOp::leaf_backward, 1), "reads in the backward of chunk 0 the gradient of its output"));
  CHECK(says(without(p, BodyOp::leaf_backward, 2), "reads in the backward of chunk 0 the gradient of its output"));
}
