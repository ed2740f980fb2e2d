#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "coordinator/negotiation/submission.h"
#include "weir/engine.h"

namespace weir {

/// A submission in the making. Refuses mistakes that this rank can see as they are added: every
/// function throws InvalidArgument, which names the tensor, and leaves nothing behind that could be
/// submitted. Not thread-safe.
class Draft {
 public:
  enum class Form { kSingle, kGroup };
  /// Begins a submission. `rank` is this rank's number in the job, for messages.
  Draft(RequestKind kind, const std::string& name, int rank, Form form = Form::kSingle);

  /// Sets how the values of tensors that are added after this are combined.
  void Combine(ReduceOptions options);
  void HeldBy(std::shared_ptr<const void> owner) { submission_.owner = std::move(owner); }

  /// Adds a tensor and the place of its result, of the same shape; once, or for each of a group.
  void Add(const ConstTensorView& in, const TensorView& out);
  /// Adds a tensor whose rows are dealt out, into memory that is requested later.
  void Add(Engine::RowsTensor tensor) { AddRows(std::move(tensor), {}); }
  /// Adds the two members of a sparse tensor.
  void Add(Engine::SparseTensor tensor);

  /// Sets how many rows of an all-to-all go to each of `ranks`; empty `splits`: the same number to
  /// each. Call it after Add.
  void Split(std::span<const int> ranks, std::span<const std::int64_t> splits);
  /// Sets the root of a broadcast.
  void SetRoot(int root) { request().root = root; }

  /// Returns the GPU of all tensors that lie on one, and the name of the first of them.
  Device device() const { return device_; }
  const std::string& tensor_on_gpu() const { return tensor_on_gpu_; }
  /// Returns what was put together, all but Submission::gpu.
  Submission Take();

 private:
  Request& request() { return submission_.request; }
  [[noreturn]] void Refuse(const std::string& tensor, const std::string& why) const;
  /// Enters the description of the next tensor, and returns its name.
  std::string Describe(DType dtype, const Shape& shape, const std::string& label);
  void CheckTensor(const std::string& name, const char* what, const ConstTensorView& tensor) const;
  /// Notes the place of the tensor that was just described.
  void Place(const std::string& name, const ConstTensorView& tensor);
  void CheckCombination(const std::string& name, DType dtype) const;
  void AddRows(Engine::RowsTensor tensor, const std::string& label);

  const int rank_;
  const Form form_;
  bool combines_ = false;
  Device device_;
  std::string tensor_on_gpu_;
  Submission submission_;
};

}  // namespace weir
