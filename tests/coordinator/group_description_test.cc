#include "coordinator/servers/group_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/servers/served_group.h"
#include "tests/engine/text_of.h"
#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;

ControlMessage Registration() {
  ControlMessage message{.kind = ControlMessage::Kind::kRegister,
                         .group = {.first_number = 7, .spec = {}, .fusion_threshold_bytes = 4096}};
  message.group.spec = {
      .name = "model",
      .tensors = {{.name = "w",
                   .shape = Shape{3, 500},
                   .dtype = DType::kFloat16,
                   .parameter_group = 1,
                   .priority = -2},
                  {.name = "b",
                   .shape = Shape{},
                   .compression = {{"compressor", "dense"}, {"route", "push_pull"}}}},
      .compression = {{"compressor", "topk"}, {"k", "0.1"}, {"route", "push_pull"}}};
  return message;
}

TEST(GroupDescriptionTest, ComesBackAsItWas) {
  const ControlMessage message = Registration();
  const ControlMessage back = ReadControlMessage(Serialize(message));
  EXPECT_EQ(back.kind, message.kind);
  EXPECT_EQ(back.group.first_number, 7u);
  EXPECT_EQ(back.group.fusion_threshold_bytes, 4096u);
  EXPECT_EQ(back.group.spec.name, "model");
  EXPECT_EQ(back.group.spec.compression, message.group.spec.compression);
  ASSERT_EQ(back.group.spec.tensors.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const GradientSpec& was = message.group.spec.tensors[i];
    const GradientSpec& is = back.group.spec.tensors[i];
    EXPECT_EQ(is.name, was.name);
    EXPECT_EQ(is.shape, was.shape);
    EXPECT_EQ(is.dtype, was.dtype);
    EXPECT_EQ(is.parameter_group, was.parameter_group);
    EXPECT_EQ(is.priority, was.priority);
    EXPECT_EQ(is.compression, was.compression);
  }
}

TEST(GroupDescriptionTest, AScalarAloneIsAGroup) {
  ControlMessage message{.kind = ControlMessage::Kind::kRegister, .group = {}};
  message.group.spec = {.name = "", .tensors = {{.name = "", .shape = Shape{}}}, .compression = {}};
  EXPECT_EQ(ReadControlMessage(Serialize(message)).group.spec.tensors.size(), 1u);
}

TEST(GroupDescriptionTest, WhatIsCutOrMadeUpIsCorrupt) {
  std::vector<std::byte> bytes = Serialize(Registration());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(ReadControlMessage(std::span(bytes).first(size)), Corrupt) << size;
  }
  bytes.front() = std::byte{9};
  EXPECT_THAT(TextOf<Corrupt>([&] { ReadControlMessage(bytes); }), HasSubstr("its checksum"));
  ControlMessage message = Registration();
  message.kind = static_cast<ControlMessage::Kind>(9);
  EXPECT_THAT(TextOf<Corrupt>([&] { ReadControlMessage(Serialize(message)); }),
              HasSubstr("its kind is 9"));
}

// Parts go to servers in turn; a bucket without any of a server's is none of its business.
TEST(ServedGroupTest, HasThePartsOfItsServer) {
  const GroupDescription group = Registration().group;
  std::size_t parts = 0;
  for (int server = 0; server < 3; ++server) {
    const ServedGroup served =
        MakeServedGroup(group, {.server = server, .servers = 3, .workers = 2, .rank = 2 + server});
    EXPECT_EQ(served.first_number, 7u);
    for (const auto& bucket : served.buckets) parts += bucket != nullptr;
  }
  EXPECT_EQ(parts, 2u);  // Two tensors that share no bucket, and three servers.
}

TEST(ServedGroupTest, AnUnknownCompressorIsNamed) {
  GroupDescription group = Registration().group;
  group.spec.compression["compressor"] = "mine";
  EXPECT_THAT(TextOf<Corrupt>([&] { MakeServedGroup(group, {}); }),
              AllOf(HasSubstr("the gradient group 'model' cannot be served"), HasSubstr("mine")));
}

}  // namespace
}  // namespace weir
