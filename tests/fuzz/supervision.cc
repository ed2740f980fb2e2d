// Messages between weirrun, its supervisors and the engines, as packets and as a stream.
#include "common/supervision/supervision.h"

#include <algorithm>

#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

using supervision::Decoder;
using supervision::Message;
using supervision::MessageType;

/// Messages that a receiver understood before the stream ended or turned out to be Corrupt.
struct Understood {
  std::string frames;  ///< Its messages, encoded again.
  std::size_t messages = 0;
  bool corrupt = false;
};

Understood Receive(std::string_view stream, std::size_t piece) {
  Decoder decoder;
  Understood result;
  for (std::size_t at = 0; at < stream.size() && !result.corrupt; at += piece) {
    decoder.Append(stream.substr(at, piece));
    result.corrupt = !Accepts<Corrupt>([&] {
      while (const auto message = decoder.Next()) {
        result.frames += Encode(*message);
        ++result.messages;
      }
    });
  }
  return result;
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const std::size_t piece = 1 + input.Number(300);
  const std::string stream = input.Text();
  const Understood whole = Receive(stream, std::max<std::size_t>(stream.size(), 1));
  const Understood pieces = Receive(stream, piece);
  WEIR_CHECK(whole.frames == pieces.frames && whole.corrupt == pieces.corrupt);
  WEIR_CHECK(stream.starts_with(whole.frames));

  Message message;
  const bool packet = Accepts<Corrupt>([&] { message = supervision::Decode(stream); });
  WEIR_CHECK(packet == (whole.messages == 1 && whole.frames.size() == stream.size()));
  WEIR_CHECK(!packet || Encode(message) == stream);
}

std::vector<Bytes> Seeds() {
  std::string stream;
  std::vector<Bytes> seeds;
  for (int type = 1; type <= static_cast<int>(MessageType::kLast); ++type) {
    const std::string frame = Encode(Message{.type = static_cast<MessageType>(type),
                                             .rank = 3,
                                             .code = -7,
                                             .host = "node-b",
                                             .text = "signal 9"});
    stream += frame;
    seeds.push_back(Seed({100}, frame));
  }
  seeds.push_back(Seed({7}, stream));
  return seeds;
}

}  // namespace weir::fuzz
