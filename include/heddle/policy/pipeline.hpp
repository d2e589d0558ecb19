// SPDX-License-Identifier: MIT
// Room: policy. Pipeline: which chunk lives on which device, and in which order micro-batches pass.
// Sees: graph, mesh, core.  Does not see: memory, processes, instructions.
// In: stages, Balanced<S> or CutBefore<...>, an order, Microbatches<M>.  Out: cuts, the stage axis, in-flight limits.
#pragma once

#include <cstdint>
#include <type_traits>

#include "heddle/core/lists.hpp"
#include "heddle/policy/balanced_pipeline.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// The device (position on axis stage) of a stage.
/// Errors  M03 if a number is negative or leaves a gap
template <int Device> struct On { static constexpr int device = Device; };

/// One part of the model; without On it lives on the device of its number.
/// Errors  M12 if it names something else than On as its device, or several devices
template <class Part, class Where = void, class... More> struct Stage {
  using part = Part;
  static constexpr bool is_stage = true;
  using where = Where;
  static constexpr int devices_named = 1 + sizeof...(More);
  static constexpr bool names_device = std::is_void_v<Where> || requires { Where::device; };
  static constexpr int device_or(int number) {
    if constexpr (requires { Where::device; })
      return Where::device;
    else
      return number;
  }
};

/// Cut so that the slowest chunk has the least work: S chunks, one a device, or V a device under Interleaved<V>. With one a device and Memory<...>
/// in the plan: the least work among the cuts whose stages fit.
/// Errors  M03 if there are fewer places to cut
template <int Stages> struct Balanced { static constexpr int balanced_stages = Stages; };

/// Cut before the layers of these numbers, as measured times have them: CutBefore<3, 7> are stages of layers 0 to 2, 3 to 6, and 7 to the last. Under
/// Interleaved<V> they are chunks, V on each device in turn.
/// Errors  M03 if a number is none of a layer, or not above the one before it
template <int... Layers> struct CutBefore {
  static constexpr int cut_count = sizeof...(Layers);
  static constexpr int cut_before[sizeof...(Layers) + 1]{Layers..., 0};
};

/// The micro-batches of one round of a pipeline.
/// Errors  S02 if there are fewer than an order has stages
template <int Count> struct Microbatches { static constexpr int micro_batches = Count; };

/// Says that fewer micro-batches than stages are meant: some stages are idle all the time.
struct FewMicrobatches {
  static constexpr bool few_micro_batches = true;
};

