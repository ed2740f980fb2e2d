#include "tests/gpu/gpu_training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>

#include "common/gpu.h"
#include "common/gpu_memory.h"
#include "common/gpu_stream.h"
#include "tests/gpu/gradients.h"
#include "tests/gpu/tested_gpu.h"

namespace weir {
namespace {

/// A rank's GPU, and the stream in which its program works.
struct Program {
  explicit Program(int device) : gpu(TestedGpuLibrary(), device), stream(gpu) {}
  Gpu gpu;
  GpuStream stream;
};

/// A tensor's gradient and update, on the CPU or on a GPU.
class Place {
 public:
  /// `program`: of the rank; null on the CPU.
  Place(Program* program, std::size_t bytes) : program_(program), update_(bytes) {
    if (program == nullptr) return;
    on_gpu_ = {program->gpu, GpuMemory::Kind::kDevice, bytes};
    update_on_gpu_ = {program->gpu, GpuMemory::Kind::kDevice, bytes};
  }

  /// Where the update lies, on which the program still works.
  void* Update() {
    std::ranges::fill(update_, std::byte{0x11});
    if (program_ == nullptr) return update_.data();
    program_->stream.Copy(update_on_gpu_.data(), update_.data(), update_.size());
    return update_on_gpu_.data();
  }
  /// Where the gradient lies, or will some time.
  const void* Gradient(std::vector<std::byte> bytes) {
    gradient_ = std::move(bytes);
    if (program_ == nullptr) return gradient_.data();
    program_->stream.Copy(on_gpu_.data(), gradient_.data(), gradient_.size());
    return on_gpu_.data();
  }
  /// Once its handle is done.
  std::vector<std::byte> Result() {
    if (program_ == nullptr) return update_;
    program_->stream.Await();
    std::vector<std::byte> result(update_.size());
    program_->gpu.api().copy(result.data(), update_on_gpu_.data(), result.size());
    return result;
  }

 private:
  Program* const program_;
  std::vector<std::byte> gradient_;
  std::vector<std::byte> update_;
  GpuMemory on_gpu_;
  GpuMemory update_on_gpu_;
};

std::vector<float> GradientOf(int rank, int step, std::size_t tensor, std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double at = static_cast<double>(i * 7 + tensor * 1009) + 1;
    values[i] =
        static_cast<float>(std::sin(at * (1 + rank * 0.37) + step * 1.7) *
                           (1 + static_cast<double>((i + static_cast<std::size_t>(rank)) % 13)));
  }
  return values;
}

Trained TrainOne(Engine& engine, const GpuTraining& training, const Placement& placement,
                 const std::string* state) {
  const int rank = engine.rank();
  GradientGroupSpec spec{.name = "model", .compression = training.compression};
  std::unique_ptr<Program> program;
  std::vector<std::unique_ptr<Place>> places;
  for (const GpuTraining::Tensor& tensor : training.tensors) {
    const Device device = placement(rank, places.size());
    spec.tensors.push_back(
        {.name = tensor.name, .shape = tensor.shape, .dtype = tensor.dtype, .device = device});
    const auto n = static_cast<std::size_t>(tensor.shape.elements());
    if (device.is_gpu() && !program) program = std::make_unique<Program>(device.gpu);
    places.push_back(std::make_unique<Place>(device.is_gpu() ? program.get() : nullptr,
                                             n * SizeOf(tensor.dtype)));
  }
  void* const stream = program ? program->stream.handle() : nullptr;
  const auto group = engine.Register(spec);
  if (state != nullptr) {
    std::istringstream in(*state);
    std::istream* const streams[] = {&in};
    group->Load(streams);
  }
  Trained trained;
  const auto first = static_cast<int>(group->next_step());
  for (int step = first; step < first + training.steps; ++step) {
    const float rate = 0.1f;
    for (std::size_t t = 0; t < places.size(); ++t) {
      const bool unused = training.unused && training.unused(rank, step, t);
      group->SetDefaultUpdate(t, unused ? places[t]->Update() : nullptr);
    }
    group->BeginStep(
        {.learning_rates = {&rate, 1}, .loss_scale = training.loss_scale, .stream = stream});
    for (std::size_t t = 0; t < places.size(); ++t) {
      if (training.unused && training.unused(rank, step, t)) continue;
      const GpuTraining::Tensor& tensor = training.tensors[t];
      std::vector<float> values =
          GradientOf(rank, step, t, static_cast<std::size_t>(tensor.shape.elements()));
      if (training.spoil) training.spoil(rank, step, t, values);
      const Device device = spec.tensors[t].device;
      const void* const gradient =
          places[t]->Gradient(MakeGradient(std::move(values), tensor.dtype).bytes);
      group->Submit(t, {gradient, tensor.dtype, tensor.shape, device, stream},
                    {places[t]->Update(), tensor.dtype, tensor.shape, device, stream});
    }
    group->EndStep();
    trained.reports.push_back(group->WaitStep());
    for (const auto& place : places) trained.updates.push_back(place->Result());
  }
  std::ostringstream out;
  group->Save(out);
  trained.state = out.str();
  return trained;
}

}  // namespace

std::vector<Trained> Train(const GpuTraining& training, const Placement& placement,
                           const std::vector<std::string>& states) {
  Settings settings;
  settings.gpu_library = TestedGpuLibraryPath();
  settings.fusion_threshold_bytes = training.fusion_threshold_bytes;
  std::vector<Trained> all(static_cast<std::size_t>(training.ranks));
  JobOnHosts job(training.ranks, training.ranks_per_host);
  job.Run(
      [&](Engine& engine) {
        const auto rank = static_cast<std::size_t>(engine.rank());
        all[rank] = TrainOne(engine, training, placement, states.empty() ? nullptr : &states[rank]);
      },
      settings);
  return all;
}

}  // namespace weir
