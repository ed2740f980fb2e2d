#include "coordinator/network/gpu_offers.h"

#include <algorithm>
#include <cstdlib>

#include "common/log.h"
#include "ops/nccl/reduction.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Name of a GPU in the whole job, as NCCL sees it: ranks of one host with different
/// values of NCCL_HOSTID share no GPU.
std::string NameOf(const Gpu& gpu) {
  const char* const host = std::getenv("NCCL_HOSTID");
  return gpu.name() + (host == nullptr ? "" : std::string("@") + host);
}

}  // namespace

const nccl::Library& GpuOffers::LoadedLibrary() {
  const std::scoped_lock lock(mutex_);
  if (!library_) library_ = nccl::Library::Load(settings_.nccl_library);
  return *library_;
}

bool GpuOffers::Suits(const Submission& submission) const {
  const Request& request = submission.request;
  if (submission.on_gpu.size() != submission.tensors.size()) return false;
  switch (request.kind) {
    case RequestKind::kAllreduce:
    case RequestKind::kReducescatter:
      return !settings_.deterministic &&
             std::ranges::all_of(submission.tensors, [&](const Array& tensor) {
               return nccl::Suits(tensor.dtype, {request.op, request.prescale, request.postscale});
             });
    case RequestKind::kAllgather:
    case RequestKind::kBroadcast:
    case RequestKind::kAlltoall:
      return true;
    case RequestKind::kSparseAllreduce:  // Its values are scaled on the host.
    case RequestKind::kBarrier:
    case RequestKind::kJoin:
    case RequestKind::kDropStep:
    case RequestKind::kUnused:
    case RequestKind::kPlan:
    case RequestKind::kGroup:
      return false;
  }
  return false;
}

void GpuOffers::Offer(Submission& submission) {
  if (Suits(submission)) Offer(*submission.gpu, submission.request);
}

void GpuOffers::Offer(const Gpu& gpu, Request& request) {
  if (settings_.gpu_transport == GpuTransport::kMpiStaged) return;
  const nccl::Library& library = LoadedLibrary();
  request.gpu_alone = settings_.gpu_transport == GpuTransport::kNccl;
  if (library.api() != nullptr) {
    request.gpu = NameOf(gpu);
  } else if (request.gpu_alone) {
    throw InvalidArgument(
        "'" + request.name + "' is to travel over NCCL (WEIR_GPU_TRANSPORT=nccl), but " +
            library.trouble() + ": install NCCL, name it in WEIR_NCCL_LIBRARY, or leave nccl out",
        {request.name, {}, "submit"});
  } else {
    TellWhyStaged(library.trouble());
  }
}

void GpuOffers::TellWhyStaged(const std::string& why) {
  if (told_.exchange(true)) return;
  LogWarning("tensors on GPUs travel through the host's memory, not over NCCL: {}", why);
}

}  // namespace weir
