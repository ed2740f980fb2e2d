#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "common/unique_fd.h"
#include "compression/options/registry.h"
#include "compression/process/slot.h"
#include "compression/step_context.h"

namespace weir::process {

// Messages between a program and its compression process, over a socket pair that keeps their
// borders. Both ends are of one installation, so they are plain structs.

/// What the program asks for. The process does one after the other.
enum class Ask : std::uint32_t {
  kOpen,    ///< Make a compressor. Answered.
  kEncode,  ///< Answered.
  kRevert,  ///< Answered.
  kKeep,    ///< Write an image.
  kClose,   ///< Forget the compressor.
  kAwait,   ///< Answered when all that was asked before is done.
};

/// StepContext, without what belongs to one process.
struct Context {
  explicit Context(const StepContext& context);
  Context() = default;
  StepContext Get() const;

  std::int64_t step = 0;
  double density = 0;
  double momentum = 0;
  double momentum_ratio = 0;
  float learning_rate = 0;
  float previous_learning_rate = 0;
  float gradient_scale = 0;
  std::int32_t rank = 0;
  bool dense_phase = false;
  bool has_momentum = false;
};

struct Request {
  static constexpr std::int32_t kNone = -1;

  Ask ask = Ask::kAwait;
  std::uint32_t tensor = 0;   ///< Its number, from 0 in the order of kOpen.
  std::int32_t load = kNone;  ///< kEncode: image that the compressor's memory is read from, before.
  std::int32_t image = kNone;    ///< kKeep: where it is written.
  Context context;               ///< kEncode.
  Slot::Size size;               ///< kOpen; the slot's descriptor comes with the message,
  std::uint32_t text_bytes = 0;  ///< and a Description of so many bytes in the next one.
};

struct Reply {
  bool ok = false;
  std::uint64_t bytes = 0;  ///< Of the payload.
  std::uint64_t non_finite = 0;
  float threshold = 0;
  std::array<char, 512> error{};  ///< If not ok.
};

/// The tensor and the compressor of kOpen.
struct Description {
  CompressionOptions options;
  TensorSpec tensor;
};

// All of these are false, or empty, once the other end is gone.

bool Send(int socket, const Request& request);
/// Sends a request of kOpen; its text_bytes are filled in.
bool SendOpen(int socket, Request request, const Slot& slot, const Description& description);
bool Send(int socket, const Reply& reply);

/// Waits for a request; `fd` takes the descriptor that came with it.
std::optional<Request> ReceiveRequest(int socket, UniqueFd& fd);
std::optional<Description> ReceiveDescription(int socket, std::size_t text_bytes);
std::optional<Reply> ReceiveReply(int socket);

}  // namespace weir::process
