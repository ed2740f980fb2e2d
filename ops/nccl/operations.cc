#include "ops/nccl/operations.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "ops/nccl/reduction.h"

namespace weir::nccl {
namespace {

constexpr DataType kBytes = DataType::kUint8;

std::uint64_t BytesOf(std::span<const Array> arrays) {
  std::uint64_t bytes = 0;
  for (const Array& array : arrays) bytes += array.bytes();
  return bytes;
}

std::uint64_t Sum(std::span<const std::size_t> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

bool AllEqual(std::span<const std::size_t> sizes) {
  return std::ranges::adjacent_find(sizes, std::not_equal_to()) == sizes.end();
}

}  // namespace

void Allreduce::Bind(std::span<const Array> arrays, const Reduction& reduction) {
  arrays_.assign(arrays.begin(), arrays.end());
  reduction_ = reduction;
}

void Allreduce::Issue() {
  Communicator& all = communicator();
  for (const Array& array : arrays_) {
    if (array.elements == 0) continue;
    const DataType type = NativeOf(array.dtype, reduction_, all.size()).type;
    all.Check(all.api().all_reduce(array.in, array.out, static_cast<std::size_t>(array.elements),
                                   type, all.OperatorOf(array.dtype, reduction_), all.handle(),
                                   all.stream().handle()));
  }
}

std::uint64_t Allreduce::SentBytes(std::uint64_t ranks) const {
  return 2 * (ranks - 1) * BytesOf(arrays_) / ranks;
}

void Allgather::Bind(std::span<const GatheredArray> arrays, std::span<const std::size_t> bytes) {
  arrays_.assign(arrays.begin(), arrays.end());
  bytes_.assign(bytes.begin(), bytes.end());
}

void Allgather::Issue() {
  Communicator& all = communicator();
  const auto ranks = static_cast<std::size_t>(all.size());
  const auto self = static_cast<std::size_t>(all.rank());
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    const auto [in, out] = arrays_[i];
    const auto bytes = std::span(bytes_).subspan(i * ranks, ranks);
    if (AllEqual(bytes)) {
      if (bytes[0] == 0) continue;
      all.Check(all.api().all_gather(in.data(), out.data(), bytes[0], kBytes, all.handle(),
                                     all.stream().handle()));
      continue;
    }
    std::byte* part = out.data();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (bytes[rank] == 0) continue;
      const void* const from = rank == self ? in.data() : part;
      all.Check(all.api().broadcast(from, part, bytes[rank], kBytes, static_cast<int>(rank),
                                    all.handle(), all.stream().handle()));
      part += bytes[rank];
    }
  }
}

// Each rank passes on what it receives, around a ring.
std::uint64_t Allgather::SentBytes(std::uint64_t ranks) const {
  return (ranks - 1) * Sum(bytes_) / ranks;
}

void Broadcast::Bind(std::span<std::byte> data, int root) {
  data_ = data;
  root_ = root;
}

void Broadcast::Issue() {
  Communicator& all = communicator();
  if (data_.empty()) return;
  all.Check(all.api().broadcast(data_.data(), data_.data(), data_.size(), kBytes, root_,
                                all.handle(), all.stream().handle()));
}

std::uint64_t Broadcast::SentBytes(std::uint64_t ranks) const {
  return (ranks - 1) * data_.size() / ranks;
}

void Alltoall::Bind(std::span<const std::byte> in, std::span<const std::size_t> send_bytes,
                    std::span<std::byte> out, std::span<const std::size_t> receive_bytes) {
  in_ = in;
  out_ = out;
  send_bytes_.assign(send_bytes.begin(), send_bytes.end());
  receive_bytes_.assign(receive_bytes.begin(), receive_bytes.end());
}

void Alltoall::Issue() {
  Communicator& all = communicator();
  const std::byte* from = in_.data();
  std::byte* to = out_.data();
  for (int peer = 0; peer < all.size(); ++peer) {
    const std::size_t sent = send_bytes_[static_cast<std::size_t>(peer)];
    const std::size_t received = receive_bytes_[static_cast<std::size_t>(peer)];
    if (sent > 0) {
      all.Check(all.api().send(from, sent, kBytes, peer, all.handle(), all.stream().handle()));
    }
    if (received > 0) {
      all.Check(all.api().recv(to, received, kBytes, peer, all.handle(), all.stream().handle()));
    }
    from += sent;
    to += received;
  }
}

std::uint64_t Alltoall::SentBytes(std::uint64_t) const {
  return Sum(send_bytes_) - send_bytes_[static_cast<std::size_t>(communicator().rank())];
}

void ReduceScatter::Bind(std::span<const Array> arrays, std::span<const std::size_t> offsets,
                         const Reduction& reduction) {
  arrays_.assign(arrays.begin(), arrays.end());
  offsets_.assign(offsets.begin(), offsets.end());
  reduction_ = reduction;
}

std::uint64_t ReduceScatter::SentBytes(std::uint64_t ranks) const {
  return (ranks - 1) * BytesOf(arrays_) / ranks;
}

void ReduceScatter::Issue() {
  const std::size_t borders = static_cast<std::size_t>(communicator().size()) + 1;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    IssueParts(arrays_[i], std::span(offsets_).subspan(i * borders, borders));
  }
}

void ReduceScatter::IssueParts(const Array& array, std::span<const std::size_t> borders) {
  Communicator& all = communicator();
  const DataType type = NativeOf(array.dtype, reduction_, all.size()).type;
  const RedOp op = all.OperatorOf(array.dtype, reduction_);
  std::vector<std::size_t> parts;
  for (std::size_t r = 1; r < borders.size(); ++r) parts.push_back(borders[r] - borders[r - 1]);
  if (AllEqual(parts)) {
    if (parts[0] == 0) return;
    return all.Check(all.api().reduce_scatter(array.in, array.out, parts[0], type, op, all.handle(),
                                              all.stream().handle()));
  }
  const auto* const in = static_cast<const std::byte*>(array.in);
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (parts[rank] == 0) continue;
    all.Check(all.api().reduce(in + borders[rank] * SizeOf(array.dtype), array.out, parts[rank],
                               type, op, static_cast<int>(rank), all.handle(),
                               all.stream().handle()));
  }
}

}  // namespace weir::nccl
