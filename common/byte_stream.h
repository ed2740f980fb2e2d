#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/error.h"

/// Bytes of messages and files, little-endian.
namespace weir {

static_assert(std::endian::native == std::endian::little,
              "a big-endian machine needs byte swaps in this file");

/// Unaligned loads and stores.
template <typename T>
T LoadLittleEndian(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
void StoreLittleEndian(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// Appends plain values.
class ByteWriter {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T>
  void Put(const T& value) { PutBytes(std::as_bytes(std::span(&value, 1))); }
  void PutBytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  /// Puts the length as u32, then the text.
  void PutString(const std::string& text) {
    Put(static_cast<std::uint32_t>(text.size()));
    PutBytes(std::as_bytes(std::span(text)));
  }

  std::span<const std::byte> bytes() const { return bytes_; }
  std::vector<std::byte> Take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads plain values back. Throws Corrupt, whose text begins with `what`, instead of reading past
/// the end or allocating more than the bytes could fill. `bytes` and `what` must outlive it.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string_view what) : rest_(bytes), what_(what) {}

  template <typename T>
  requires std::is_trivially_copyable_v<T> T Get() {
    return LoadLittleEndian<T>(GetBytes(sizeof(T)).data());
  }
  std::span<const std::byte> GetBytes(std::uint64_t count) {
    Need(count, 1);
    const auto bytes = rest_.first(count);
    rest_ = rest_.subspan(count);
    return bytes;
  }
  std::string GetText(std::uint64_t length) {
    const auto bytes = GetBytes(length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::string GetString() { return GetText(Get<std::uint32_t>()); }
  std::vector<float> GetFloats(std::uint64_t count) {
    Need(count, sizeof(float));
    const auto bytes = GetBytes(count * sizeof(float));
    std::vector<float> values(count);
    if (count != 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  /// Reads a count of items that take at least `least` bytes each.
  std::uint32_t GetCount(std::size_t least) {
    const auto count = Get<std::uint32_t>();
    Need(count, least);
    return count;
  }
  bool at_end() const { return rest_.empty(); }
  void ExpectEnd() const {
    if (!rest_.empty()) Fail(std::to_string(rest_.size()) + " bytes after its end");
  }
  [[noreturn]] void Fail(const std::string& why) const {
    throw Corrupt(std::string(what_) + ": " + why);
  }

 private:
  void Need(std::uint64_t count, std::size_t size) const {
    if (count <= rest_.size() / size) return;
    Fail("ends too early: " + std::to_string(count) + " x " + std::to_string(size) +
         " bytes announced, " + std::to_string(rest_.size()) + " left");
  }

  std::span<const std::byte> rest_;
  std::string_view what_;
};

}  // namespace weir
