#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "ops/pending.h"
#include "ops/transport.h"

namespace weir {

/// Moves one array of known length between two ranks in chunks, a few in flight. Both sides know the
/// length. Messages are tagged by their place in the array; an empty array needs none.
class ChunkStream {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
  static constexpr std::size_t kInFlight = 4;

  void StartSend(int peer, std::uint32_t operation, std::span<const std::byte> data);
  void StartReceive(int peer, std::uint32_t operation, std::span<std::byte> buffer);

  /// Moves as far as it can. A sender passes how many bytes from the start are ready to go.
  /// True when all bytes are through. Throws Corrupt for a chunk of the wrong length.
  bool Poll(Transport& transport, std::size_t ready = std::numeric_limits<std::size_t>::max());

  /// Bytes from the start that are through.
  std::size_t completed() const;
  void Cancel(Transport& transport);

 private:
  std::size_t ChunkBytes(std::size_t chunk) const;
  void Post(Transport& transport, std::size_t chunk);

  int peer_ = -1;
  std::uint32_t operation_ = 0;
  bool sending_ = false;
  const std::byte* send_data_ = nullptr;
  std::byte* receive_data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t chunks_ = 0;
  std::size_t posted_ = 0;  ///< Chunks posted so far.
  std::size_t done_ = 0;    ///< Chunks through so far, in order.
  std::array<Pending, kInFlight> in_flight_;
};

}  // namespace weir
