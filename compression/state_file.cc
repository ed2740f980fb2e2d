#include <xxhash.h>

#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "common/check.h"
#include "compression/bit_stream.h"
#include "compression/state.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::uint64_t kMagic = 0x5441545352494557;  // "WEIRSTAT"
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);

class Writer {
 public:
  template <typename T>
  void Number(T value) {
    std::array<std::byte, sizeof(T)> bytes;
    StoreLittleEndian(bytes.data(), value);
    Bytes(bytes);
  }
  void Bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> Take() { return std::move(bytes_); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads from the front; every length is compared with what is left before it is used.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T Number() {
    return LoadLittleEndian<T>(Bytes(sizeof(T)).data());
  }
  std::span<const std::byte> Bytes(std::uint64_t count) {
    if (count > bytes_.size()) {
      throw Corrupt("saved state: " + std::to_string(count) + " bytes announced, " +
                    std::to_string(bytes_.size()) + " left");
    }
    const auto head = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return head;
  }
  std::string Text(std::uint64_t length) {
    const auto bytes = Bytes(length);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::vector<float> Floats(std::uint64_t count) {
    if (count > bytes_.size() / sizeof(float)) {
      throw Corrupt("saved state: " + std::to_string(count) + " floats announced, " +
                    std::to_string(bytes_.size()) + " bytes left");
    }
    const auto bytes = Bytes(count * sizeof(float));
    std::vector<float> values(count);
    if (count != 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

void WriteArray(const SavedArray& array, Writer& writer) {
  writer.Number(static_cast<std::uint32_t>(array.tensor.size()));
  writer.Number(static_cast<std::uint32_t>(array.name.size()));
  writer.Number(static_cast<std::uint64_t>(array.values.size()));
  writer.Bytes(std::as_bytes(std::span(array.tensor)));
  writer.Bytes(std::as_bytes(std::span(array.name)));
  writer.Bytes(std::as_bytes(std::span(array.values)));
}

SavedArray ReadArray(Reader& reader) {
  const auto tensor_length = reader.Number<std::uint32_t>();
  const auto name_length = reader.Number<std::uint32_t>();
  const auto elements = reader.Number<std::uint64_t>();
  SavedArray array;
  array.tensor = reader.Text(tensor_length);
  array.name = reader.Text(name_length);
  array.values = reader.Floats(elements);
  return array;
}

/// What the checksum covers; throws Corrupt unless it holds.
std::span<const std::byte> CheckedBody(std::span<const std::byte> bytes) {
  Reader(bytes).Bytes(kChecksumBytes);
  const auto body = bytes.first(bytes.size() - kChecksumBytes);
  const auto stored = LoadLittleEndian<std::uint64_t>(bytes.data() + body.size());
  if (stored != XXH3_64bits(body.data(), body.size())) {
    throw Corrupt("saved state: the checksum does not fit; the file is damaged or cut short");
  }
  return body;
}

}  // namespace

std::vector<std::byte> Serialize(const SavedState& state) {
  Writer writer;
  writer.Number(kMagic);
  writer.Number(kVersion);
  writer.Number(static_cast<std::uint32_t>(state.ranks));
  writer.Number(static_cast<std::uint32_t>(state.rank));
  writer.Number(static_cast<std::uint32_t>(state.arrays.size()));
  writer.Number(state.step);
  writer.Number(static_cast<std::uint64_t>(state.learning_rates.size()));
  for (const float rate : state.learning_rates) writer.Number(std::bit_cast<std::uint32_t>(rate));
  for (const SavedArray& array : state.arrays) WriteArray(array, writer);
  writer.Number(std::uint64_t{XXH3_64bits(writer.bytes().data(), writer.bytes().size())});
  return writer.Take();
}

SavedState Deserialize(std::span<const std::byte> bytes) {
  Reader reader(CheckedBody(bytes));
  if (reader.Number<std::uint64_t>() != kMagic) throw Corrupt("saved state: not one of Weir's");
  if (const auto version = reader.Number<std::uint32_t>(); version != kVersion) {
    throw Corrupt("saved state: version is " + std::to_string(version) + ", expected " +
                  std::to_string(kVersion));
  }
  const auto ranks = reader.Number<std::uint32_t>();
  const auto rank = reader.Number<std::uint32_t>();
  const auto count = reader.Number<std::uint32_t>();
  if (ranks > INT32_MAX || rank >= ranks) {
    throw Corrupt("saved state: rank is " + std::to_string(rank) + " of " + std::to_string(ranks));
  }
  SavedState state{.ranks = static_cast<int>(ranks),
                   .rank = static_cast<int>(rank),
                   .step = reader.Number<std::int64_t>(),
                   .learning_rates = {},
                   .arrays = {}};
  state.learning_rates = reader.Floats(reader.Number<std::uint64_t>());
  std::set<std::pair<std::string, std::string>> seen;
  for (std::uint32_t i = 0; i < count; ++i) {
    SavedArray array = ReadArray(reader);
    if (!seen.emplace(array.tensor, array.name).second) {
      throw Corrupt("saved state: tensor \"" + array.tensor + "\" has \"" + array.name +
                    "\" twice");
    }
    state.arrays.push_back(std::move(array));
  }
  if (reader.left() != 0) {
    throw Corrupt("saved state: " + std::to_string(reader.left()) + " bytes after the last array");
  }
  return state;
}

}  // namespace weir