/// Consecutive layers on different devices. Without an order micro-batches pass one at a time.
///
/// Shape   batch (B, ...) becomes M micro-batches (B/M, ...)
/// Moves   one boundary value per micro-batch and direction                                     [bytes]
/// Errors  S01 a layer in no stage or twice; S02 fewer micro-batches than stages; S08 no whole groups of them; M01, M02, M03 devices and cuts
/// Source  sources.md#gpipe, sources.md#pipedream, sources.md#megatron-2021, sources.md#zero-bubble
/// Tested  policy/pipeline_test, equivalence/pipeline_test
template <class... PartsSuchAsBalanced2> struct Pipeline;  // g++ shows this name where a number stands among them
template <class... Parts> struct Pipeline {                // types: Balanced<2>, not 2
  static constexpr int stages = sum_of({(requires { Parts::is_stage; } ? 1 : 0)...});

  static constexpr void answer(const Graph& graph, Layout& layout) {
    if (refuse_twice(layout)) return;
    sum_of({(take_numbers<Parts>(layout), 0)...});
    if constexpr (named_cuts > 0) {
      if (stages + cuts > 0)
        return layout.refuse(Diagnosis{Code{'M', 3}, ""} << "Pipeline names CutBefore and stages or Balanced as well. Fix: keep one of them.");
      (place_named<Parts>(graph, layout), ...);
    } else if constexpr (cuts > 0) {
      if (stages > 0)
        return layout.refuse(Diagnosis{Code{'M', 3}, ""} << "Pipeline names " << stages << " stages and Balanced<" << balanced
                                                         << "> as well. Fix: keep one of them.");
      place_balanced(graph, layout, balanced, chunks_a_device);
    } else {
      place_stages(graph, layout);
    }
    constexpr bool few = sum_of({(requires { Parts::few_micro_batches; } ? 1 : 0)...}) > 0;
    if (layout.fault.ok()) check_order(layout, chunks_a_device, few);
    for (int c = 0; c < layout.chunk_count; ++c) layout.in_flight[c] = 1;
    if (layout.fault.ok()) sum_of({(take_order<Parts>(layout), 0)...});
  }

 private:
  template <class P> static constexpr int balanced_of() {
    if constexpr (requires { P::balanced_stages; })
      return P::balanced_stages;
    else
      return 0;
  }
  static constexpr int balanced = sum_of({balanced_of<Parts>()...});
  template <class P> static constexpr int chunks_a_device_of() {
    if constexpr (requires { P::chunks_per_device; })
      return P::chunks_per_device;
    else
      return 0;
  }
  /// 0 where the order leaves the number of chunks on a device open.
  static constexpr int chunks_a_device = sum_of({chunks_a_device_of<Parts>()...});
  static constexpr int cuts = sum_of({(requires { Parts::balanced_stages; } ? 1 : 0)...});

  static constexpr int named_cuts = sum_of({(requires { Parts::cut_before; } ? 1 : 0)...});
  template <class P> static constexpr void place_named(const Graph& graph, Layout& layout) {
    if constexpr (requires { P::cut_before; }) place_cuts(graph, layout, P::cut_before, P::cut_count, chunks_a_device);
  }

  static constexpr bool refuse_twice(Layout& layout) {
    constexpr int counts = sum_of({(requires { Parts::micro_batches; } ? 1 : 0)...});
    constexpr int orders = sum_of({(requires { Parts::rules(); } ? 1 : 0)...});
    const auto refuse = [&](std::string_view what, int times) {
      layout.refuse(Diagnosis{Code{'M', 4}, ""} << "Pipeline names " << what << ' ' << times << " times. Fix: keep one of them.");
      return true;
    };
    if (cuts > 1) return refuse("Balanced", cuts);
    if (named_cuts > 1) return refuse("CutBefore", named_cuts);
    if (counts > 1) return refuse("Microbatches", counts);
    if (orders > 1) return refuse("an order", orders);
    return false;
  }

  template <class P> static constexpr void take_numbers(Layout& layout) {
    constexpr bool known = requires { P::is_stage; }
    || requires { P::balanced_stages; }
    || requires { P::cut_before; }
    || requires { P::micro_batches; }
    || requires { P::few_micro_batches; }
    || requires { P::rules(); };
    if constexpr (!known)
      layout.refuse(Diagnosis{Code{'M', 4}, ""}
                    << type_name<P>().view()
                    << " is no part of a Pipeline. Fix: use Stage<Part, On<D>>, Balanced<S>, an order, Microbatches<M> or FewMicrobatches.");
    if constexpr (requires { P::micro_batches; }) layout.micro_batches = P::micro_batches;
    if constexpr (requires { P::rules(); }) layout.order = P::rules();
  }
  template <class P> static constexpr void take_order(Layout& layout) {
    if constexpr (requires { P::rules(); }) set_order(layout, order_as_data<P>());
  }

  template <class P> static constexpr void place_stage(const Graph& graph, Layout& layout, int& stage, int& node) {
    if constexpr (requires { P::is_stage; }) {
      if (!layout.fault.ok()) return;
      if constexpr (P::devices_named > 1)
        return layout.refuse(Diagnosis{Code{'M', 12}, ""} << "stage " << stage << " names " << P::devices_named
                                                          << " devices, but it lives on one. Fix: keep one of them.");
      if constexpr (!P::names_device)
        return layout.refuse(Diagnosis{Code{'M', 12}, ""} << "stage " << stage << " is on " << type_name<typename P::where>().view()
                                                          << ", which names no device. Fix: write On<" << stage << ">, or leave it out.");
      layout.device_of_chunk[stage] = P::device_or(stage);
      node = place_part<typename P::part>(graph, layout, stage, node);
      ++stage;
    }
  }
  static constexpr void place_stages(const Graph& graph, Layout& layout) {
    if (stages == 0 || stages > Layout::most_chunks)
      return layout.refuse(Diagnosis{Code{'M', 3}, ""} << "Pipeline has " << stages << " stages, possible are 1 to " << Layout::most_chunks
                                                       << ". Fix: name stages, or Balanced<S>.");
    [[maybe_unused]] int stage = 0;
    [[maybe_unused]] int node = 0;
    sum_of({(place_stage<Parts>(graph, layout, stage, node), 0)...});
    layout.chunk_count = stages;
    if (layout.fault.ok() && node < graph.node_count)
      layout.refuse(Diagnosis{Code{'S', 1}, ""} << graph.describe(node).view() << " of " << graph.model.view() << " is in no stage: the " << stages
                                                << " stages hold " << node << " of " << graph.node_count
                                                << " layers. Fix: let the stages hold each layer of the model once, in order.");
    claim_devices(layout);
  }
  static constexpr void claim_devices(Layout& layout) {
    constexpr int far = 2'147'483'646;
    int devices = 0;
    for (int c = 0; c < stages; ++c)
      devices = layout.device_of_chunk[c] >= devices ? (layout.device_of_chunk[c] < far ? layout.device_of_chunk[c] : far) + 1 : devices;
    for (int d = 0; d < devices && d <= stages; ++d) {  // a gap is among the first
      bool used = false;
      for (int c = 0; c < stages; ++c) used = used || layout.device_of_chunk[c] == d;
      if (!used)
        layout.refuse(Diagnosis{Code{'M', 3}, ""} << "device " << d << " of " << devices << " holds none of the " << stages
                                                  << " stages. Fix: number the devices 0, 1, 2, ... without a gap.");
    }
    for (int c = 0; c < stages; ++c)
      if (layout.device_of_chunk[c] < 0)
        layout.refuse(Diagnosis{Code{'M', 3}, ""} << "stage " << c << " is on device " << layout.device_of_chunk[c]
                                                  << ". Fix: number devices from 0.");
    if (layout.fault.ok()) layout.claim(axis::stage, devices);
  }
};

}  // namespace heddle::policy_room

namespace heddle {
using policy_room::Balanced, policy_room::FewMicrobatches, policy_room::Microbatches, policy_room::On, policy_room::Pipeline, policy_room::Stage;
}  // namespace heddle

namespace heddle::extending {
using policy_room::CutBefore;
}  // namespace heddle::extending
