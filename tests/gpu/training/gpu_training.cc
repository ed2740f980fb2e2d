#include "tests/gpu/training/gpu_training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <sstream>

#include "tests/gpu/gradients.h"
#include "tests/gpu/program.h"
#include "tests/gpu/tested_gpu.h"

namespace weir {
namespace {

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

/// Fills an update while the program still works on it.
void* Spoil(ProgramMemory& update) {
  return update.Write(std::vector<std::byte>(update.size(), std::byte{0x11}));
}

Trained TrainOne(Engine& engine, const GpuTraining& training, const Placement& placement,
                 const std::string* state) {
  const int rank = engine.rank();
  GradientGroupSpec spec{.name = "model", .compression = training.compression};
  std::unique_ptr<Program> program;
  std::vector<ProgramMemory> gradients;
  std::vector<ProgramMemory> updates;
  for (const GpuTraining::Tensor& tensor : training.tensors) {
    const Device device = placement(rank, updates.size());
    spec.tensors.push_back(
        {.name = tensor.name, .shape = tensor.shape, .dtype = tensor.dtype, .device = device});
    const auto n = static_cast<std::size_t>(tensor.shape.elements());
    if (device.is_gpu() && !program) program = std::make_unique<Program>(device.gpu);
    for (auto* list : {&gradients, &updates}) {
      list->emplace_back(device.is_gpu() ? program.get() : nullptr, n * SizeOf(tensor.dtype));
    }
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
    for (std::size_t t = 0; t < updates.size(); ++t) {
      const bool unused = training.unused && training.unused(rank, step, t);
      group->SetDefaultUpdate(t, unused ? Spoil(updates[t]) : nullptr);
    }
    const auto submit = [&](int of_step) {
      for (std::size_t t = 0; t < updates.size(); ++t) {
        if (training.unused && training.unused(rank, of_step, t)) continue;
        const GpuTraining::Tensor& tensor = training.tensors[t];
        std::vector<float> values =
            GradientOf(rank, of_step, t, static_cast<std::size_t>(tensor.shape.elements()));
        if (training.spoil) training.spoil(rank, of_step, t, values);
        const Device device = spec.tensors[t].device;
        const void* const gradient =
            gradients[t].Write(MakeGradient(std::move(values), tensor.dtype).bytes);
        group->Submit(t, {gradient, tensor.dtype, tensor.shape, device, stream},
                      {Spoil(updates[t]), tensor.dtype, tensor.shape, device, stream});
      }
    };
    if (training.dropped && training.dropped(step)) {
      group->BeginStep({.learning_rates = {&rate, 1}, .stream = stream, .undoable = true});
      submit(1000 + step);
      group->DropStep();
    }
    group->BeginStep(
        {.learning_rates = {&rate, 1}, .loss_scale = training.loss_scale, .stream = stream});
    submit(step);
    group->EndStep();
    const auto read = [&] {
      for (ProgramMemory& update : updates) trained.updates.push_back(update.Read());
    };
    const bool goes_on = training.waits_in_stream && program;
    if (goes_on) {
      group->WaitInStream(stream);
      read();
    }
    trained.reports.push_back(group->WaitStep());
    if (!goes_on) read();
  }
  std::ostringstream out;
  group->Save(out);
  trained.state = out.str();
  trained.sent_bytes = engine.network_totals().sent_bytes;
  return trained;
}

}  // namespace

std::vector<Trained> Train(const GpuTraining& training, const Placement& placement,
                           const std::vector<std::string>& states) {
  Settings settings = OnTestedGpu();
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

void ExpectSameTraining(const std::vector<Trained>& found, const std::vector<Trained>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t rank = 0; rank < found.size(); ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    ASSERT_EQ(found[rank].updates.size(), expected[rank].updates.size());
    for (std::size_t i = 0; i < found[rank].updates.size(); ++i) {
      ASSERT_EQ(found[rank].updates[i], expected[rank].updates[i]) << "update " << i;
    }
    for (std::size_t step = 0; step < found[rank].reports.size(); ++step) {
      const StepReport& report = found[rank].reports[step];
      const StepReport& wanted = expected[rank].reports[step];
      EXPECT_EQ(report.skipped, wanted.skipped);
      EXPECT_EQ(report.gradient_norm, wanted.gradient_norm);
      EXPECT_EQ(report.non_finite_entries, wanted.non_finite_entries);
    }
    EXPECT_TRUE(found[rank].state == expected[rank].state) << "another state";
  }
}

}  // namespace weir
