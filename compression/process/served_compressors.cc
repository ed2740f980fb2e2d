#include "compression/process/served_compressors.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/threads/thread_pool.h"
#include "compression/make_compressor.h"
#include "compression/process/messages.h"

namespace weir {
namespace {

constexpr int kLookAfterMs = 1000;

using process::Ask;
using process::Reply;
using process::Request;

/// A tensor's compressor, and what it shares with the program.
struct Served {
  std::unique_ptr<Compressor> compressor;
  std::unique_ptr<Slot> slot;
};

Reply Refusal(std::string_view text) {
  Reply reply;
  text.copy(reply.error.data(), reply.error.size() - 1);
  return reply;
}

class Server {
 public:
  Server(int socket, int threads) : socket_(socket), pool_(threads, "weir-pool") {}

  /// False once the program is gone.
  bool ServeOne() {
    UniqueFd fd;
    const std::optional<Request> request = process::ReceiveRequest(socket_, fd);
    if (!request) return false;
    if (request->ask == Ask::kKeep) return Keep(*request);
    if (request->ask == Ask::kClose) {
      served_.at(request->tensor) = {};
      return true;
    }
    Reply reply;
    try {
      reply = Answer(*request, std::move(fd));
    } catch (const std::exception& error) {
      reply = Refusal(error.what());
    }
    return process::Send(socket_, reply);
  }

 private:
  Reply Answer(const Request& request, UniqueFd fd) {
    if (request.ask == Ask::kOpen) {
      const auto description = process::ReceiveDescription(socket_, request.text_bytes);
      if (!description) return Refusal("no description");
      served_.push_back({MakeCompressor(description->options, description->tensor),
                         std::make_unique<Slot>(std::move(fd), request.size)});
    }
    Reply reply{.ok = true};
    if (request.ask == Ask::kAwait) return reply;
    Served& served = served_.at(request.tensor);
    Compressor& compressor = *served.compressor;
    if (request.ask == Ask::kEncode) {
      if (request.load != Request::kNone) {
        ReadImage(served.slot->image(static_cast<std::size_t>(request.load)), compressor);
      }
      StepContext context = request.context.Get();
      context.pool = &pool_;
      reply.bytes = compressor.Encode(context, served.slot->gradient(), served.slot->payload());
      served.slot->state() = Slot::State::kCompressed;
    } else if (request.ask == Ask::kRevert) {
      compressor.Revert();
    }
    reply.non_finite = compressor.non_finite_entries();
    reply.threshold = compressor.threshold();
    return reply;
  }

  bool Keep(const Request& request) {
    Served& served = served_.at(request.tensor);
    WriteImage(*served.compressor, served.slot->image(static_cast<std::size_t>(request.image)));
    served.slot->state() = Slot::State::kFree;
    return true;
  }

  const int socket_;
  ThreadPool pool_;
  std::vector<Served> served_;
};

}  // namespace

void ServeCompressors(int socket, int threads) {
  const pid_t program = getppid();
  Server server(socket, threads);
  pollfd ready{.fd = socket, .events = POLLIN, .revents = 0};
  // A process that the program has forked may hold the other end open when the program is gone.
  while (getppid() == program) {
    if (poll(&ready, 1, kLookAfterMs) > 0 && !server.ServeOne()) return;
  }
}

}  // namespace weir
