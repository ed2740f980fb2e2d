#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weir/gradient_group.h"

namespace weir {

/// A summation server's knowledge of a gradient group, from which it makes the same plan
/// as the workers (MakeGroupPlan).
struct GroupDescription {
  std::uint32_t first_number = 0;  ///< First number of its buckets' messages.
  /// Without process set, reduction and also_equal, which servers do not need.
  GradientGroupSpec spec;
  std::size_t fusion_threshold_bytes = 0;
};

/// A worker's message to the servers (server_messages::kControl).
struct ControlMessage {
  enum class Kind : std::uint8_t {
    kRegister,  ///< From the first worker alone: serve `group`.
    kRelease,   ///< This worker pushes nothing more for group.first_number.
    kFinish,    ///< This worker takes no further step.
    kLeave      ///< This worker sends nothing more.
  };
  Kind kind = Kind::kLeave;
  GroupDescription group;
};

std::vector<std::byte> Serialize(const ControlMessage& message);
/// Throws Corrupt for anything that Serialize does not write.
ControlMessage ReadControlMessage(std::span<const std::byte> bytes);

}  // namespace weir
