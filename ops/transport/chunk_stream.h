#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "ops/transport/pending.h"
#include "ops/transport/transport.h"

namespace weir {

/// Moves one array between two ranks in chunks, a few in flight. Both sides know its length and use
/// the same options. Messages are tagged by their place in the array; an empty array needs none.
class ChunkStream {
 public:
  static constexpr std::size_t kDefaultChunkBytes = std::size_t{512} << 10;
  /// For a fast network. weirrun makes UCX move messages of that size from buffer to buffer.
  /// Shorter ones are copied on arrival, but leave at once (launcher/options/options.cc).
  static constexpr std::size_t kLargeChunkBytes = std::size_t{1} << 20;
  static constexpr std::size_t kInFlight = 4;
  static constexpr std::size_t kEverything = std::numeric_limits<std::size_t>::max();

  /// Two ranks may have a stream of each kind, 0 and 1, in each direction in one operation.
  struct Options {
    std::size_t chunk_bytes = kDefaultChunkBytes;
    std::uint32_t kind = 0;
  };

  void StartSend(int peer, std::uint32_t operation, std::span<const std::byte> data,
                 Options options);
  void StartReceive(int peer, std::uint32_t operation, std::span<std::byte> buffer,
                    Options options);

  /// Moves as far as it can; a stream that was never started has nothing to do. `ready` is the
  /// number of bytes from the start that may already be sent, or written. Posts no more bytes than
  /// `*credit` has, and takes them from it; null: any number. True when all are done. Throws
  /// Corrupt for a chunk of the wrong length.
  bool Poll(Transport& transport, std::size_t ready = kEverything, std::size_t* credit = nullptr);

  /// Bytes that are posted and not done.
  std::size_t posted_bytes() const { return PostedBytes() - completed(); }

  /// Number of bytes from the start that are done.
  std::size_t completed() const { return done_ == chunks_ ? bytes_ : done_ * options_.chunk_bytes; }
  void Cancel(Transport& transport);

 private:
  void Start(int peer, std::uint32_t operation, std::size_t bytes, Options options);
  std::size_t EndOf(std::size_t chunk) const;
  std::size_t PostedBytes() const { return posted_ == 0 ? 0 : EndOf(posted_ - 1); }
  void Post(Transport& transport, std::size_t chunk);
  void CheckLength(const Transport& transport, std::size_t chunk) const;

  Options options_;
  int peer_ = -1;
  std::uint32_t operation_ = 0;
  const std::byte* source_ = nullptr;  ///< Used by a sending stream.
  std::byte* destination_ = nullptr;   ///< Used by a receiving one.
  std::size_t bytes_ = 0;
  std::size_t chunks_ = 0;
  std::size_t posted_ = 0;
  std::size_t done_ = 0;  ///< Chunks done, always the first ones.
  std::array<Pending, kInFlight> in_flight_;
};

}  // namespace weir
