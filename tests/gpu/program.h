#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "common/gpu/gpu.h"
#include "common/gpu/gpu_memory.h"
#include "common/gpu/gpu_stream.h"
#include "tests/gpu/tested_gpu.h"

namespace weir {

/// A program's GPU, and the stream in which it works.
struct Program {
  explicit Program(int device) : gpu(TestedGpuLibrary(), device), stream(gpu) {}
  Gpu gpu;
  GpuStream stream;
};

/// A program's memory, on its GPU or on the CPU.
class ProgramMemory {
 public:
  /// `program` is null on the CPU.
  ProgramMemory(Program* program, std::size_t bytes) : program_(program), bytes_(bytes) {
    if (program != nullptr) on_gpu_ = {program->gpu, GpuMemory::Kind::kDevice, bytes};
  }

  std::size_t size() const { return bytes_.size(); }
  void* data() { return program_ == nullptr ? bytes_.data() : on_gpu_.data(); }
  Device device() const { return program_ == nullptr ? Device() : Device{program_->gpu.device()}; }
  void* stream() const { return program_ == nullptr ? nullptr : program_->stream.handle(); }

  /// Writes the values at some time, as the program's work.
  void* Write(std::vector<std::byte> values) {
    bytes_ = std::move(values);
    if (program_ != nullptr) program_->stream.Copy(on_gpu_.data(), bytes_.data(), bytes_.size());
    return data();
  }
  /// Reads after the program's work so far.
  std::vector<std::byte> Read() {
    if (program_ == nullptr) return bytes_;
    program_->stream.Await();
    std::vector<std::byte> values(bytes_.size());
    program_->gpu.api().copy(values.data(), on_gpu_.data(), values.size());
    return values;
  }

 private:
  Program* const program_;
  std::vector<std::byte> bytes_;
  GpuMemory on_gpu_;
};

}  // namespace weir
