#include "ops/nccl/communicator.h"

#include <cstring>
#include <thread>

#include "common/clock.h"
#include "common/half.h"
#include "common/log.h"
#include "ops/nccl/launch.h"
#include "ops/nccl/reduction.h"
#include "weir/error.h"

namespace weir::nccl {
namespace {

// Most operators that a communicator keeps: a factor that changes makes a new one.
constexpr std::size_t kMostScaledSums = 32;

/// Room for a value of any of NCCL's types.
struct Scalar {
  alignas(double) std::byte bytes[sizeof(double)];
};

template <typename T>
Scalar ScalarOf(T value) {
  Scalar scalar{};
  std::memcpy(scalar.bytes, &value, sizeof value);
  return scalar;
}

/// Converts to a floating-point type.
Scalar ScalarOf(DataType type, double value) {
  const auto single = static_cast<float>(value);
  if (type == DataType::kFloat64) return ScalarOf(value);
  if (type == DataType::kFloat16) return ScalarOf(FloatToHalf(single));
  if (type == DataType::kBFloat16) return ScalarOf(FloatToBFloat16(single));
  return ScalarOf(single);
}

}  // namespace

Communicator::Communicator(const Api& api, Transport& transport, const Gpu& gpu,
                           std::chrono::nanoseconds patience)
    : api_(api),
      transport_(transport),
      stream_(gpu),
      id_exchange_(transport, sizeof(UniqueId)),
      patience_(patience) {}

Communicator::~Communicator() { Abort(); }

void Communicator::Check(Result result) const {
  if (result == Result::kSuccess || result == Result::kInProgress) return;
  std::string text = std::string("NCCL: ") + api_.get_error_string(result);
  const char* const last = comm_ == nullptr ? nullptr : api_.get_last_error(comm_);
  if (last != nullptr && *last != '\0') text += std::string(": ") + last;
  text += " (NCCL_DEBUG=INFO says more; --gpu-transport mpi-staged does without NCCL)";
  const bool others = result == Result::kRemoteError || result == Result::kSystemError;
  if (others) throw PeerLost(text, {"", {}, "exchange"});
  throw Error(text, {"", {transport_.JobRank(rank())}, "exchange"});
}

bool Communicator::in_progress() const {
  Result state = Result::kSuccess;
  Check(api_.comm_get_async_error(comm_, &state));
  Check(state);
  return state == Result::kInProgress;
}

void Communicator::Enqueue(Launch& launch, std::uint32_t operation) {
  queue_.push_back(&launch);
  if (stage_ != Stage::kIdle) return;
  if (rank() == 0) Check(api_.get_unique_id(&id_));
  id_exchange_.Bind(std::as_bytes(std::span(id_.internal)));
  id_exchange_.Start(operation);
  stage_ = Stage::kId;
}

void Communicator::Connect() {
  const std::span<const std::byte> id = id_exchange_.message();
  if (id.size() != sizeof id_) {
    throw Corrupt("rank " + std::to_string(transport_.JobRank(0)) + " sent an id of " +
                      std::to_string(id.size()) + " bytes for NCCL",
                  {"", {transport_.JobRank(0)}, "exchange"});
  }
  std::memcpy(id_.internal, id.data(), id.size());
  const GpuScope scope(gpu());
  Config config;
  config.blocking = 0;
  config.max_ctas = kMostBlocks;
  Check(api_.comm_init_rank_config(&comm_, size(), id_, rank(), &config));
  stage_ = Stage::kConnects;
  warning_due_ns_ = patience_.count() == 0 ? 0 : NowNs() + patience_.count();
}

void Communicator::WarnIfSlow() {
  if (stage_ != Stage::kConnects || warning_due_ns_ == 0 || NowNs() < warning_due_ns_) return;
  warning_due_ns_ = 0;
  LogWarning(
      "NCCL has not connected the GPUs of {} ranks in {:g} s. Its ports may be blocked, or it may "
      "use the wrong interface (--network-interface; NCCL_DEBUG=INFO says what it does); "
      "--gpu-transport mpi-staged does without NCCL",
      size(), std::chrono::duration<double>(patience_).count());
}

void Communicator::Poll() {
  if (stage_ == Stage::kId && id_exchange_.Poll()) Connect();
  if (comm_ == nullptr) return;
  if (in_progress()) return WarnIfSlow();
  if (stage_ == Stage::kConnects) stage_ = Stage::kReady;
  if (stage_ != Stage::kReady) return;
  stream_.Check();  // A GPU that fails gives no signal.
  if (launching_ != nullptr) std::exchange(launching_, nullptr)->Issued();
  while (launching_ == nullptr && !queue_.empty()) IssueNext();
}

void Communicator::IssueNext() {
  launching_ = queue_.front();
  queue_.pop_front();
  const GpuScope scope(gpu());
  launching_->BeforeIssue();
  Check(api_.group_start());
  try {
    launching_->Issue();
  } catch (...) {
    static_cast<void>(api_.group_end());  // In an open group, Abort would wait for its end.
    throw;
  }
  Check(api_.group_end());
  if (!in_progress()) std::exchange(launching_, nullptr)->Issued();
}

RedOp Communicator::OperatorOf(DType dtype, const Reduction& reduction) {
  const NativeReduction native = NativeOf(dtype, reduction, size());
  if (!native.factor) return native.op;
  const auto found = scaled_sums_.find({native.type, *native.factor});
  if (found != scaled_sums_.end()) return found->second;
  if (scaled_sums_.size() == kMostScaledSums) {
    for (const auto& [key, op] : scaled_sums_) Check(api_.red_op_destroy(op, comm_));
    scaled_sums_.clear();
  }
  Scalar factor = ScalarOf(native.type, *native.factor);
  RedOp op = 0;
  Check(api_.red_op_create_pre_mul_sum(&op, factor.bytes, native.type,
                                       ScalarResidence::kHostImmediate, comm_));
  scaled_sums_.emplace(std::pair(native.type, *native.factor), op);
  return op;
}

void Communicator::Close(std::chrono::milliseconds patience) {
  if (stage_ != Stage::kReady) return Abort();
  const auto deadline = std::chrono::steady_clock::now() + patience;
  try {
    const GpuScope scope(gpu());
    Check(api_.comm_finalize(comm_));
    while (in_progress()) {
      if (std::chrono::steady_clock::now() > deadline) return Abort();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    Check(api_.comm_destroy(std::exchange(comm_, nullptr)));
  } catch (const std::exception&) {
    return Abort();  // The job is over: everything to be reported was reported.
  }
  stage_ = Stage::kClosed;
}

void Communicator::Abort() {
  if (stage_ == Stage::kClosed) return;
  id_exchange_.Cancel();
  queue_.clear();
  launching_ = nullptr;
  GiveBack(gpu(), [this](const GpuApi&) {
    if (comm_ != nullptr) static_cast<void>(api_.comm_abort(comm_));
    stream_.Await();
  });
  comm_ = nullptr;
  stage_ = Stage::kClosed;
}

}  // namespace weir::nccl
