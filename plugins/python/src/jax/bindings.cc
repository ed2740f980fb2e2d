#include "plugins/python/src/bindings.h"

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
struct NumberedSteps {
  explicit NumberedSteps(const Group& group)
      : steps(std::make_shared<Steps>(group.registered())), number(Reach::OfProcess().Add(steps)) {}

  std::shared_ptr<Steps> steps;
  std::int64_t number;
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
      .def(nb::init<const Group&>(), arg("group"))
      .def_ro("number", &NumberedSteps::number)
      .def_prop_ro("report", [](const NumberedSteps& self) { return self.steps->report(); });
}

}  // namespace weir::python
