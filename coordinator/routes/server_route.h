#pragma once

#include <memory>
#include <vector>

#include "coordinator/routes/push_frames.h"
#include "coordinator/routes/route.h"
#include "ops/push_pull/server_exchange.h"

namespace weir {

/// Push and pull with summation servers that are not among this bucket's ranks, or
/// that do not wait for all of them (coordinator/servers/): this rank pushes its
/// payloads and takes the answers.
class ServerRoute final : public Route {
 public:
  /// The step must know the servers (GroupStep::servers).
  explicit ServerRoute(GradientSlices& gradients);

  static bool Suits(const GradientSlices& gradients);

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return bytes_; }

 private:
  void Push();
  void Pull();

  PushFrames frames_;
  std::unique_ptr<ServerExchange> exchange_;
  std::vector<float> head_;
  std::uint64_t bytes_ = 0;
};

}  // namespace weir
