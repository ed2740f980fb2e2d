#include "compression/process/messages.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include "common/byte_stream.h"
#include "common/shape_bytes.h"
#include "compression/options/option_bytes.h"

namespace weir::process {
namespace {

template <typename Call>
ssize_t Retried(const Call& call) {
  ssize_t result = -1;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace

Context::Context(const StepContext& context)
    : step(context.step),
      density(context.density),
      momentum(context.momentum.value_or(0)),
      momentum_ratio(context.momentum_ratio),
      learning_rate(context.learning_rate),
      previous_learning_rate(context.previous_learning_rate),
      gradient_scale(context.gradient_scale),
      rank(context.rank),
      dense_phase(context.dense_phase),
      has_momentum(context.momentum.has_value()) {}

StepContext Context::Get() const {
  StepContext context;
  context.step = step;
  context.dense_phase = dense_phase;
  context.density = density;
  context.learning_rate = learning_rate;
  context.previous_learning_rate = previous_learning_rate;
  context.gradient_scale = gradient_scale;
  if (has_momentum) context.momentum = momentum;
  context.momentum_ratio = momentum_ratio;
  context.rank = rank;
  return context;
}

namespace {

std::vector<std::byte> BytesOf(const Description& description) {
  ByteWriter out;
  PutOptions(out, description.options);
  out.PutString(description.tensor.name);
  PutShape(out, description.tensor.shape);
  return out.Take();
}

Description DescriptionOf(std::span<const std::byte> bytes) {
  ByteReader in(bytes, "a message to a compression process");
  Description description;
  description.options = GetOptions(in);
  description.tensor.name = in.GetString();
  description.tensor.shape = GetShape(in);
  return description;
}

bool SendBytes(int socket, std::span<const std::byte> bytes) {
  return Retried([&] { return send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL); }) ==
         static_cast<ssize_t>(bytes.size());
}

/// A request with room for a descriptor beside it, as the system's calls take it.
struct WithDescriptor {
  explicit WithDescriptor(Request& request) : part{&request, sizeof(request)} {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  WithDescriptor(const WithDescriptor&) = delete;
  WithDescriptor& operator=(const WithDescriptor&) = delete;

  iovec part;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
};

/// True if a message of exactly that size came.
bool ReceiveBytes(int socket, std::span<std::byte> bytes) {
  return Retried([&] { return recv(socket, bytes.data(), bytes.size(), 0); }) ==
         static_cast<ssize_t>(bytes.size());
}

}  // namespace

bool Send(int socket, const Request& request) {
  return SendBytes(socket, std::as_bytes(std::span(&request, 1)));
}

bool SendOpen(int socket, Request request, const Slot& slot, const Description& description) {
  const std::vector<std::byte> text = BytesOf(description);
  request.text_bytes = static_cast<std::uint32_t>(text.size());
  WithDescriptor with(request);
  cmsghdr* const header = CMSG_FIRSTHDR(&with.message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  const int fd = slot.fd();
  std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
  return Retried([&] { return sendmsg(socket, &with.message, MSG_NOSIGNAL); }) > 0 &&
         SendBytes(socket, text);
}

bool Send(int socket, const Reply& reply) {
  return SendBytes(socket, std::as_bytes(std::span(&reply, 1)));
}

std::optional<Request> ReceiveRequest(int socket, UniqueFd& fd) {
  Request request;
  WithDescriptor with(request);
  const ssize_t bytes = Retried([&] { return recvmsg(socket, &with.message, MSG_CMSG_CLOEXEC); });
  if (bytes != static_cast<ssize_t>(sizeof(request))) return std::nullopt;
  if (const cmsghdr* const header = CMSG_FIRSTHDR(&with.message)) {
    int received = -1;
    std::memcpy(&received, CMSG_DATA(header), sizeof(int));
    fd.reset(received);
  }
  return request;
}

std::optional<Description> ReceiveDescription(int socket, std::size_t text_bytes) {
  std::vector<std::byte> text(text_bytes);
  if (!ReceiveBytes(socket, text)) return std::nullopt;
  return DescriptionOf(text);
}

std::optional<Reply> ReceiveReply(int socket) {
  Reply reply;
  if (!ReceiveBytes(socket, std::as_writable_bytes(std::span(&reply, 1)))) return std::nullopt;
  return reply;
}

}  // namespace weir::process
