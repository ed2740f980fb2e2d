#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "coordinator/negotiation/submission.h"
#include "weir/engine.h"

namespace weir {

/// A submission in the making. What this rank can see is wrong with it is refused as it is added:
/// every function throws InvalidArgument, which names the tensor, and leaves nothing behind that
/// could be submitted. Not thread-safe.
class Draft {
 public:
  enum class Form { kSingle, kGroup };
  /// `rank` is this rank's in the job, for the sentences.
  Draft(RequestKind kind, const std::string& name, int rank, Form form = Form::kSingle);

  /// How the values of the tensors are combined that are added after this.
  void Combine(ReduceOptions options);
  void HeldBy(std::shared_ptr<const void> owner) { submission_.owner = std::move(owner); }

  /// A tensor, and where its result goes, which has its shape; one, or each of a group's.
  void Add(const ConstTensorView& in, const TensorView& out);
  /// A tensor whose rows are dealt out, into memory that is asked for later.
  void Add(Engine::RowsTensor tensor) { AddRows(std::move(tensor), {}); }
  /// The two members of a sparse tensor.
  void Add(Engine::SparseTensor tensor);

  /// Of an all-to-all, after its tensor: how many rows go to each of `ranks`; none given is the
  /// same number for each.
  void Split(std::span<const int> ranks, std::span<const std::int64_t> splits);
  /// Of a broadcast.
  void SetRoot(int root) { request().root = root; }

  /// Where those tensors lie that lie on a GPU, all on one, and the name of the first.
  Device device() const { return device_; }
  const std::string& tensor_on_gpu() const { return tensor_on_gpu_; }
  /// What was put together, but for Submission::gpu.
  Submission Take();

 private:
  Request& request() { return submission_.request; }
  [[noreturn]] void Refuse(const std::string& tensor, const std::string& why) const;
  /// The name of the tensor that comes next, whose description is entered.
  std::string Describe(DType dtype, const Shape& shape, const std::string& label);
  void CheckTensor(const std::string& name, const char* what, const ConstTensorView& tensor) const;
  /// Notes where the tensor lies that was just described.
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
