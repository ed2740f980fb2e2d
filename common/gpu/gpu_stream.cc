#include "common/gpu/gpu_stream.h"

namespace weir {
namespace {

void* MakeEvent(const Gpu& gpu) {
  const GpuScope scope(gpu);
  return gpu.api().make_event();
}

void* MakeStream(const Gpu& gpu) {
  const GpuScope scope(gpu);
  return gpu.api().make_stream();
}

}  // namespace

GpuEvent::GpuEvent(const Gpu& gpu) : gpu_(gpu), event_(MakeEvent(gpu)) {}

GpuEvent::~GpuEvent() {
  GiveBack(gpu_, [this](const GpuApi& api) { api.release_event(event_); });
}

void GpuEvent::Record(void* stream) {
  const GpuScope scope(gpu_);
  gpu_.api().record(event_, stream);
}

void GpuEvent::Await() const { gpu_.api().await(event_); }

GpuStream::GpuStream(const Gpu& gpu) : gpu_(gpu), stream_(MakeStream(gpu)), end_(gpu) {}

GpuStream::~GpuStream() {
  GiveBack(gpu_, [this](const GpuApi& api) { api.release_stream(stream_); });
}

void GpuStream::WaitFor(const GpuEvent& event) { gpu_.api().wait_in(stream_, event.handle()); }

void GpuStream::Copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const GpuScope scope(gpu_);
  gpu_.api().copy_in(to, from, bytes, stream_);
}

void GpuStream::Await() {
  end_.Record(stream_);
  end_.Await();
}

void GpuStream::Check() const { gpu_.api().check(stream_); }

void GpuSignal::Give(GpuStream& stream) {
  gpu_ = &stream.gpu();
  reached_.store(false, std::memory_order_relaxed);
  const auto tell = [](void* self) {
    auto& signal = *static_cast<GpuSignal*>(self);
    const Gpu& gpu = *signal.gpu_;
    signal.reached_.store(true, std::memory_order_release);
    gpu.Wake();
  };
  const GpuScope scope(*gpu_);
  gpu_->api().call_in(stream.handle(), tell, this);
}

}  // namespace weir
