#pragma once

#include <cstdint>

#include "ops/transport/transport.h"

/// Numbers of messages between workers and summation servers, in a lane of their own
/// (SubsetTransport). Nothing about them is negotiated: a message's number tells what it belongs
/// to, and its frame tells the step. So workers in different steps do not disturb each other.
namespace weir::server_messages {

/// Messages between a worker and a server: registrations and farewells, one after the other.
inline constexpr Tag kControl{.operation = 0, .chunk = 2};
/// Largest control message.
inline constexpr std::size_t kMostControlBytes = std::size_t{16} << 20;

/// Frames of a worker for the buckets of a group, one after the other.
constexpr Tag Push(std::uint32_t first_number) { return {.operation = first_number, .chunk = 0}; }
/// The answer for a bucket.
constexpr Tag Answer(std::uint32_t number) { return {.operation = number, .chunk = 1}; }

}  // namespace weir::server_messages
