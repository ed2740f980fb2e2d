#include "compression/process/process_compressor.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "weir/error.h"

namespace weir {

using process::Ask;
using process::Request;

namespace {
// Fewer take less time here than their way there and back, about 50 us.
constexpr std::size_t kLeastElements = std::size_t{1} << 15;
}  // namespace

ProcessCompressor::ProcessCompressor(CompressionProcess& process, std::unique_ptr<Compressor> local,
                                     std::unique_ptr<Slot> slot, std::uint32_t number)
    : process_(process), local_(std::move(local)), slot_(std::move(slot)), number_(number) {}

ProcessCompressor::~ProcessCompressor() { process_.Post(RequestFor(Ask::kClose)); }

std::unique_ptr<Compressor> ProcessCompressor::Make(CompressionProcess& process,
                                                    const process::Description& description,
                                                    std::unique_ptr<Compressor> local) {
  const bool is_apart = description.tensor.elements() >= kLeastElements && !local->summable() &&
                        !local->remembers_means() && local->factors() == nullptr &&
                        local->joint() == nullptr;
  if (!is_apart) return local;
  auto slot = std::make_unique<Slot>(Slot::Size{
      .elements = description.tensor.elements(),
      .payload_bytes = std::max(local->MaxEncodedBytes(1.0), local->MaxEncodedBytes(0.0)),
      .state_floats = StateFloats(*local)});
  const std::optional<std::uint32_t> number = process.Open(*slot, description);
  slot->CloseFd();
  if (!number) return local;
  return std::unique_ptr<Compressor>(
      new ProcessCompressor(process, std::move(local), std::move(slot), *number));
}

Request ProcessCompressor::RequestFor(Ask ask) const { return {.ask = ask, .tensor = number_}; }

std::size_t ProcessCompressor::SpareImage() const {
  std::size_t image = 0;
  while ((encoded_ && image == encoded_->before) || image == marked_) ++image;
  return image;
}

void ProcessCompressor::Keep() {
  process_.CheckOwner();
  if (!encoded_ || slot_->state() == Slot::State::kFree || slot_->state() == Slot::State::kSent)
    return;
  image_ = SpareImage();
  slot_->state() = Slot::State::kSent;
  Request request = RequestFor(Ask::kKeep);
  request.image = static_cast<std::int32_t>(image_);
  process_.Post(request);
}

bool ProcessCompressor::AwaitImage() {
  Keep();
  if (slot_->state() == Slot::State::kSent) process_.Call(RequestFor(Ask::kAwait));
  if (process_.alive()) return true;
  Recover();
  return false;
}

std::size_t ProcessCompressor::Recover() {
  if (is_here_) return 0;
  is_here_ = true;
  const bool is_kept = slot_->state() == Slot::State::kFree;
  if (!encoded_ || (is_kept && !encoded_->reverted)) {
    ReadImage(slot_->image(image_), *local_);
    encoded_.reset();
    return 0;
  }
  ReadImage(slot_->image(encoded_->before), *local_);
  non_finite_ = encoded_->non_finite;  // What follows is counted here.
  const std::size_t bytes = local_->Encode(encoded_->context, slot_->gradient(), slot_->payload());
  if (encoded_->reverted) local_->Revert();
  encoded_.reset();
  return bytes;
}

void ProcessCompressor::Take() {
  if (is_here_ || !AwaitImage()) return;
  ReadImage(slot_->image(image_), *local_);
  is_here_ = true;
  encoded_.reset();
}

void ProcessCompressor::Give() {
  process_.CheckOwner();
  image_ = SpareImage();
  WriteImage(*local_, slot_->image(image_));
  is_here_ = is_loaded_ = false;
}

std::size_t ProcessCompressor::Encode(const StepContext& context, std::span<const float> gradient,
                                      std::span<std::byte> payload) {
  WEIR_CHECK(gradient.size() == slot_->gradient().size());
  process_.CheckOwner();
  if (!process_.alive()) Recover();
  if (!is_here_) AwaitImage();
  if (is_here_ && process_.alive()) Give();
  if (is_here_) return local_->Encode(context, gradient, payload);
  std::ranges::copy(gradient, slot_->gradient().begin());
  slot_->state() = Slot::State::kFilled;
  encoded_ = {.context = context, .before = image_, .non_finite = non_finite_};
  encoded_->context.pool = nullptr;
  Request request = RequestFor(Ask::kEncode);
  request.context = process::Context(context);
  if (!std::exchange(is_loaded_, true)) request.load = static_cast<std::int32_t>(image_);
  std::size_t bytes = 0;
  if (const auto reply = process_.Call(request)) {
    if (!reply->ok) throw Error(std::string("the compression process: ") + reply->error.data());
    bytes = reply->bytes;
    threshold_ = reply->threshold;
    non_finite_ = reply->non_finite;
  } else {
    bytes = Recover();
  }
  std::ranges::copy(slot_->payload().first(bytes), payload.begin());
  return bytes;
}

void ProcessCompressor::Revert() {
  if (is_here_) return local_->Revert();
  if (!encoded_) return;
  encoded_->reverted = true;
  const auto reply = process_.Call(RequestFor(Ask::kRevert));
  if (!reply) {
    Recover();
    return;
  }
  if (!reply->ok) throw Error(std::string("the compression process: ") + reply->error.data());
  slot_->state() = Slot::State::kCompressed;  // The image, if there is one, is of before.
}

void ProcessCompressor::Mark() {
  if (!is_here_) AwaitImage();
  marked_.reset();
  if (is_here_ && process_.alive()) Give();
  if (is_here_) return local_->Mark();
  marked_ = image_;
}

void ProcessCompressor::GoBack() {
  if (!is_here_) AwaitImage();
  encoded_.reset();
  if (!marked_) return local_->GoBack();
  image_ = *marked_;
  is_loaded_ = false;
  is_here_ = !process_.alive();
  if (is_here_) ReadImage(slot_->image(image_), *local_);
}

void ProcessCompressor::Finish(const StepContext& context, std::span<float> mean) {
  if (context.dense_phase) {
    Take();
  } else if (!is_here_) {
    Keep();
  }
  local_->Finish(context, mean);
}

std::span<const float> ProcessCompressor::Drain(const StepContext& context,
                                                std::span<const float> gradient, DType type) {
  Take();
  return local_->Drain(context, gradient, type);
}

std::vector<TensorCompression::StateArray> ProcessCompressor::State() {
  Take();
  return local_->State();
}

void ProcessCompressor::Restored() {
  Take();
  local_->Restored();
}

}  // namespace weir
