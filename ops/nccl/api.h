#pragma once

#include <climits>
#include <cstddef>

/// The part of NCCL's C interface that Weir uses. It is written down here because the library is
/// found at run time, so building needs none of NCCL's files. The same in every NCCL from 2.18 on
/// (NCCL's user guide, "NCCL API").
namespace weir::nccl {

using Comm = struct CommTag*;
using Stream = void*;  ///< A cudaStream_t.
using RedOp = int;     ///< Result of red_op_create_pre_mul_sum, or one of ops.

struct UniqueId {
  char internal[128];
};

enum class Result : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};

enum class DataType : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBFloat16 = 9,
};

inline constexpr RedOp kSum = 0;
inline constexpr RedOp kProduct = 1;
inline constexpr RedOp kMax = 2;
inline constexpr RedOp kMin = 3;
inline constexpr RedOp kAverage = 4;

/// Memory of red_op_create_pre_mul_sum's factor: the host's, read during the call.
enum class ScalarResidence : int { kHostImmediate = 1 };

/// Configuration of a communicator, as of NCCL 2.18. A newer NCCL uses its defaults for
/// members that are missing here.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21800;
  int blocking = INT_MIN;  ///< NCCL's default, as for all others.
  int cga_cluster_size = INT_MIN;
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
};

/// NCCL's functions: comm_abort is ncclCommAbort.
struct Api {
  Result (*get_unique_id)(UniqueId* id);
  const char* (*get_error_string)(Result result);
  const char* (*get_last_error)(Comm comm);
  Result (*comm_init_rank_config)(Comm* comm, int ranks, UniqueId id, int rank, Config* config);
  Result (*comm_finalize)(Comm comm);
  Result (*comm_destroy)(Comm comm);
  Result (*comm_abort)(Comm comm);
  Result (*comm_get_async_error)(Comm comm, Result* error);
  Result (*red_op_create_pre_mul_sum)(RedOp* op, void* scalar, DataType type,
                                      ScalarResidence residence, Comm comm);
  Result (*red_op_destroy)(RedOp op, Comm comm);
  Result (*all_reduce)(const void* in, void* out, std::size_t count, DataType type, RedOp op,
                       Comm comm, Stream stream);
  Result (*reduce)(const void* in, void* out, std::size_t count, DataType type, RedOp op, int root,
                   Comm comm, Stream stream);
  Result (*reduce_scatter)(const void* in, void* out, std::size_t out_count, DataType type,
                           RedOp op, Comm comm, Stream stream);
  Result (*all_gather)(const void* in, void* out, std::size_t in_count, DataType type, Comm comm,
                       Stream stream);
  Result (*broadcast)(const void* in, void* out, std::size_t count, DataType type, int root,
                      Comm comm, Stream stream);
  Result (*send)(const void* in, std::size_t count, DataType type, int peer, Comm comm,
                 Stream stream);
  Result (*recv)(void* out, std::size_t count, DataType type, int peer, Comm comm, Stream stream);
  Result (*group_start)();
  Result (*group_end)();
};

}  // namespace weir::nccl
