#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "coordinator/gradients/gradient_slices.h"

namespace weir {

/// A worker's end of push and pull: writes a frame for each server, with the payloads of that
/// server's slices, and reads the servers' answers. Belongs to the holder of the bucket.
class PushFrames {
 public:
  /// `head_bytes`: size of a first payload that only the servers read; 0: there is none.
  PushFrames(GradientSlices& gradients, std::size_t servers, std::size_t head_bytes = 0);

  /// True if the frames of these gradients at this density are not too long.
  static bool Suits(const GradientSlices& gradients, std::size_t servers, double density,
                    std::size_t head_bytes = 0);

  /// Called between steps. `empty`: this rank contributes nothing in the next one. Returns the most
  /// bytes that a frame of it takes.
  std::size_t Prepare(bool empty);
  /// Encodes all gradients.
  void Push(std::span<const std::byte> head = {});
  /// Valid after Push, or an empty Prepare; empty for a server that has nothing to add up.
  std::span<const std::byte> frame(std::size_t server) const;

  using Payloads = std::vector<std::span<const std::byte>>;
  /// Returns the payloads of a frame without a head about the server's slices, checked to the last
  /// index. Throws Corrupt, which calls the frame `what` and names `rank`.
  Payloads Read(std::size_t server, std::span<const std::byte> frame, const std::string& what,
                int rank) const;
  /// Sender of a frame, for errors: Read's `what` and `rank`.
  struct Sender {
    std::string what;
    int rank;
  };
  /// Reads the frames of all servers that have slices, then delivers their content.
  void Deliver(std::span<const std::span<const std::byte>> answers,
               const std::function<Sender(std::size_t server)>& sender) const;

  std::size_t servers() const { return servers_.size(); }
  /// Slices of the server, in their order in the bucket.
  const std::vector<std::size_t>& slices(std::size_t server) const {
    return servers_[server].slices;
  }
  /// Most bytes of their payloads in this step.
  std::span<const std::size_t> most(std::size_t server) const {
    return std::span(servers_[server].most).subspan(head_bytes_ == 0 ? 0 : 1);
  }

 private:
  struct Server {
    std::vector<std::size_t> slices;
    std::vector<std::size_t> most;  ///< Including a head's.
    std::vector<std::byte> frame;
    std::size_t bytes = 0;  ///< Size of the frame.
  };

  GradientSlices& gradients_;
  const std::size_t head_bytes_;
  std::vector<Server> servers_;
};

}  // namespace weir
