#include "common/gpu/gpu.h"

#include "weir/error.h"

namespace weir {
namespace {

thread_local bool owned = false;

}  // namespace

const Gpu& Gpus::At(Device device, const std::string& what, const ErrorContext& where) {
  const std::scoped_lock lock(mutex_);
  const auto found = gpus_.find(device.gpu);
  if (found != gpus_.end()) return *found->second;
  const auto refuse = [&](const std::string& why) {
    throw InvalidArgument(what + " is on " + device.ToString() + ", but " + why, where);
  };
  if (!library_) library_ = GpuLibrary::Load(path_);
  if (library_->api() == nullptr) refuse(library_->trouble());
  std::string trouble;
  const int count = library_->api()->count_devices(trouble);
  if (count == 0) refuse(trouble);
  if (device.gpu < 0 || device.gpu >= count) {
    refuse("this process can use " + std::to_string(count) + " GPUs, from cuda:0");
  }
  return *gpus_.emplace(device.gpu, std::make_unique<Gpu>(*library_, device.gpu, wake_))
              .first->second;
}

GpuScope::GpuScope(const Gpu& gpu) : gpu_(gpu), before_(gpu.api().current_device()) {
  if (before_ != gpu.device()) gpu.api().make_current(gpu.device());
}

GpuScope::~GpuScope() {
  if (before_ == gpu_.device() || owned) return;
  try {
    gpu_.api().make_current(before_);
  } catch (const std::exception&) {
    return;  // The program's next CUDA call says the same.
  }
}

void GpuScope::OwnThisThread() { owned = true; }

}  // namespace weir
