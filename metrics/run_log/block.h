#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

namespace weir {

/// A block of a run log (docs/reference/run-log.md): a head of JSON, which describes the content,
/// and the columns of a table, or a text. A block can be read without those before it, so a log may
/// lose its end, or be joined with another.
class RunLogBlock {
 public:
  static constexpr std::size_t kPrefixBytes = 32;
  static constexpr std::uint32_t kVersion = 1;

  /// `kind`: "steps", "stages", ...; `rank`: the rank it is about.
  RunLogBlock(const char* kind, int rank);

  /// Adds an entry to the head.
  RunLogBlock& Note(const char* key, nlohmann::ordered_json value);
  /// Adds a column: `value(row)` of every row. All columns of a block have the same rows.
  template <typename Rows, typename Value>
  RunLogBlock& Column(const char* name, const Rows& rows, Value value);
  /// Sets a text in place of columns.
  RunLogBlock& Text(const std::string& text);

  std::string Bytes() const;

 private:
  template <typename T>
  static constexpr const char* TypeName();
  void BeginColumn(const char* name, const char* type, std::size_t rows);
  void Pad();

  nlohmann::ordered_json head_;
  std::string body_;
};

/// NumPy's name of the type, little-endian.
template <typename T>
constexpr const char* RunLogBlock::TypeName() {
  if constexpr (std::is_same_v<T, std::int64_t>) return "<i8";
  if constexpr (std::is_same_v<T, std::uint64_t>) return "<u8";
  if constexpr (std::is_same_v<T, std::uint32_t>) return "<u4";
  if constexpr (std::is_same_v<T, float>) return "<f4";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "|u1";
}

template <typename Rows, typename Value>
RunLogBlock& RunLogBlock::Column(const char* name, const Rows& rows, Value value) {
  using T = std::remove_cvref_t<decltype(value(*std::begin(rows)))>;
  BeginColumn(name, TypeName<T>(), std::size(rows));
  const std::size_t begin = body_.size();
  body_.resize(begin + std::size(rows) * sizeof(T));
  char* at = body_.data() + begin;
  for (const auto& row : rows) {
    const T one = value(row);
    std::memcpy(at, &one, sizeof one);
    at += sizeof one;
  }
  Pad();
  return *this;
}

}  // namespace weir
