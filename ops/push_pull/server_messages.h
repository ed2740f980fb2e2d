#pragma once

#include <cstdint>

#include "ops/transport.h"

/// How messages between workers and summation servers are numbered, in a lane of their own
/// (SubsetTransport). Nothing of them is negotiated: what a message belongs to is in its number,
/// and its step in its frame. So workers that are in different steps disturb nobody.
namespace weir::server_messages {

/// Between a worker and a server: registrations and farewells, one after the other.
inline constexpr Tag kControl{.operation = 0, .chunk = 2};
/// A control message is not longer.
inline constexpr std::size_t kMostControlBytes = std::size_t{16} << 20;

/// Frames of a worker for the buckets of a group, one after the other.
constexpr Tag Push(std::uint32_t first_number) { return {.operation = first_number, .chunk = 0}; }
/// The answer for a bucket.
constexpr Tag Answer(std::uint32_t number) { return {.operation = number, .chunk = 1}; }

}  // namespace weir::server_messages
