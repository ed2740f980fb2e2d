#pragma once

#include <cstddef>
#include <cstdint>

#include "coordinator/work/bucket.h"
#include "ops/transport/chunk_stream.h"

namespace weir {

class Operation;

/// A run of a bucket as the network thread sees it, from its announcement on this rank to its end.
/// The bucket is its work, which belongs to whoever holds it. Network thread only.
struct LiveRun {
  Bucket* bucket = nullptr;
  Operation* operation = nullptr;  ///< The bucket, where it is one; null: a group's gradients.
  std::int64_t ready_ns = 0;       ///< When this rank had all of it.
  std::int64_t agreed_ns = 0;      ///< When all ranks had.
  std::int64_t exchange_ns = 0;    ///< When the exchange under way started; 0: none.
  Bucket::Traffic recorded{};      ///< What records of its exchanges have; it may make several.
  bool agreed = false;
  bool staged = false;   ///< Waits for its exchange.
  bool patient = false;  ///< The other ranks may take as long as they like (Joining).
  std::size_t chunk_bytes = ChunkStream::kDefaultChunkBytes;  ///< On all ranks.
  std::size_t index = 0;                                      ///< Place in LiveRuns.
};

}  // namespace weir
