#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weir/gradient_group.h"

namespace weir {

/// All that a summation server has to know about a gradient group, from which it makes the same
/// plan as the workers (MakeGroupPlan).
struct GroupDescription {
  std::uint32_t first_number = 0;  ///< Of its buckets: the numbers of its messages.
  /// Without process set, reduction and also_equal, which are none of a server's business.
  GradientGroupSpec spec;
  std::size_t fusion_threshold_bytes = 0;
};

/// What a worker says to the servers (server_messages::kControl).
struct ControlMessage {
  enum class Kind : std::uint8_t {
    kRegister,  ///< By the first worker alone: `group` is to be served.
    kRelease,   ///< This worker pushes nothing more of group.first_number.
    kFinish,    ///< This worker takes no step any more.
    kLeave      ///< Nothing more comes from this worker.
  };
  Kind kind = Kind::kLeave;
  GroupDescription group;
};

std::vector<std::byte> Serialize(const ControlMessage& message);
/// Throws Corrupt for anything that Serialize does not write.
ControlMessage ReadControlMessage(std::span<const std::byte> bytes);

}  // namespace weir
