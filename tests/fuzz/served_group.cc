// A summation server's handling of a group that a worker describes.
#include "coordinator/servers/served_group.h"

#include <xxhash.h>

#include <map>
#include <optional>

#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);
constexpr int kServers = 3;
/// A plan has the memory that its tensors need, which is more than there is to fuzz with.
constexpr std::int64_t kMostElements = 3000;

/// The description in a message without its checksum; none if that is refused.
std::optional<GroupDescription> Described(std::span<const std::byte> body) {
  Bytes bytes(body.begin(), body.end());
  bytes.resize(body.size() + kChecksumBytes);
  StoreLittleEndian(bytes.data() + body.size(),
                    static_cast<std::uint64_t>(XXH3_64bits(body.data(), body.size())));
  ControlMessage message;
  if (!Accepts<Corrupt>([&] { message = ReadControlMessage(bytes); })) return {};
  if (message.kind != ControlMessage::Kind::kRegister) return {};
  return message.group;
}

bool IsSmall(const GroupDescription& group) {
  std::int64_t left = kMostElements;
  for (const GradientSpec& tensor : group.spec.tensors) {
    if (tensor.shape.elements() > left) return false;
    left -= tensor.shape.elements();
  }
  return true;
}

}  // namespace

void Run(std::span<const std::byte> body) {
  const std::optional<GroupDescription> group = Described(body);
  if (!group || !IsSmall(*group)) return;
  std::vector<ServedGroup> served;
  for (int s = 0; s < kServers; ++s) {
    const ServerPlace place{.server = s, .servers = kServers, .workers = 2, .rank = 2 + s};
    const bool accepted =
        Accepts<Corrupt>([&] { served.push_back(MakeServedGroup(*group, place)); });
    WEIR_CHECK_MSG(accepted || s == 0, "all servers make the same of it");
    if (!accepted) return;
    WEIR_CHECK(served.back().buckets.size() == served.front().buckets.size());
    WEIR_CHECK(served.back().first_number == group->first_number);
  }
  const std::size_t least = ServedBucket::HeadBytes(1);
  for (const ServedGroup& one : served) {
    for (const auto& bucket : one.buckets) {
      WEIR_CHECK(!bucket || bucket->max_push_bytes() > least);
    }
  }
}

std::vector<Bytes> Seeds() {
  const std::vector<std::map<std::string, std::string>> variants = {
      {{"compressor", "dgc"}, {"route", "push_pull"}, {"partition_bytes", "400"}},
      {{"compressor", "topk"}, {"k", "0.1"}, {"route", "push_pull"}, {"max_staleness", "3"}},
      {{"compressor", "onebit"}, {"scaling", "true"}, {"ef", "vanilla"}, {"route", "push_pull"}},
      {{"compressor", "dense"}, {"clip_norm", "1"}}};
  std::vector<Bytes> seeds;
  for (const auto& options : variants) {
    ControlMessage message{.kind = ControlMessage::Kind::kRegister,
                           .group = {.first_number = 3, .spec = {.name = "g"}}};
    message.group.fusion_threshold_bytes = 1 << 20;
    message.group.spec.compression = options;
    message.group.spec.tensors = {{.name = "w", .shape = Shape{30, 40}, .parameter_group = 1},
                                  {.name = "b", .shape = Shape{7}, .priority = 2},
                                  {.name = "s", .shape = Shape{}, .dtype = DType::kBFloat16}};
    seeds.push_back(Serialize(message));
    seeds.back().resize(seeds.back().size() - kChecksumBytes);
  }
  return seeds;
}

}  // namespace weir::fuzz
