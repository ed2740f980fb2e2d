#include "coordinator/servers/group_description.h"

#include <xxhash.h>

#include <algorithm>
#include <string_view>

#include "common/byte_stream.h"
#include "common/shape_bytes.h"
#include "compression/options/option_bytes.h"
#include "weir/error.h"

namespace weir {
namespace {

// Name, type, dimensions, two numbers and options.
constexpr std::size_t kLeastTensorBytes = 4 * sizeof(std::uint32_t) + 2;
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);

void Put(ByteWriter& out, const GradientSpec& tensor) {
  out.PutString(tensor.name);
  out.Put(tensor.dtype);
  PutShape(out, tensor.shape);
  out.Put(static_cast<std::int32_t>(tensor.parameter_group));
  out.Put(static_cast<std::int32_t>(tensor.priority));
  PutOptions(out, tensor.compression);
}

DType GetDType(ByteReader& in) {
  const int number = in.Get<std::uint8_t>();
  if (number >= kDTypeCount) in.Fail("there is no type " + std::to_string(number));
  return static_cast<DType>(number);
}

GradientSpec GetTensor(ByteReader& in) {
  GradientSpec tensor;
  tensor.name = in.GetString();
  tensor.dtype = GetDType(in);
  tensor.shape = GetShape(in);
  tensor.parameter_group = in.Get<std::int32_t>();
  tensor.priority = in.Get<std::int32_t>();
  tensor.compression = GetOptions(in);
  return tensor;
}

void Put(ByteWriter& out, const GroupDescription& group) {
  out.PutString(group.spec.name);
  out.Put(static_cast<std::uint64_t>(group.fusion_threshold_bytes));
  PutOptions(out, group.spec.compression);
  out.Put(static_cast<std::uint32_t>(group.spec.tensors.size()));
  for (const GradientSpec& tensor : group.spec.tensors) Put(out, tensor);
}

}  // namespace

std::vector<std::byte> Serialize(const ControlMessage& message) {
  ByteWriter out;
  const GroupDescription& group = message.group;
  out.Put(message.kind);
  out.Put(group.first_number);
  if (message.kind == ControlMessage::Kind::kRegister) Put(out, group);
  out.Put(static_cast<std::uint64_t>(XXH3_64bits(out.bytes().data(), out.bytes().size())));
  return out.Take();
}

ControlMessage ReadControlMessage(std::span<const std::byte> bytes) {
  constexpr std::string_view kWhat = "a message to a summation server";
  const std::size_t size = bytes.size() - std::min(bytes.size(), kChecksumBytes);
  ByteReader end(bytes.subspan(size), kWhat);
  if (end.Get<std::uint64_t>() != XXH3_64bits(bytes.data(), size)) {
    end.Fail("its checksum is not that of its bytes");
  }
  ByteReader in(bytes.first(size), kWhat);
  ControlMessage message;
  message.kind = in.Get<ControlMessage::Kind>();
  if (message.kind > ControlMessage::Kind::kLeave) {
    in.Fail("its kind is " + std::to_string(static_cast<int>(message.kind)));
  }
  GroupDescription& group = message.group;
  group.first_number = in.Get<std::uint32_t>();
  if (message.kind == ControlMessage::Kind::kRegister) {
    group.spec.name = in.GetString();
    group.fusion_threshold_bytes = in.Get<std::uint64_t>();
    group.spec.compression = GetOptions(in);
    const std::uint32_t tensors = in.GetCount(kLeastTensorBytes);
    for (std::uint32_t i = 0; i < tensors; ++i) group.spec.tensors.push_back(GetTensor(in));
  }
  in.ExpectEnd();
  return message;
}

}  // namespace weir
