#pragma once

#include <memory>
#include <vector>

#include "coordinator/routes/push_frames.h"
#include "coordinator/routes/route.h"
#include "ops/exchanges/frame_exchange.h"

namespace weir {

/// Every rank pushes the payload of each gradient, or partition of one, to the rank that is its
/// server. The server adds up the payloads in rank order and compresses the mean with a residual of
/// its own, and all ranks pull that. So all decode the same bytes, without what the server's
/// compression leaves for later (BytePS, Jiang et al., OSDI 2020; Zhong et al., 2021).
///
/// A frame carries epoch and step: one of another step is refused, never added.
class PushPullRoute final : public Route {
 public:
  PushPullRoute(GradientSlices& gradients, Transport& transport);

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  Collective* Bind(std::size_t exchange) override;
  void Revert() override;
  std::uint64_t wire_bytes() const override { return bytes_; }

 private:
  bool adds() const { return !own_.empty(); }
  std::string FrameOfMember(std::size_t rank) const;
  void MakeExchanges(std::size_t most);
  void Push();
  /// Adds up the received payloads.
  void Answer();
  std::size_t AnswerSlice(std::size_t i, std::span<const std::span<const std::byte>> payloads,
                          std::span<std::byte> answer);
  void Pull();

  Transport& transport_;
  const std::size_t self_;
  PushFrames frames_;  ///< The servers are the ranks.
  const std::vector<std::size_t>& own_;
  std::vector<std::byte> answer_;
  std::size_t answer_bytes_ = 0;
  std::vector<float> mean_;   ///< Mean of one slice, on its server.
  std::size_t answered_ = 0;  ///< Number of own_ answered since Prepare.
  std::unique_ptr<FrameExchange> push_;
  std::unique_ptr<FrameExchange> pull_;
  std::size_t bytes_ = 0;
};

}  // namespace weir
