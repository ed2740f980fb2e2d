#include "coordinator/servers/served_bucket.h"

#include <numeric>
#include <utility>

#include "common/byte_stream.h"
#include "compression/wire/frame.h"
#include "coordinator/gradients/corrupt_frame.h"
#include "weir/error.h"

namespace weir {

ServedBucket::ServedBucket(Description description) : about_(std::move(description)) {}

std::vector<std::size_t> ServedBucket::Most(double density) const {
  std::vector<std::size_t> most;
  for (const Partition& partition : about_.partitions)
    most.push_back(partition.reader->MaxEncodedBytes(density));
  return most;
}

std::size_t ServedBucket::max_push_bytes() const {
  const std::vector<std::size_t> most = Most(1.0);
  return BucketFrame::MaxBytes(
      most.size() + 1, std::reduce(most.begin(), most.end()) + HeadBytes(about_.parameter_groups));
}

BucketFrame::Identity ServedBucket::Identity(std::int64_t step) const {
  BucketFrame::Identity identity = about_.identity;
  identity.step = step;
  return identity;
}

void ServedBucket::Refuse(int worker, const std::string& why) const {
  throw CorruptFrame(PushOf(worker), about_.name, worker, why);
}

ServedBucket::Pushed ServedBucket::Read(int worker, std::span<const std::byte> frame) const {
  Pushed pushed;
  std::vector<std::span<const std::byte>> payloads(about_.partitions.size() + 1);
  try {
    // Only the worker knows the step; everything else follows from it.
    pushed.step = static_cast<std::int64_t>(PeekFrameHeader(frame).step);
    if (pushed.step < 0) throw Corrupt("its step is " + std::to_string(pushed.step));
    std::vector<std::size_t> most = Most(about_.schedule.Density(pushed.step));
    most.insert(most.begin(), HeadBytes(about_.parameter_groups));
    BucketFrame::Read(frame, Identity(pushed.step), most, payloads);
    for (std::size_t i = 0; i < about_.partitions.size(); ++i) {
      about_.partitions[i].reader->Check(payloads[i + 1]);
    }
    pushed.empty = payloads.front().empty();
    if (!pushed.empty && payloads.front().size() != most.front()) {
      throw Corrupt("it has " + std::to_string(payloads.front().size()) +
                    " bytes of learning rates, expected " + std::to_string(most.front()));
    }
  } catch (const Corrupt& error) {
    Refuse(worker, error.what());
  }
  const std::span<const std::byte> rates = payloads.front();
  for (std::size_t g = 0; g < about_.parameter_groups && !pushed.empty; ++g) {
    const auto rate = [&](std::size_t i) {
      return LoadLittleEndian<float>(rates.data() + i * sizeof(float));
    };
    pushed.contexts.push_back({.step = pushed.step,
                               .density = about_.schedule.Density(pushed.step),
                               .learning_rate = rate(g),
                               .previous_learning_rate = rate(about_.parameter_groups + g),
                               .rank = StepContext::kAnswer});
  }
  pushed.payloads.assign(payloads.begin() + 1, payloads.end());
  return pushed;
}

std::size_t ServedBucket::WriteAnswer(const Pushed& pushed, std::size_t a,
                                      std::span<const std::vector<float>> means,
                                      std::vector<std::byte>& frame) {
  const std::vector<std::size_t> most = Most(about_.schedule.Density(pushed.step));
  frame.resize(BucketFrame::MaxBytes(most.size(), std::reduce(most.begin(), most.end())));
  BucketFrame::Writer writer(frame, most);
  for (std::size_t i = 0; i < about_.partitions.size(); ++i) {
    Partition& partition = about_.partitions[i];
    const StepContext& context =
        pushed.contexts[static_cast<std::size_t>(partition.parameter_group)];
    writer.Put(partition.answering[a]->Encode(context, means[i], writer.Next()));
  }
  return writer.Seal(Identity(pushed.step));
}

}  // namespace weir
