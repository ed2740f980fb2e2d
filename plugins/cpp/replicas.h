#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weir/engine.h"

namespace weir {

/// A tensor of which every rank holds a copy. The bytes are on the CPU.
struct Replica {
  std::string name;
  std::span<const std::byte> bytes;
};

/// Throws Mismatch, on all ranks of the process set, that names tensors whose bytes differ between
/// ranks, and the ranks whose bytes are not those of most. Collective, with the same tensors on all
/// ranks and the same `name`, a prefix of the operations' names. A rank that has joined counts as
/// equal. Takes an all-reduce of 32 bytes for each tensor, and one pass over the bytes. `updates`:
/// that the tensors have had, for the message.
void VerifyReplicas(Engine& engine, const std::string& name, std::span<const Replica> replicas,
                    std::int64_t updates, int process_set = 0);

}  // namespace weir
