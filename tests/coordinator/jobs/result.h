#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weir/engine.h"

namespace weir {

/// The result of an operation that asks for its memory, and the arguments of that call.
struct Result {
  Shape shape;
  std::vector<std::int64_t> rows;
  std::vector<std::byte> bytes;

  AllocateOutput For(DType dtype) {
    return [this, dtype](const Shape& s, std::span<const std::int64_t> r) -> void* {
      shape = s;
      rows.assign(r.begin(), r.end());
      bytes.assign(static_cast<std::size_t>(s.elements()) * SizeOf(dtype), std::byte{0xcd});
      return bytes.data();
    };
  }
};

/// Returns rank 0's number on all ranks.
inline std::uint32_t Common(Engine& engine, std::uint32_t number) {
  const auto bytes = std::as_writable_bytes(std::span(&number, 1));
  engine.Wait(engine.Broadcast(
      "common number",
      {bytes.data(), DType::kUInt8, Shape{static_cast<std::int64_t>(bytes.size())}}, 0));
  return number;
}

}  // namespace weir
