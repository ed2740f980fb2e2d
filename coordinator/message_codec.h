#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "weir/error.h"

namespace weir {

/// Appends plain values to a message. Little-endian hosts only (checked in request.cc).
class MessageWriter {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void Put(const T& value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(T));
  }
  void PutString(const std::string& text) {
    Put(static_cast<std::uint32_t>(text.size()));
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), bytes, bytes + text.size());
  }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads them back; throws Corrupt instead of reading past the end or allocating more than the
/// message could hold.
class MessageReader {
 public:
  explicit MessageReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  requires std::is_trivially_copyable_v<T> T Get() {
    Need(sizeof(T));
    T value;
    std::memcpy(&value, rest_.data(), sizeof(T));
    rest_ = rest_.subspan(sizeof(T));
    return value;
  }
  std::string GetString() {
    const auto size = Get<std::uint32_t>();
    Need(size);
    std::string text(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return text;
  }
  /// A count of items that take at least `least` bytes each.
  std::uint32_t GetCount(std::size_t least) {
    const auto count = Get<std::uint32_t>();
    Need(count * least);
    return count;
  }
  void ExpectEnd() const {
    if (!rest_.empty()) throw Corrupt("a negotiation message has bytes after its end");
  }

 private:
  void Need(std::size_t bytes) const {
    if (rest_.size() < bytes) throw Corrupt("a negotiation message ends too early");
  }

  std::span<const std::byte> rest_;
};

}  // namespace weir
