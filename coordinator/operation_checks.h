#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "coordinator/request.h"
#include "weir/engine.h"

namespace weir {

// What one rank can see is wrong with an operation. All of these throw InvalidArgument with the
// tensor's name; `rank` is the rank's own, for the sentence.

void CheckName(const std::string& name);

/// `what` is the tensor's part in the operation: "input", "output".
void CheckTensor(const std::string& name, const char* what, const ConstTensorView& tensor);

void CheckAllocate(RequestKind kind, const std::string& name, int rank,
                   const AllocateOutput& allocate);

/// Input and output are alike.
void CheckPair(const std::string& name, int rank, const ConstTensorView& in, const TensorView& out);

/// There is a first dimension.
void CheckRows(RequestKind kind, const std::string& name, int rank, const Shape& shape);

/// There are tensors in it.
void CheckGroup(RequestKind kind, const std::string& name, int rank, std::size_t tensors);

/// There is an index of type int64 for every row of values.
void CheckEntries(const std::string& name, int rank, const ConstTensorView& indices,
                  const ConstTensorView& values);

/// The operation combines values of that type so.
void CheckCombination(RequestKind kind, DType dtype, const ReduceOptions& options);

/// What is asked for when such a tensor is combined so, after CheckCombination.
Request ReductionRequest(RequestKind kind, const std::string& name, const ConstTensorView& in,
                         const ReduceOptions& options);

/// How many of an all-to-all's `rows` go to each of `ranks`, whether the program said it or not.
std::vector<std::int64_t> CheckedSplits(const std::string& name, int rank,
                                        std::span<const int> ranks, std::int64_t rows,
                                        std::span<const std::int64_t> given);

}  // namespace weir
