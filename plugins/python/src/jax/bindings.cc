#include "plugins/python/src/bindings.h"

#include <nanobind/stl/optional.h>

#include <memory>

#include "plugins/python/src/gradient_group.h"
#include "plugins/python/src/jax/handlers.h"
#include "plugins/python/src/jax/reach.h"
#include "plugins/python/src/job.h"

namespace weir::python {

namespace nb = nanobind;
using nb::arg;

namespace {

/// Steps as Python holds them, with the number that compiled programs know them by.
class NumberedSteps {
 public:
  NumberedSteps() : number_(Reach::OfProcess().Add(steps_)) {}
  ~NumberedSteps() {
    const nb::gil_scoped_release blocking;
    Reach::OfProcess().Remove(number_);
    steps_->Use(nullptr);
  }

  Steps& steps() const { return *steps_; }
  std::int64_t number() const { return number_; }

 private:
  const std::shared_ptr<Steps> steps_ = std::make_shared<Steps>();
  const std::int64_t number_;
};

nb::dict Capsules() {
  nb::dict capsules;
  for (const auto& handlers : {OperationHandlers(), StepHandlers()}) {
    for (const auto& [name, handler] : handlers) {
      capsules[name.c_str()] = nb::capsule(reinterpret_cast<void*>(handler));
    }
  }
  return capsules;
}

}  // namespace

void BindJax(nb::module_& module) {
  module.def("jax_handlers", &Capsules);
  module.def(
      "jax_enter", [](const Job& job) { Reach::OfProcess().Enter(job.engine()); }, arg("job"));
  module.def("jax_leave", [] { Reach::OfProcess().Enter(nullptr); });
  nb::class_<NumberedSteps>(module, "JaxSteps")
      .def(nb::init<>())
      .def(
          "use",
          [](NumberedSteps& self, const Group& group) { self.steps().Use(group.registered()); },
          arg("group"), nb::call_guard<nb::gil_scoped_release>())
      .def(
          "leave", [](NumberedSteps& self) { self.steps().Use(nullptr); },
          nb::call_guard<nb::gil_scoped_release>())
      .def(
          "wait", [](NumberedSteps& self) { self.steps().Await(); },
          nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("number", &NumberedSteps::number)
      .def_prop_ro("report", [](const NumberedSteps& self) { return self.steps().report(); });
}

}  // namespace weir::python
