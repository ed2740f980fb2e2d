#include "plugins/python/src/gathered.h"

#include <nanobind/ndarray.h>

#include <cstring>

#include "plugins/python/src/bindings.h"

namespace weir::python {
namespace {

namespace nb = nanobind;

/// The result's bytes as a one-dimensional DLPack array that keeps them alive. Bytes, because not
/// every framework reads every data type from DLPack; viewing them as the type costs nothing.
nb::ndarray<std::uint8_t> BytesOf(const Gathered& gathered) {
  auto* keep = new std::shared_ptr<Gathered::Memory>(gathered.memory());
  const nb::capsule owner(
      keep, [](void* p) noexcept { delete static_cast<std::shared_ptr<Gathered::Memory>*>(p); });
  return nb::ndarray<std::uint8_t>((*keep)->bytes.get(), {(*keep)->size}, owner);
}

/// A result of type int64, for who has no framework.
std::vector<std::int64_t> Numbers(const Gathered& gathered) {
  const Gathered::Memory& memory = *gathered.memory();
  std::vector<std::int64_t> numbers(memory.size / sizeof(std::int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), memory.bytes.get(), memory.size);
  return numbers;
}

}  // namespace

AllocateOutput Gathered::Allocator(DType dtype) {
  return
      [memory = memory_, dtype](const Shape& shape, std::span<const std::int64_t> rows) -> void* {
        memory->rows.assign(rows.begin(), rows.end());
        memory->dims.assign(shape.dims().begin(), shape.dims().end());
        memory->size = static_cast<std::size_t>(shape.elements()) * SizeOf(dtype);
        memory->bytes.reset(new std::byte[memory->size]);  // Not filled with zeros first.
        return memory->bytes.get();
      };
}

void BindGathered(nb::module_& module) {
  nb::class_<Gathered>(module, "Gathered")
      .def_prop_ro("handle", &Gathered::handle)
      .def_prop_ro("shape", [](const Gathered& g) { return g.memory()->dims; })
      .def_prop_ro("rows", [](const Gathered& g) { return g.memory()->rows; })
      .def("numbers", &Numbers)
      .def("bytes", &BytesOf);
}

}  // namespace weir::python
