#include "coordinator/servers/group_description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "coordinator/servers/served_group.h"
#include "tests/compression/wire/wire_page.h"
#include "tests/coordinator/jobs/text_of.h"
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

TEST(GroupDescriptionTest, TheBytesAreThoseOfTheWireFormatsPage) {
  const ControlMessage release{.kind = ControlMessage::Kind::kRelease,
                               .group = {.first_number = 7, .spec = {}}};
  test::ExpectAsOnThePage(Serialize(release), "01 07 00 00 00 d3 47 a6 a9 20 9e d5 ae");
  ControlMessage message = Registration();
  message.group.spec.compression = {{"compressor", "topk"}, {"route", "push_pull"}};
  message.group.spec.tensors.resize(1);
  test::ExpectAsOnThePage(
      Serialize(message),
      "00 07 00 00 00 05 00 00 00 6d 6f 64 65 6c 00 10 00 00 00 00 00 00 "
      "02 00 00 00 0a 00 00 00 63 6f 6d 70 72 65 73 73 6f 72 04 00 00 00 74 6f 70 6b "
      "05 00 00 00 72 6f 75 74 65 09 00 00 00 70 75 73 68 5f 70 75 6c 6c "
      "01 00 00 00 01 00 00 00 77 02 02 03 00 00 00 00 00 00 00 f4 01 00 00 00 00 00 00 "
      "01 00 00 00 fe ff ff ff 00 00 00 00 0b ab 4b aa b6 14 81 05");
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

TEST(ServedGroupTest, AnyNumberOfParameterGroupsIsANumber) {
  GroupDescription group = Registration().group;
  group.spec.tensors.resize(1);
  group.spec.tensors[0].parameter_group = std::numeric_limits<int>::max();
  const ServedGroup served = MakeServedGroup(group, {.workers = 2});
  ASSERT_EQ(served.buckets.size(), 1u);
  const std::size_t rates = ServedBucket::HeadBytes(std::size_t{1} << 31);
  EXPECT_GT(served.buckets.front()->max_push_bytes(), rates);
  EXPECT_LT(served.buckets.front()->max_push_bytes(), rates + 10'000);
}

TEST(ServedGroupTest, AnUnknownCompressorIsNamed) {
  GroupDescription group = Registration().group;
  group.spec.compression["compressor"] = "mine";
  EXPECT_THAT(TextOf<Corrupt>([&] { MakeServedGroup(group, {}); }),
              AllOf(HasSubstr("the gradient group 'model' cannot be served"), HasSubstr("mine")));
}

}  // namespace
}  // namespace weir
