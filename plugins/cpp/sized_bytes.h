#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <vector>

/// Bytes that stand in a stream before others: their number as u64, then they.
namespace weir {

void WriteSized(std::span<const std::byte> bytes, std::ostream& out);

/// Throws Corrupt.
std::vector<std::byte> ReadSized(std::istream& in);

}  // namespace weir
