#include <xxhash.h>

#include <set>
#include <string>
#include <utility>

#include "common/byte_stream.h"
#include "compression/state/state.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::uint64_t kStateMagic = 0x5441545352494557;  // "WEIRSTAT"
constexpr std::uint32_t kVersion = 3;
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);

void WriteArray(const SavedArray& array, ByteWriter& writer) {
  writer.Put(static_cast<std::uint32_t>(array.tensor.size()));
  writer.Put(static_cast<std::uint32_t>(array.name.size()));
  writer.Put(static_cast<std::uint64_t>(array.values.size()));
  writer.PutBytes(std::as_bytes(std::span(array.tensor)));
  writer.PutBytes(std::as_bytes(std::span(array.name)));
  writer.PutBytes(std::as_bytes(std::span(array.values)));
}

SavedArray ReadArray(ByteReader& reader) {
  const auto tensor_length = reader.Get<std::uint32_t>();
  const auto name_length = reader.Get<std::uint32_t>();
  const auto elements = reader.Get<std::uint64_t>();
  SavedArray array;
  array.tensor = reader.GetText(tensor_length);
  array.name = reader.GetText(name_length);
  array.values = reader.GetFloats(elements);
  return array;
}

/// Returns the part under the checksum; throws Corrupt unless that holds.
std::span<const std::byte> CheckedBody(std::span<const std::byte> bytes) {
  if (bytes.size() < kChecksumBytes) throw Corrupt("saved state: cut short");
  const auto body = bytes.first(bytes.size() - kChecksumBytes);
  const auto stored = LoadLittleEndian<std::uint64_t>(bytes.data() + body.size());
  if (stored != XXH3_64bits(body.data(), body.size())) {
    throw Corrupt("saved state: the checksum does not fit; the file is damaged or cut short");
  }
  return body;
}

}  // namespace

std::vector<std::byte> Serialize(const SavedState& state) {
  ByteWriter writer;
  writer.Put(kStateMagic);
  writer.Put(kVersion);
  writer.Put(static_cast<std::uint32_t>(state.ranks));
  writer.Put(static_cast<std::uint32_t>(state.rank));
  writer.Put(static_cast<std::uint32_t>(state.hosts));
  writer.Put(static_cast<std::uint32_t>(state.place));
  writer.Put(static_cast<std::uint32_t>(state.arrays.size()));
  writer.Put(state.step);
  writer.Put(static_cast<std::uint64_t>(state.learning_rates.size()));
  writer.PutBytes(std::as_bytes(std::span(state.learning_rates)));
  for (const SavedArray& array : state.arrays) WriteArray(array, writer);
  writer.Put(std::uint64_t{XXH3_64bits(writer.bytes().data(), writer.bytes().size())});
  return writer.Take();
}

SavedState Deserialize(std::span<const std::byte> bytes) {
  ByteReader reader(CheckedBody(bytes), "saved state");
  if (reader.Get<std::uint64_t>() != kStateMagic) reader.Fail("not one of Weir's");
  if (const auto version = reader.Get<std::uint32_t>(); version != kVersion) {
    reader.Fail("version is " + std::to_string(version) + ", expected " + std::to_string(kVersion));
  }
  const auto ranks = reader.Get<std::uint32_t>();
  const auto rank = reader.Get<std::uint32_t>();
  const auto hosts = reader.Get<std::uint32_t>();
  const auto place = reader.Get<std::uint32_t>();
  const auto count = reader.Get<std::uint32_t>();
  if (ranks > INT32_MAX || rank >= ranks) {
    reader.Fail("rank is " + std::to_string(rank) + " of " + std::to_string(ranks));
  }
  if (hosts > ranks || place >= ranks) {
    reader.Fail("place is " + std::to_string(place) + " on one of " + std::to_string(hosts) +
                " hosts of " + std::to_string(ranks) + " ranks");
  }
  SavedState state{.ranks = static_cast<int>(ranks),
                   .rank = static_cast<int>(rank),
                   .hosts = static_cast<int>(hosts),
                   .place = static_cast<int>(place),
                   .step = reader.Get<std::int64_t>(),
                   .learning_rates = {},
                   .arrays = {}};
  state.learning_rates = reader.GetFloats(reader.Get<std::uint64_t>());
  std::set<std::pair<std::string, std::string>> seen;
  for (std::uint32_t i = 0; i < count; ++i) {
    SavedArray array = ReadArray(reader);
    if (!seen.emplace(array.tensor, array.name).second) {
      reader.Fail("tensor \"" + array.tensor + "\" has \"" + array.name + "\" twice");
    }
    state.arrays.push_back(std::move(array));
  }
  reader.ExpectEnd();
  return state;
}

}  // namespace weir
