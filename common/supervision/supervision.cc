#include "common/supervision/supervision.h"

#include <algorithm>

#include "common/byte_stream.h"
#include "weir/error.h"

namespace weir::supervision {
namespace {

void PutU32(std::string& out, std::uint32_t value) {
  out.resize(out.size() + sizeof value);
  StoreLittleEndian(reinterpret_cast<std::byte*>(out.data() + out.size() - sizeof value), value);
}

std::uint32_t GetU32(std::string_view bytes) {
  return LoadLittleEndian<std::uint32_t>(reinterpret_cast<const std::byte*>(bytes.data()));
}

[[noreturn]] void ThrowCorrupt(const std::string& what) {
  throw Corrupt("supervision message: " + what, {.tensor = {}, .ranks = {}, .phase = "supervise"});
}

/// Returns the length of the body of the frame that `bytes` (at least four) begins with.
std::size_t BodyLength(std::string_view bytes) {
  const std::size_t length = GetU32(bytes);
  if (length < kBodyHeader || length > kMaxFrame - 4) {
    ThrowCorrupt("body of " + std::to_string(length) + " bytes; allowed are " +
                 std::to_string(kBodyHeader) + " to " + std::to_string(kMaxFrame - 4));
  }
  return length;
}

Message DecodeBody(std::string_view body) {
  const auto type = static_cast<unsigned char>(body[0]);
  const bool known = type != 0 && (type <= static_cast<unsigned char>(MessageType::kLast) ||
                                   type >= static_cast<unsigned char>(MessageType::kChallenge));
  if (!known) {
    ThrowCorrupt("unknown type " + std::to_string(type));
  }
  Message message{.type = static_cast<MessageType>(type),
                  .rank = static_cast<std::int32_t>(GetU32(body.substr(1))),
                  .code = static_cast<std::int32_t>(GetU32(body.substr(5))),
                  .text = {}};
  const std::size_t host = static_cast<unsigned char>(body[kBodyHeader - 1]);
  body.remove_prefix(kBodyHeader);
  if (host > body.size()) ThrowCorrupt("host name reaches beyond the end");
  if (body.size() - host > kMaxText) ThrowCorrupt("text beyond 64 KiB");
  message.host = body.substr(0, host);
  message.text = body.substr(host);
  return message;
}

}  // namespace

std::string Encode(const Message& message) {
  const std::size_t host = std::min(message.host.size(), kMaxHost);
  const std::size_t text = std::min(message.text.size(), kMaxText);
  std::string frame;
  frame.reserve(4 + kBodyHeader + host + text);
  PutU32(frame, static_cast<std::uint32_t>(kBodyHeader + host + text));
  frame.push_back(static_cast<char>(message.type));
  PutU32(frame, static_cast<std::uint32_t>(message.rank));
  PutU32(frame, static_cast<std::uint32_t>(message.code));
  frame.push_back(static_cast<char>(host));
  frame.append(message.host, 0, host);
  frame.append(message.text, 0, text);
  return frame;
}

Message Decode(std::string_view frame) {
  if (frame.size() < 4 || frame.size() - 4 != BodyLength(frame)) {
    ThrowCorrupt("packet of " + std::to_string(frame.size()) + " bytes is not one frame");
  }
  return DecodeBody(frame.substr(4));
}

std::optional<Message> Decoder::Next() {
  const std::string_view all = buffer_;
  const std::string_view rest = all.substr(begin_);
  const bool whole = rest.size() >= 4 && rest.size() - 4 >= BodyLength(rest);
  if (!whole) {
    buffer_.erase(0, begin_);
    begin_ = 0;
    return std::nullopt;
  }
  const std::size_t length = BodyLength(rest);
  begin_ += 4 + length;
  return DecodeBody(rest.substr(4, length));
}

}  // namespace weir::supervision
