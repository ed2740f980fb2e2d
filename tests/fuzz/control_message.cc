// Messages of workers to a summation server.
#include <xxhash.h>

#include "coordinator/servers/group_description.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);

}  // namespace

void Run(std::span<const std::byte> body) {
  ControlMessage message;
  Bytes bytes(body.begin(), body.end());
  bytes.resize(body.size() + kChecksumBytes);
  StoreLittleEndian(bytes.data() + body.size(),
                    static_cast<std::uint64_t>(XXH3_64bits(body.data(), body.size())));
  if (!Accepts<Corrupt>([&] { message = ReadControlMessage(bytes); })) return;
  for (const GradientSpec& tensor : message.group.spec.tensors) {
    WEIR_CHECK(tensor.shape.elements() >= 0);
    WEIR_CHECK(SizeOf(tensor.dtype) > 0);
  }
  const Bytes written = Serialize(message);
  WEIR_CHECK(Serialize(ReadControlMessage(written)) == written);
}

std::vector<Bytes> Seeds() {
  using enum ControlMessage::Kind;
  GroupDescription group{
      .first_number = 3, .spec = {.name = "g"}, .fusion_threshold_bytes = 1 << 20};
  group.spec.compression = {{"compressor", "dgc"}, {"route", "push_pull"}};
  group.spec.tensors = {{.name = "w", .shape = Shape{3, 4}, .parameter_group = 1},
                        {.name = "b",
                         .shape = Shape{},
                         .dtype = DType::kBFloat16,
                         .compression = {{"compressor", "dense"}}}};
  std::vector<Bytes> seeds;
  for (const auto kind : {kRegister, kRelease, kFinish, kLeave}) {
    seeds.push_back(Serialize({kind, group}));
    seeds.back().resize(seeds.back().size() - kChecksumBytes);
  }
  return seeds;
}

}  // namespace weir::fuzz
