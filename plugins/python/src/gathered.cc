#include "plugins/python/src/gathered.h"

#include <nanobind/ndarray.h>

#include <cstring>
#include <stdexcept>
#include <utility>

#include "plugins/python/src/bindings.h"

namespace weir::python {
namespace {

namespace nb = nanobind;

/// Returns the result's bytes as a one-dimensional array, DLPack's or NumPy's, that keeps them
/// alive. Bytes, because not every framework reads every data type from DLPack; a view as the type
/// costs nothing.
template <typename... Framework>
nb::ndarray<Framework..., std::uint8_t> BytesOf(const Gathered& gathered) {
  auto* keep = new std::shared_ptr<Gathered::Memory>(gathered.memory());
  const nb::capsule owner(
      keep, [](void* p) noexcept { delete static_cast<std::shared_ptr<Gathered::Memory>*>(p); });
  return nb::ndarray<Framework..., std::uint8_t>((*keep)->bytes.get(), {(*keep)->size}, owner);
}

Gathered::Held Hold(nb::object object) {
  return {new nb::object(std::move(object)), [](nb::object* held) {
            const nb::gil_scoped_acquire interpreter;
            delete held;
          }};
}

/// Suspends garbage collection: a collected object may wait for the engine, as a gradient
/// group does, and so for this thread.
class CollectsNothing {
 public:
  CollectsNothing() : collector_(nb::module_::import_("gc")) {
    collects_ = nb::cast<bool>(collector_.attr("isenabled")());
    collector_.attr("disable")();
  }
  ~CollectsNothing() {
    if (collects_) collector_.attr("enable")();
  }
  CollectsNothing(const CollectsNothing&) = delete;
  CollectsNothing& operator=(const CollectsNothing&) = delete;

 private:
  const nb::module_ collector_;
  bool collects_ = false;
};

/// Makes Python create a tensor for the result, and returns its memory.
void* Made(const nb::object& make, Gathered::Memory& memory) {
  const nb::gil_scoped_acquire interpreter;
  try {
    const CollectsNothing during;
    nb::object tensor = make(memory.dims);
    const auto address = nb::cast<std::uintptr_t>(tensor.attr("data_ptr")());
    memory.tensor = Hold(std::move(tensor));
    return PointerTo(address);
  } catch (const nb::python_error& error) {
    throw std::runtime_error(error.what());  // Releasing that one needs the interpreter.
  }
}

/// Returns a result of type int64, for callers without a framework.
std::vector<std::int64_t> Numbers(const Gathered& gathered) {
  const Gathered::Memory& memory = *gathered.memory();
  std::vector<std::int64_t> numbers(memory.size / sizeof(std::int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), memory.bytes.get(), memory.size);
  return numbers;
}

}  // namespace

Gathered::Gathered(DType dtype, nb::object make) : dtype_(dtype) {
  if (!make.is_none()) make_ = Hold(std::move(make));
}

AllocateOutput Gathered::Allocator() const {
  return [memory = memory_, dtype = dtype_, make = make_](
             const Shape& shape, std::span<const std::int64_t> rows) -> void* {
    memory->rows.assign(rows.begin(), rows.end());
    memory->dims.assign(shape.dims().begin(), shape.dims().end());
    memory->size = static_cast<std::size_t>(shape.elements()) * SizeOf(dtype);
    if (make) return Made(*make, *memory);
    memory->bytes.reset(new std::byte[memory->size]);  // Not filled with zeros first.
    return memory->bytes.get();
  };
}

void BindGathered(nb::module_& module) {
  nb::class_<Gathered>(module, "Gathered")
      .def_prop_ro("handle", &Gathered::handle)
      .def_prop_ro("shape", [](const Gathered& g) { return g.memory()->dims; })
      .def_prop_ro("rows", [](const Gathered& g) { return g.memory()->rows; })
      .def_prop_ro("tensor",
                   [](const Gathered& g) {
                     return g.memory()->tensor ? *g.memory()->tensor : nb::object(nb::none());
                   })
      .def("numbers", &Numbers)
      .def("bytes", &BytesOf<>)
      .def("numpy", &BytesOf<nb::numpy>);
}

}  // namespace weir::python
