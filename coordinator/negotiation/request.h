#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/work/slot.h"
#include "weir/tensor.h"

namespace weir {

/// Kinds of requests to the negotiator.
enum class RequestKind : std::uint8_t {
  kAllreduce,
  kAllgather,
  kBroadcast,
  kAlltoall,
  kReducescatter,
  kSparseAllreduce,  ///< Members: the indices, then the values.
  kBarrier,
  kJoin,      ///< This rank submits nothing more until all have joined.
  kDropStep,  ///< A step of a group counts as not taken (GradientGroup::DropStep).
  kUnused,    ///< Which gradients of a step no rank has; `splits` has a bit for each one lacking.
  kPlan,      ///< How a group's buckets are to travel from a step on. One rank's, answered at once.
  kGroup,     ///< The last one.
};
inline constexpr int kRequestKinds = static_cast<int>(RequestKind::kGroup) + 1;

/// Returns "ALLREDUCE", ... as in Horovod's messages.
std::string_view Name(RequestKind kind);

/// True if every rank gets every rank's rows.
constexpr bool GathersRows(RequestKind kind) {
  return kind == RequestKind::kAllgather || kind == RequestKind::kSparseAllreduce;
}

/// One rank's wish to run an operation, as sent to rank 0 on the slow path. Two requests with the
/// same name must agree (agreement.h says on what).
struct Request {
  RequestKind kind = RequestKind::kAllreduce;
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  ReduceOp op = ReduceOp::kAverage;
  double prescale = 1.0;
  double postscale = 1.0;
  std::int32_t root = 0;
  std::int32_t priority = 0;         ///< Decides the order of exchanges; the same on all ranks.
  std::vector<std::int64_t> splits;  ///< kAlltoall: rows for each rank.
  /// A tensor of a group, in order: of a kGroup's registration, or of one operation.
  struct Member {
    std::string name;
    DType dtype = DType::kFloat32;
    Shape shape;
    friend bool operator==(const Member&, const Member&) = default;
  };
  std::vector<Member> members;
  /// The setting of a request that compares the loaded states of ranks.
  static constexpr char kNextStep[] = "next step";
  /// The setting of requests about a step (StepRequestName).
  static constexpr char kStep[] = "step";
  /// The other settings of a kPlan (ToldPlan).
  static constexpr char kForms[] = "forms";
  static constexpr char kMeasures[] = "measures";
  /// All other values that must agree, as text.
  std::vector<std::pair<std::string, std::string>> settings;
  /// Number of consecutive slots that this name wants: 1, or the buckets and gates of a
  /// group; 0 for a name that comes once.
  std::uint32_t slots = 1;

  /// Number of tensors of an operation: its members, or itself.
  std::size_t tensors() const { return members.empty() ? 1 : members.size(); }
  const Shape& shape_of(std::size_t tensor) const {
    return members.empty() ? shape : members[tensor].shape;
  }
  /// Returns the member's name if it has one, otherwise "name[2]".
  std::string tensor_name(std::size_t tensor) const;

  /// The GPU of all its tensors, if NCCL can carry them; need not agree.
  std::string gpu;
  bool gpu_alone = false;  ///< NCCL is required.

  friend bool operator==(const Request&, const Request&) = default;
};

/// Rank 0's answer, the same on every rank.
struct Response {
  enum class Kind : std::uint8_t {
    kReady,      ///< Submitted everywhere and agreed: run it now. `slot` is its id from now on.
    kMismatch,   ///< The ranks disagree; `text` says how, `ranks` who.
    kForget,     ///< The slot's owner changed its request: names ready on it ask again.
    kJoined,     ///< The rank in `ranks` submits nothing more; the others go on without it.
    kAllJoined,  ///< All have joined: `rows` is the last rank.
    kCalled,   ///< The rank in `ranks` asks about the step in `rows` of a group: others must, too.
    kPlanned,  ///< `text` is the plan of a group from the step in `rows` on, for every rank.
  };
  Kind kind = Kind::kReady;
  std::string name;
  std::uint32_t slot = 0;
  /// Gathers: every rank's first dimension, tensor by tensor. kAlltoall: entry s * size + d
  /// is what rank s sends to rank d.
  std::vector<std::int64_t> rows;
  std::string text;
  std::vector<int> ranks;
  /// kReady: every rank's GPU if NCCL carries the tensors, otherwise empty.
  std::vector<std::string> gpus;
  /// kReady while some rank has joined: the request, for ranks that have not asked.
  std::optional<Request> request;

  friend bool operator==(const Response&, const Response&) = default;
};

/// Names of the engine's own operations, which no program can give (they begin with kReserved).
inline constexpr std::string_view kReserved = "weir:";
inline constexpr std::string_view kHostsName = "weir:hosts for WEIR_HIERARCHICAL_*";
inline constexpr std::string_view kJoinName = "weir:join";
inline constexpr std::string_view kSetChangeName = "weir:process sets";
/// Name of a request about a step of a group, kDropStep, kUnused or kPlan.
std::string StepRequestName(RequestKind kind, const std::string& group);
/// True for requests that other ranks do not make unless called.
constexpr bool CallsOthers(RequestKind kind) {
  return kind == RequestKind::kDropStep || kind == RequestKind::kUnused;
}

/// Most slots of one request: more buckets than any model has tensors.
inline constexpr std::uint32_t kMostSlots = 1u << 24;

/// Writes little-endian messages. Decoding throws Corrupt for anything that Encode did not write;
/// every length is bounded by the remaining bytes.
std::vector<std::byte> Encode(std::span<const Request> requests);
std::vector<Request> DecodeRequests(std::span<const std::byte> message);
std::vector<std::byte> Encode(std::span<const Response> responses);
std::vector<Response> DecodeResponses(std::span<const std::byte> message);

}  // namespace weir
