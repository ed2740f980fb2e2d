#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weir/engine.h"

namespace weir {

/// A tensor of which every rank holds a copy.
struct Replica {
  std::string name;
  std::uint32_t checksum = 0;  ///< ChecksumOf its bytes.
};

/// Returns the CRC-32 of bytes on the CPU. Thread-safe.
std::uint32_t ChecksumOf(std::span<const std::byte> bytes);

/// Throws Mismatch, on all ranks of the process set, that names a tensor whose checksums differ
/// between ranks, and the ranks that do not have what most have; where no value has a majority, all
/// ranks. Collective, with the same tensors on all ranks and the same `name`, a prefix of the
/// operations' names. A rank that has joined counts as equal. Takes an all-reduce of 32 bytes for
/// each tensor. `steps`: taken so far, for the message.
void VerifyReplicas(Engine& engine, const std::string& name, std::span<const Replica> replicas,
                    std::int64_t steps, int process_set = 0);

}  // namespace weir
