#include "coordinator/operations/gpu_operands.h"

#include <algorithm>
#include <utility>

namespace weir {

// A signal may still be on its way.
GpuOperands::~GpuOperands() {
  GiveBack(gpu_, [this](const GpuApi&) { stream_.Await(); });
}

std::byte* GpuOperands::Reserve(GpuMemory& memory, std::size_t bytes) const {
  // Null means that there is none.
  memory.Reserve(gpu_, GpuMemory::Kind::kPinned, std::max<std::size_t>(bytes, 1));
  return memory.data();
}

void GpuOperands::Bind(Submission& submission) {
  count_ = submission.on_gpu.size();
  while (operands_.size() < count_) operands_.push_back(std::make_unique<Operand>(gpu_));
  for (std::size_t i = 0; i < count_; ++i) {
    const Submission::OnGpu& place = submission.on_gpu[i];
    const Array& tensor = submission.tensors[place.tensor];
    Operand& operand = *operands_[i];
    operand.in = tensor.in;
    operand.out = tensor.out;
    operand.in_bytes = tensor.bytes();
    operand.out_bytes = tensor.out == nullptr ? 0 : tensor.bytes();
    operand.stream = place.stream;
    operand.ready.Record(place.stream);
  }
}

void GpuOperands::StageOnHost(Submission& submission) {
  in_place_ = nullptr;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::size_t place = submission.on_gpu[i].tensor;
    Array& tensor = submission.tensors[place];
    Operand& operand = *operands_[i];
    tensor.in = Reserve(operand.input, operand.in_bytes);
    if (submission.allocate.empty()) {
      tensor.out = operand.made_at = operand.input.data();
      continue;
    }
    AllocateOutput& allocate = submission.allocate[place];
    allocate = [this, &operand, dtype = tensor.dtype, ask = std::move(allocate)](
                   const Shape& shape, std::span<const std::int64_t> rows) {
      const std::size_t bytes = static_cast<std::size_t>(shape.elements()) * SizeOf(dtype);
      return Take(operand, ask(shape, rows), bytes);
    };
  }
}

void GpuOperands::ExchangeInPlace(Submission& submission, GpuStream& stream) {
  in_place_ = &stream;
  if (submission.allocate.empty()) return;
  for (std::size_t i = 0; i < count_; ++i) {
    AllocateOutput& allocate = submission.allocate[submission.on_gpu[i].tensor];
    allocate = [&operand = *operands_[i], ask = std::move(allocate)](
                   const Shape& shape, std::span<const std::int64_t> rows) {
      void* const given = ask(shape, rows);
      operand.ready.Record(operand.stream);  // The memory may have been something else's.
      return given;
    };
  }
}

void* GpuOperands::Take(Operand& operand, void* given, std::size_t bytes) const {
  if (given == nullptr) return nullptr;
  operand.ready.Record(operand.stream);  // The memory may have been something else's.
  operand.made_at = Reserve(operand.result, bytes);
  operand.out_bytes = bytes;
  operand.out = given;  // Last: what has failed is not delivered.
  return operand.made_at;
}

void GpuOperands::Start(std::uint32_t operation) {
  operation_ = operation;
  if (in_place_ != nullptr) {
    for (std::size_t i = 0; i < count_; ++i) in_place_->WaitFor(operands_[i]->ready);
    phase_ = Phase::kExchanges;
    return exchange_->Start(operation);
  }
  phase_ = Phase::kFetches;
  Fetch();
  copied_.Give(stream_);
}

bool GpuOperands::Poll() {
  const bool copies = phase_ == Phase::kFetches || phase_ == Phase::kDelivers;
  // Of a GPU that fails no signal comes.
  if (copies && !copied_.reached()) stream_.Check();
  if (phase_ == Phase::kFetches && copied_.reached()) {
    phase_ = Phase::kExchanges;
    exchange_->Start(operation_);
  }
  if (phase_ == Phase::kExchanges && exchange_->Poll()) {
    if (in_place_ != nullptr) {
      phase_ = Phase::kIdle;
      return true;
    }
    phase_ = Phase::kDelivers;
    Deliver();
    copied_.Give(stream_);
  }
  if (phase_ == Phase::kDelivers && copied_.reached()) phase_ = Phase::kIdle;
  return phase_ == Phase::kIdle;
}

void GpuOperands::Cancel() {
  if (phase_ == Phase::kExchanges) exchange_->Cancel();
  // A GPU that has failed touches nothing any more.
  GiveBack(gpu_, [this](const GpuApi&) { stream_.Await(); });
  phase_ = Phase::kIdle;
}

void GpuOperands::Fetch() {
  for (std::size_t i = 0; i < count_; ++i) {
    Operand& operand = *operands_[i];
    stream_.WaitFor(operand.ready);
    stream_.Copy(operand.input.data(), operand.in, operand.in_bytes);
  }
}

void GpuOperands::Deliver() {
  for (std::size_t i = 0; i < count_; ++i) {
    Operand& operand = *operands_[i];
    if (operand.out == nullptr) continue;
    stream_.Copy(operand.out, operand.made_at, operand.out_bytes);
  }
}

}  // namespace weir
