#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ops/arrays/array.h"
#include "ops/arrays/gathered_array.h"
#include "ops/arrays/reduce.h"
#include "ops/nccl/launch.h"

/// The operations of a communicator. Each is bound to the GPU's memory for its next run, with
/// lengths as in ops/collectives/collectives.h, which are checked when they are agreed on.
namespace weir::nccl {

/// Combines arrays of every rank; the reduction suits all of them (ops/nccl/reduction.h).
class Allreduce final : public Launch {
 public:
  using Launch::Launch;
  void Bind(std::span<const Array> arrays, const Reduction& reduction);

 private:
  void Issue() override;
  std::uint64_t SentBytes(std::uint64_t ranks) const override;
  std::vector<Array> arrays_;
  Reduction reduction_;
};

/// Concatenates each of several arrays over all ranks.
class Allgather final : public Launch {
 public:
  using Launch::Launch;
  void Bind(std::span<const GatheredArray> arrays, std::span<const std::size_t> bytes);

 private:
  void Issue() override;
  std::uint64_t SentBytes(std::uint64_t ranks) const override;
  std::vector<GatheredArray> arrays_;
  std::vector<std::size_t> bytes_;
};

/// Copies one rank's bytes to all.
class Broadcast final : public Launch {
 public:
  using Launch::Launch;
  void Bind(std::span<std::byte> data, int root);

 private:
  void Issue() override;
  std::uint64_t SentBytes(std::uint64_t ranks) const override;
  std::span<std::byte> data_;
  int root_ = 0;
};

/// Sends different bytes from every rank to every rank.
class Alltoall final : public Launch {
 public:
  using Launch::Launch;
  void Bind(std::span<const std::byte> in, std::span<const std::size_t> send_bytes,
            std::span<std::byte> out, std::span<const std::size_t> receive_bytes);

 private:
  void Issue() override;
  std::uint64_t SentBytes(std::uint64_t ranks) const override;
  std::span<const std::byte> in_;
  std::span<std::byte> out_;
  std::vector<std::size_t> send_bytes_;
  std::vector<std::size_t> receive_bytes_;
};

/// Combines arrays of every rank and leaves each rank a part of each of them.
class ReduceScatter final : public Launch {
 public:
  using Launch::Launch;
  void Bind(std::span<const Array> arrays, std::span<const std::size_t> offsets,
            const Reduction& reduction);

 private:
  void Issue() override;
  std::uint64_t SentBytes(std::uint64_t ranks) const override;
  void IssueParts(const Array& array, std::span<const std::size_t> borders);
  std::vector<Array> arrays_;
  std::vector<std::size_t> offsets_;
  Reduction reduction_;
};

}  // namespace weir::nccl
