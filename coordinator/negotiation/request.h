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

/// What the negotiator can be asked for.
enum class RequestKind : std::uint8_t {
  kAllreduce,
  kAllgather,
  kBroadcast,
  kAlltoall,
  kReducescatter,
  kSparseAllreduce,  ///< Members: the indices, then the values.
  kBarrier,
  kJoin,   ///< This rank has nothing more to submit until all have said so.
  kGroup,  ///< The last one.
};
inline constexpr int kRequestKinds = static_cast<int>(RequestKind::kGroup) + 1;

/// "ALLREDUCE", ... as in Horovod's messages.
std::string_view Name(RequestKind kind);

/// Every rank ends with every rank's rows.
constexpr bool GathersRows(RequestKind kind) {
  return kind == RequestKind::kAllgather || kind == RequestKind::kSparseAllreduce;
}

/// One rank's wish to run an operation, as it travels to rank 0 on the slow path. Two requests with
/// the same name must agree (Arbiter says on what).
struct Request {
  RequestKind kind = RequestKind::kAllreduce;
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  ReduceOp op = ReduceOp::kAverage;
  double prescale = 1.0;
  double postscale = 1.0;
  std::int32_t root = 0;
  std::int32_t priority = 0;         ///< Decides the order of exchanges, so it must be the same.
  std::vector<std::int64_t> splits;  ///< kAlltoall: rows for each rank.
  /// The tensors of a group, in order: those that a kGroup registers, or those of one operation.
  struct Member {
    std::string name;
    DType dtype = DType::kFloat32;
    Shape shape;
    friend bool operator==(const Member&, const Member&) = default;
  };
  std::vector<Member> members;
  /// Everything else that must agree, as text.
  std::vector<std::pair<std::string, std::string>> settings;
  /// Consecutive slots that this name wants: 1, or the buckets and gates of a group; 0: it comes
  /// once.
  std::uint32_t slots = 1;

  /// The tensors of an operation: its members, or itself.
  std::size_t tensors() const { return members.empty() ? 1 : members.size(); }
  const Shape& shape_of(std::size_t tensor) const {
    return members.empty() ? shape : members[tensor].shape;
  }
  /// The member's name where it has one, otherwise "name[2]".
  std::string tensor_name(std::size_t tensor) const;

  /// The GPU that all its tensors lie on, if NCCL can carry them; need not agree.
  std::string gpu;
  bool gpu_alone = false;  ///< Nothing else may carry them.

  friend bool operator==(const Request&, const Request&) = default;
};

/// Rank 0's answer, the same on every rank.
struct Response {
  enum class Kind : std::uint8_t {
    kReady,     ///< Submitted everywhere and agreed: run it now. `slot` is its id from now on.
    kMismatch,  ///< The ranks disagree; `text` says how, `ranks` who.
    kForget,    ///< The slot's owner asked for something else: what was ready on it asks again.
    kJoined,    ///< The rank in `ranks` submits nothing more; the others go on without it.
    kAllJoined  ///< All have: `rows` is the rank that was the last.
  };
  Kind kind = Kind::kReady;
  std::string name;
  std::uint32_t slot = 0;
  /// Gathers: every rank's first dimension, tensor by tensor. kAlltoall: what rank s sends to rank
  /// d is entry s * size + d.
  std::vector<std::int64_t> rows;
  std::string text;
  std::vector<int> ranks;
  /// kReady: every rank's GPU where NCCL is to carry the tensors, otherwise empty.
  std::vector<std::string> gpus;
  /// kReady while some rank has joined: what it is, for who has not asked.
  std::optional<Request> request;

  friend bool operator==(const Response&, const Response&) = default;
};

/// Names that no program can give (they begin with kReserved): of operations of the engine itself.
inline constexpr std::string_view kReserved = "weir:";
inline constexpr std::string_view kHostsName = "weir:hosts for WEIR_HIERARCHICAL_*";
inline constexpr std::string_view kJoinName = "weir:join";
inline constexpr std::string_view kSetChangeName = "weir:process sets";

/// Slots that one request can want: more buckets than any model has tensors.
inline constexpr std::uint32_t kMostSlots = 1u << 24;

/// Little-endian messages. Decoding throws Corrupt on anything that Encode did not write; every
/// length is bounded by the bytes that are left.
std::vector<std::byte> Encode(std::span<const Request> requests);
std::vector<Request> DecodeRequests(std::span<const std::byte> message);
std::vector<std::byte> Encode(std::span<const Response> responses);
std::vector<Response> DecodeResponses(std::span<const std::byte> message);

}  // namespace weir
