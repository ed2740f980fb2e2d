#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "plugins/c/handles.h"
#include "plugins/c/status.h"
#include "plugins/c/views.h"
#include "weir/error.h"
#include "weir/gradient_group.h"
#include "weir/weir.h"

// The functions of weir.h for gradients.

namespace weir::c {
namespace {

GradientGroup& In(weir_gradients* group) {
  Need(group, "group");
  return *group->group;
}

const GradientGroup& In(const weir_gradients* group) {
  Need(group, "group");
  return *group->group;
}

std::map<std::string, std::string> OptionsOf(const weir_gradients_options& options) {
  std::map<std::string, std::string> words;
  for (const weir_option& option : std::span(options.compression, options.compression_count)) {
    Need(option.key, "key of an option");
    Need(option.value, "value of an option");
    if (!words.emplace(option.key, option.value).second) {
      throw InvalidArgument("the option '" + std::string(option.key) + "' is given twice");
    }
  }
  return words;
}

GradientGroupSpec SpecOf(std::span<const weir_gradient> gradients,
                         const weir_gradients_options& options) {
  GradientGroupSpec spec{.tensors = {},
                         .compression = OptionsOf(options),
                         .op = OpOf(options.op),
                         .prescale = options.prescale,
                         .postscale = options.postscale,
                         .by_priority = options.by_priority != 0,
                         .process_set = options.process_set};
  if (options.name != nullptr) spec.name = options.name;
  for (const weir_gradient& one : gradients) {
    Need(one.name, "name of a gradient");
    spec.tensors.push_back({.name = one.name,
                            .shape = ShapeOf(one.shape, one.dimensions),
                            .dtype = DTypeOf(one.dtype),
                            .parameter_group = one.parameter_group,
                            .priority = one.priority,
                            .device = {one.gpu}});
  }
  return spec;
}

/// Describes memory as tensor `index` of the group.
TensorView ViewAs(const GradientGroup& group, std::size_t index, void* data, void* stream) {
  const auto& tensors = group.spec().tensors;
  if (index >= tensors.size()) {
    throw InvalidArgument("there is no gradient " + std::to_string(index) + ": '" +
                          group.spec().name + "' has " + std::to_string(tensors.size()));
  }
  const GradientSpec& spec = tensors[index];
  return {.data = data,
          .dtype = spec.dtype,
          .shape = spec.shape,
          .device = spec.device,
          .stream = stream};
}

std::istringstream StreamOf(const weir_bytes& state) {
  if (state.bytes > 0) Need(state.data, "data of a state");
  return std::istringstream(std::string(static_cast<const char*>(state.data), state.bytes));
}

}  // namespace
}  // namespace weir::c

using weir::c::In;
using weir::c::Need;
using weir::c::StatusOf;

weir_status weir_register(weir_engine* engine, const weir_gradient* gradients, size_t count,
                          const weir_gradients_options* options, weir_gradients** group) {
  return StatusOf("weir_register", [&] {
    Need(engine, "engine");
    Need(group, "group");
    if (count > 0) Need(gradients, "gradients");
    const auto known = weir::c::Known(options, weir_gradients_options WEIR_GRADIENTS_OPTIONS_INIT);
    weir::c::NeedZero(known.reserved);
    if (known.compression_count > 0) Need(known.compression, "compression");
    auto made = std::make_unique<weir_gradients>();
    made->engine = engine->engine;
    made->group = engine->engine->Register(weir::c::SpecOf(std::span(gradients, count), known));
    *group = made.release();
  });
}

void weir_gradients_free(weir_gradients* group) { delete group; }

weir_status weir_begin_step(weir_gradients* group, const weir_step* step) {
  return StatusOf("weir_begin_step", [&] {
    const weir_step known = weir::c::Known(step, weir_step WEIR_STEP_INIT);
    if (known.learning_rate_count > 0) Need(known.learning_rates, "learning_rates");
    if (known.momentum_count > 0) Need(known.momenta, "momenta");
    const std::size_t before = known.previous_momenta == nullptr ? 0 : known.momentum_count;
    In(group).BeginStep(
        {.learning_rates = std::span(known.learning_rates, known.learning_rate_count),
         .loss_scale = known.loss_scale,
         .momenta = std::span(known.momenta, known.momentum_count),
         .previous_momenta = std::span(known.previous_momenta, before),
         .stream = known.stream,
         .undoable = known.undoable != 0});
  });
}

weir_status weir_submit(weir_gradients* group, size_t index, const void* gradient, void* update,
                        void* stream, weir_handle* handle) {
  return StatusOf("weir_submit", [&] {
    weir::GradientGroup& in = In(group);
    // The view of a gradient is only read.
    const weir::TensorView view =
        weir::c::ViewAs(in, index, const_cast<void*>(gradient), stream);  // NOLINT
    const weir::Handle submitted =
        in.Submit(index, view, weir::c::ViewAs(in, index, update, stream));
    if (handle != nullptr) *handle = submitted;
  });
}

weir_status weir_set_default_update(weir_gradients* group, size_t index, void* update) {
  return StatusOf("weir_set_default_update", [&] { In(group).SetDefaultUpdate(index, update); });
}

weir_status weir_end_step(weir_gradients* group) {
  return StatusOf("weir_end_step", [&] { In(group).EndStep(); });
}

weir_status weir_wait_step(weir_gradients* group, weir_step_report* report) {
  return StatusOf("weir_wait_step", [&] {
    if (report != nullptr) weir::c::KnownBytes(*report);  // Before the step is over.
    const weir::StepReport said = In(group).WaitStep();
    if (report == nullptr) return;
    const weir_step_report known = {.size = report->size,
                                    .step = said.step,
                                    .skipped = said.skipped ? 1 : 0,
                                    .reserved = 0,
                                    .gradient_norm = said.gradient_norm,
                                    .clip_coefficient = said.clip_coefficient,
                                    .density = said.density,
                                    .wire_bytes = said.wire_bytes,
                                    .dense_bytes = said.dense_bytes,
                                    .non_finite_entries = said.non_finite_entries};
    std::memcpy(report, &known, weir::c::KnownBytes(*report));
  });
}

weir_status weir_drop_step(weir_gradients* group) {
  return StatusOf("weir_drop_step", [&] { In(group).DropStep(); });
}

int64_t weir_next_step(const weir_gradients* group) {
  return group == nullptr ? -1 : group->group->next_step();
}
double weir_next_density(const weir_gradients* group) {
  return group == nullptr ? -1.0 : group->group->next_density();
}

weir_status weir_save(const weir_gradients* group, weir_write write, void* context) {
  return StatusOf("weir_save", [&] {
    std::ostringstream state;
    In(group).Save(state);
    weir::c::WriteAll(state.view(), write, context);
  });
}

weir_status weir_load(weir_gradients* group, const weir_bytes* former_ranks, size_t count) {
  return StatusOf("weir_load", [&] {
    Need(former_ranks, "former_ranks");
    std::vector<std::istringstream> states;
    for (const weir_bytes& state : std::span(former_ranks, count)) {
      states.push_back(weir::c::StreamOf(state));
    }
    std::vector<std::istream*> streams;
    for (std::istringstream& state : states) streams.push_back(&state);
    In(group).Load(streams);
  });
}

weir_status weir_adopt(weir_gradients* group, const weir_bytes* one_rank) {
  return StatusOf("weir_adopt", [&] {
    Need(one_rank, "one_rank");
    std::istringstream state = weir::c::StreamOf(*one_rank);
    In(group).Adopt(state);
  });
}
