#include <cstring>

#include "compression/state/state.h"
#include "plugins/python/src/bindings.h"
#include "weir/error.h"

namespace weir::python {
namespace {

namespace nb = nanobind;
using nb::arg;

nb::bytes BytesOf(const void* data, std::size_t size) {
  return nb::bytes(static_cast<const char*>(data), size);
}

void SetValues(SavedArray& self, const nb::bytes& values) {
  if (values.size() != self.values.size() * sizeof(float)) {
    throw InvalidArgument("array \"" + self.name + "\" of tensor \"" + self.tensor + "\" has " +
                          std::to_string(self.values.size()) + " values of 4 bytes, not " +
                          std::to_string(values.size()) + " bytes");
  }
  if (values.size() > 0) std::memcpy(self.values.data(), values.c_str(), values.size());
}

}  // namespace

void BindSavedState(nb::module_& module) {
  nb::class_<SavedArray>(module, "SavedArray")
      .def_ro("tensor", &SavedArray::tensor)
      .def_ro("name", &SavedArray::name)
      .def_prop_ro("count", [](const SavedArray& self) { return self.values.size(); })
      .def_prop_rw(
          "values",
          [](const SavedArray& self) {
            return BytesOf(self.values.data(), self.values.size() * sizeof(float));
          },
          &SetValues);
  nb::class_<SavedState>(module, "SavedState")
      .def(
          "__init__",
          [](SavedState* self, const nb::bytes& saved) {
            const auto* const data = static_cast<const std::byte*>(saved.data());
            new (self) SavedState(Deserialize({data, saved.size()}));
          },
          arg("saved"))
      .def_rw("step", &SavedState::step)
      .def_rw("learning_rates", &SavedState::learning_rates)
      .def_prop_ro(
          "arrays",
          [](SavedState& self) {
            std::vector<SavedArray*> arrays;
            for (SavedArray& array : self.arrays) arrays.push_back(&array);
            return arrays;
          },
          nb::rv_policy::reference_internal)
      .def("save", [](const SavedState& self) {
        const std::vector<std::byte> bytes = Serialize(self);
        return BytesOf(bytes.data(), bytes.size());
      });
}

}  // namespace weir::python
