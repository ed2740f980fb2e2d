#include "common/supervision/supervision.h"

#include <gtest/gtest.h>

#include <random>

#include "weir/error.h"

namespace weir::supervision {
namespace {

const Message kExample{.type = MessageType::kPeerLost,
                       .rank = 3,
                       .code = -7,
                       .host = "node-b",
                       .text = std::string("signal 9\0 (Killed)", 18)};

void ExpectEqual(const Message& a, const Message& b) {
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.code, b.code);
  EXPECT_EQ(a.host, b.host);
  EXPECT_EQ(a.text, b.text);
}

TEST(Supervision, MessageSurvivesTheWire) { ExpectEqual(Decode(Encode(kExample)), kExample); }

TEST(Supervision, LayoutIsLittleEndianAndFixed) {
  const Message message{
      .type = MessageType::kHello, .rank = 0x0102, .code = 1, .host = "h", .text = "t"};
  EXPECT_EQ(Encode(message), std::string("\x0c\0\0\0\x01\x02\x01\0\0\x01\0\0\0\x01ht", 16));
}

TEST(Supervision, StreamIsTakenApartWhereverItIsCut) {
  const std::string stream = Encode(kExample) + Encode({}) + Encode(kExample);
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    Decoder decoder;
    std::vector<Message> messages;
    for (const std::string& part : {stream.substr(0, cut), stream.substr(cut)}) {
      decoder.Append(part);
      while (auto message = decoder.Next()) messages.push_back(*message);
    }
    ASSERT_EQ(messages.size(), 3u) << "cut at " << cut;
    ExpectEqual(messages[0], kExample);
    ExpectEqual(messages[1], {});
    ExpectEqual(messages[2], kExample);
  }
}

TEST(Supervision, LongTextAndHostAreCut) {
  Message message = kExample;
  message.text.assign(kMaxText + 1, 'x');
  message.host.assign(kMaxHost + 1, 'h');
  const Message decoded = Decode(Encode(message));
  EXPECT_EQ(decoded.text.size(), kMaxText);
  EXPECT_EQ(decoded.host.size(), kMaxHost);
}

TEST(Supervision, HugeLengthIsRefusedBeforeItsBytesArrive) {
  Decoder decoder;
  decoder.Append(std::string("\xff\xff\xff\x7f", 4));
  EXPECT_THROW(decoder.Next(), Corrupt);
}

TEST(Supervision, UnknownTypeIsRefused) {
  for (const int type : {0, static_cast<int>(MessageType::kLast) + 1,
                         static_cast<int>(MessageType::kChallenge) - 1}) {
    std::string frame = Encode(kExample);
    frame[4] = static_cast<char>(type);
    EXPECT_THROW(Decode(frame), Corrupt) << type;
  }
}

TEST(Supervision, HostLongerThanTheBodyIsRefused) {
  std::string frame = Encode({});
  frame[4 + kBodyHeader - 1] = 1;
  EXPECT_THROW(Decode(frame), Corrupt);
}

TEST(Supervision, EveryTruncationIsRefused) {
  const std::string frame = Encode(kExample);
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_THROW(Decode(std::string_view(frame).substr(0, size)), Corrupt) << size;
  }
  EXPECT_THROW(Decode(frame + "x"), Corrupt);
}

TEST(Supervision, RandomBytesAreAMessageOrCorrupt) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = Encode(kExample);
    for (int flips = 0; flips < 3; ++flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    Decoder decoder;
    decoder.Append(bytes);
    try {
      while (auto message = decoder.Next()) EXPECT_LE(message->text.size(), kMaxText);
    } catch (const Corrupt&) {
      continue;  // Refused, and nothing read beyond its end.
    }
  }
}

}  // namespace
}  // namespace weir::supervision
