#include "coordinator/routes/server_route.h"

#include <string>

#include "coordinator/servers/group_servers.h"
#include "coordinator/servers/served_bucket.h"

namespace weir {
namespace {

std::size_t HeadBytes(const GradientSlices& gradients) {
  return ServedBucket::HeadBytes(gradients.step().servers->parameter_groups);
}

std::size_t Servers(const GradientSlices& gradients) {
  return gradients.step().servers->links->servers().size();
}

}  // namespace

ServerRoute::ServerRoute(GradientSlices& gradients)
    : Route(gradients), frames_(gradients, Servers(gradients), HeadBytes(gradients)) {}

bool ServerRoute::Suits(const GradientSlices& gradients) {
  return PushFrames::Suits(gradients, Servers(gradients), gradients.step().density,
                           HeadBytes(gradients));
}

void ServerRoute::Prepare(bool empty) {
  const std::size_t most = frames_.Prepare(empty);
  bytes_ = 0;
  if (exchange_ && exchange_->max_frame_bytes() >= most) return;
  const GroupServers& servers = *gradients().step().servers;
  exchange_ = std::make_unique<ServerExchange>(servers.links->lane(), servers.links->servers(),
                                               servers.first_number,
                                               servers.first_number + gradients().index(), most);
}

std::span<const BucketStage> ServerRoute::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kMerge};
  return kStages;
}

void ServerRoute::Run(BucketStage stage) {
  if (stage == BucketStage::kCompress) return Push();
  Pull();
}

void ServerRoute::Push() {
  head_.clear();
  for (const StepContext& context : gradients().step().contexts) {
    head_.push_back(context.learning_rate);
  }
  for (const StepContext& context : gradients().step().contexts) {
    head_.push_back(context.previous_learning_rate);
  }
  frames_.Push(std::as_bytes(std::span(head_)));
  const ServerLinks& links = *gradients().step().servers->links;
  for (std::size_t s = 0; s < frames_.servers(); ++s) {
    if (links.servers()[s] != links.lane().rank()) bytes_ += frames_.frame(s).size();
  }
}

void ServerRoute::Pull() {
  const ServerLinks& links = *gradients().step().servers->links;
  frames_.Deliver(exchange_->answers(), [&links](std::size_t s) -> PushFrames::Sender {
    return {"the answer of server " + std::to_string(s), links.servers()[s]};
  });
}

Collective* ServerRoute::Bind(std::size_t /*exchange*/) {
  std::vector<std::span<const std::byte>> frames;
  for (std::size_t s = 0; s < frames_.servers(); ++s) frames.push_back(frames_.frame(s));
  exchange_->Bind(frames);
  return exchange_.get();
}

}  // namespace weir
