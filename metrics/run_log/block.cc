#include "metrics/run_log/block.h"

#include <zlib.h>

#include <span>

#include "common/byte_stream.h"
#include "common/check.h"
#include "metrics/files/json_text.h"

namespace weir {
namespace {

constexpr std::size_t kAlignment =
    8;  // For heads, bodies and columns, so that a reader may map them.

/// Continues `crc`, the checksum of the bytes before.
std::uint32_t Crc32(std::span<const std::byte> bytes, std::uint32_t crc = 0) {
  if (bytes.empty()) return crc;  // For zlib a null address would mean to start anew.
  return static_cast<std::uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::size_t Missing(std::size_t bytes) { return (kAlignment - bytes % kAlignment) % kAlignment; }

}  // namespace

RunLogBlock::RunLogBlock(const char* kind, int rank) : head_{{"kind", kind}, {"rank", rank}} {}

RunLogBlock& RunLogBlock::Note(const char* key, nlohmann::ordered_json value) {
  head_[key] = std::move(value);
  return *this;
}

void RunLogBlock::BeginColumn(const char* name, const char* type, std::size_t rows) {
  const auto [known, first] = head_.emplace("rows", rows);
  WEIR_CHECK(*known == rows);
  head_["columns"].push_back({name, type});
}

RunLogBlock& RunLogBlock::Text(const std::string& text) {
  WEIR_CHECK(!head_.contains("columns"));
  head_["text_bytes"] = text.size();
  body_ = text;
  Pad();
  return *this;
}

void RunLogBlock::Pad() { body_.append(Missing(body_.size()), '\0'); }

std::string RunLogBlock::Bytes() const {
  std::string head = JsonText(head_);
  head.append(Missing(head.size()), ' ');
  const auto head_bytes = std::as_bytes(std::span(head));
  const auto body_bytes = std::as_bytes(std::span(body_));

  ByteWriter prefix;
  prefix.PutBytes(std::as_bytes(std::span("WLOG", 4)));
  prefix.Put(kVersion);
  prefix.Put(static_cast<std::uint32_t>(head.size()));
  prefix.Put(static_cast<std::uint32_t>(body_.size()));
  prefix.Put(Crc32(body_bytes));
  prefix.Put(Crc32(head_bytes, Crc32(prefix.bytes())));
  prefix.Put(std::uint64_t{0});
  WEIR_CHECK(prefix.bytes().size() == kPrefixBytes);

  std::string bytes(reinterpret_cast<const char*>(prefix.bytes().data()), kPrefixBytes);
  return bytes.append(head).append(body_);
}

}  // namespace weir
