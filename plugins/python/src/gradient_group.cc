#include "plugins/python/src/gradient_group.h"

#include <fmt/core.h>

#include <sstream>

#include "compression/options/alternatives.h"
#include "compression/options/options.h"
#include "compression/options/tensor_options.h"
#include "plugins/python/src/bindings.h"
#include "plugins/python/src/job.h"
#include "weir/settings.h"

namespace weir::python {
namespace {

namespace nb = nanobind;
using nb::arg;
using Options = std::map<std::string, std::string>;

Handle Submit(const Group& self, std::size_t index, std::uintptr_t gradient, std::uintptr_t update,
              const Place& place) {
  GradientGroup& group = self.group();
  const std::vector<GradientSpec>& tensors = group.spec().tensors;
  if (index >= tensors.size()) throw InvalidArgument("no tensor has this number");
  const GradientSpec& tensor = tensors[index];
  const Device device{place.first};
  void* const stream = PointerTo(place.second);
  return group.Submit(index, {PointerTo(gradient), tensor.dtype, tensor.shape, device, stream},
                      {PointerTo(update), tensor.dtype, tensor.shape, device, stream});
}

nb::bytes Save(const Group& self) {
  std::ostringstream out;
  {
    const nb::gil_scoped_release blocking;  // It waits for the GPU, or the engine's end.
    self.group().Save(out);
  }
  const std::string text = std::move(out).str();
  return nb::bytes(text.data(), text.size());
}

void Load(const Group& self, const nb::bytes& own) {
  std::istringstream stream(std::string(own.c_str(), own.size()));
  std::istream* const streams[] = {&stream};
  const nb::gil_scoped_release blocking;
  self.group().Load(streams);
}

void Adopt(const Group& self, const nb::bytes& one_rank) {
  std::istringstream stream(std::string(one_rank.c_str(), one_rank.size()));
  const nb::gil_scoped_release blocking;
  self.group().Adopt(stream);
}

std::unique_ptr<Group> Register(Job& job, std::string name, std::vector<GradientSpec> tensors,
                                Options compression, Options also_equal, int op, double prescale,
                                double postscale, int process_set, bool by_priority) {
  const nb::gil_scoped_release blocking;
  return std::make_unique<Group>(
      std::make_shared<Registered>(job.engine(), GradientGroupSpec{
                                                     .name = std::move(name),
                                                     .tensors = std::move(tensors),
                                                     .compression = std::move(compression),
                                                     .op = static_cast<ReduceOp>(op),
                                                     .prescale = prescale,
                                                     .postscale = postscale,
                                                     .by_priority = by_priority,
                                                     .process_set = process_set,
                                                     .also_equal = std::move(also_equal),
                                                 }));
}

void MakeSpec(GradientSpec* self, std::string name, const Dims& dims, int dtype,
              int parameter_group, int priority, Options compression, int gpu) {
  new (self) GradientSpec{.name = std::move(name),
                          .shape = Shape(dims),
                          .dtype = static_cast<DType>(dtype),
                          .parameter_group = parameter_group,
                          .priority = priority,
                          .device = Device{gpu},
                          .compression = std::move(compression)};
}

void BindReport(nb::module_& module) {
  nb::class_<StepReport>(module, "StepReport")
      .def_ro("step", &StepReport::step)
      .def_ro("skipped", &StepReport::skipped)
      .def_ro("gradient_norm", &StepReport::gradient_norm)
      .def_ro("clip_coefficient", &StepReport::clip_coefficient)
      .def_ro("density", &StepReport::density)
      .def_ro("wire_bytes", &StepReport::wire_bytes)
      .def_ro("dense_bytes", &StepReport::dense_bytes)
      .def_ro("non_finite_entries", &StepReport::non_finite_entries);
}

}  // namespace

void Registered::GoTo(std::int64_t step) {
  const std::int64_t next = group_->next_step();
  if (step == next) return;
  if (step != 0) {
    throw InvalidArgument(fmt::format(
        "the optimizer's state is of step {}, and what the compressors of '{}' remember is of step "
        "{}: keep one state and give each update the last one's, and load what state_dict() gave "
        "together with it (load_state_dict)",
        step, group_->spec().name, next));
  }
  GradientGroupSpec spec = group_->spec();
  group_.reset();  // Its name is free then.
  group_ = engine_->Register(std::move(spec));
}

Group::~Group() {
  const nb::gil_scoped_release blocking;
  Close();
}

void BindGradientGroup(nb::module_& module) {
  module.def("compression_from_text", &CompressionFromText, arg("text"));
  module.def("without_prefix", &WithoutPrefix, arg("options"));
  module.def("resolve_auto", &ResolveAuto, arg("options"), arg("momentum_sgd"));
  BindReport(module);
  nb::class_<GradientSpec>(module, "GradientSpec")
      .def("__init__", &MakeSpec, arg("name"), arg("shape"), arg("dtype"), arg("parameter_group"),
           arg("priority"), arg("compression") = Options(), arg("gpu") = Device::kCpu);
  nb::class_<TensorOptions>(module, "TensorOptions")
      .def(nb::init<const Options&>(), arg("options"))
      .def_prop_ro("base", &TensorOptions::base)
      .def_prop_ro("has_patterns", &TensorOptions::has_patterns)
      .def("of", &TensorOptions::For, arg("tensor"))
      .def(
          "check_matches",
          [](const TensorOptions& self, const std::vector<std::string>& tensors,
             const std::string& owner,
             bool strict) { return self.CheckMatches(tensors, owner, strict); },
          arg("tensors"), arg("owner"), arg("strict"));
  nb::class_<Group>(module, "GradientGroup")
      .def(
          "begin_step",
          [](Group& self, const std::vector<float>& rates, float loss_scale, bool undoable,
             const std::vector<double>& momenta, const std::vector<double>& previous_momenta) {
            self.group().BeginStep({.learning_rates = rates,
                                    .loss_scale = loss_scale,
                                    .momenta = momenta,
                                    .previous_momenta = previous_momenta,
                                    .undoable = undoable});
          },
          arg("learning_rates"), arg("loss_scale"), arg("undoable"), arg("momenta"),
          arg("previous_momenta"), nb::call_guard<nb::gil_scoped_release>())
      .def(
          "go_to", [](Group& self, std::int64_t step) { self.registered()->GoTo(step); },
          arg("step"), nb::call_guard<nb::gil_scoped_release>())
      .def("submit", &Submit, arg("index"), arg("gradient"), arg("update"), arg("place") = kOnCpu)
      .def(
          "end_step", [](Group& self) { self.group().EndStep(); },
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "wait_in_stream",
          [](Group& self, std::uintptr_t stream) {
            self.group().WaitInStream(reinterpret_cast<void*>(stream));
          },
          arg("stream"), nb::call_guard<nb::gil_scoped_release>())
      .def("go_on", [](Group& self) { self.group().GoOn(); })
      .def(
          "wait_step", [](Group& self) { return self.group().WaitStep(); },
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "note_unused",
          [](Group& self, const std::vector<std::size_t>& tensors) {
            self.group().NoteUnused(tensors);
          },
          arg("tensors"), nb::call_guard<nb::gil_scoped_release>())
      .def(
          "unused_by_all", [](Group& self) { return self.group().UnusedByAll(); },
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "drop_step", [](Group& self) { self.group().DropStep(); },
          nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("undoable", [](Group& self) { return self.group().undoable(); })
      .def_prop_ro("next_step", [](Group& self) { return self.group().next_step(); })
      .def(
          "copy_velocity",
          [](const Group& self, std::size_t index, std::uintptr_t address) {
            const auto& tensors = self.group().spec().tensors;
            const auto elements = index < tensors.size()
                                      ? static_cast<std::size_t>(tensors[index].shape.elements())
                                      : 0;
            self.group().CopyVelocity(index, {reinterpret_cast<float*>(address), elements});
          },
          arg("index"), arg("velocity"), nb::call_guard<nb::gil_scoped_release>())
      .def("close", &Group::Close, nb::call_guard<nb::gil_scoped_release>())
      .def("save", &Save)
      .def("load", &Load, arg("own"))
      .def("adopt", &Adopt, arg("one_rank"));
  module.def("register", &Register, arg("job"), arg("name"), arg("tensors"), arg("compression"),
             arg("also_equal"), arg("op"), arg("prescale"), arg("postscale"),
             arg("process_set") = 0, arg("by_priority") = false);
}

}  // namespace weir::python
