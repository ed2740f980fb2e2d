#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>

#include "common/gpu/gpu.h"
#include "coordinator/negotiation/submission.h"
#include "ops/nccl/library.h"
#include "weir/settings.h"

namespace weir {

/// A rank's offer for its tensors on GPUs when it asks for an operation: whether NCCL may
/// carry them (WEIR_GPU_TRANSPORT). Ranks decide together
/// (coordinator/negotiation/gpu_agreement.h). Thread-safe.
class GpuOffers {
 public:
  explicit GpuOffers(const Settings& settings) : settings_(settings) {}

  /// Fills Request::gpu and gpu_alone of a submission with tensors on a GPU; leaves `gpu` empty if
  /// NCCL cannot carry them. Throws InvalidArgument if it must and there is none.
  void Offer(Submission& submission);
  /// Fills a request that NCCL can carry, all tensors of which are on the GPU.
  void Offer(const Gpu& gpu, Request& request);

  /// API of the NCCL that this process uses. Only after Offer has offered something.
  const nccl::Api& api() const { return *library_->api(); }

  /// Time that NCCL may take to connect ranks without a warning; 0: no limit.
  std::chrono::nanoseconds patience() const {
    constexpr double kForEver = 1e9;  // A count of nanoseconds can hold this.
    const double wanted = settings_.stall_check ? settings_.stall_warning_seconds : 0.0;
    const double seconds = wanted < kForEver ? wanted : kForEver;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(seconds));
  }
  /// Tells people, once, why tensors do not use NCCL although they could.
  void TellWhyStaged(const std::string& why);

 private:
  bool Suits(const Submission& submission) const;
  const nccl::Library& LoadedLibrary();

  const Settings& settings_;
  std::mutex mutex_;
  std::optional<nccl::Library> library_;
  std::atomic<bool> told_ = false;
};

}  // namespace weir
