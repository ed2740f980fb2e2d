#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "common/half.h"
#include "tests/emulated_gpu/nccl.h"

namespace weir::emulated {
namespace {

using nccl::DataType;

std::size_t SizeOf(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
      return 1;
    case DataType::kFloat16:
    case DataType::kBFloat16:
      return 2;
    case DataType::kInt32:
    case DataType::kUint32:
    case DataType::kFloat32:
      return 4;
    default:
      return 8;
  }
}

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void Store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <typename T>
T Combine(nccl::RedOp op, T a, T b) {
  switch (op) {
    case nccl::kProduct:
      return a * b;
    case nccl::kMax:
      return std::max(a, b);
    case nccl::kMin:
      return std::min(a, b);
    default:
      return a + b;
  }
}

/// Combines values of type T, in type Wide. Like NCCL, a 16-bit average is a sum of values
/// multiplied by 1 / N first, and all of that has 16 bits.
template <typename T, typename Wide>
void Reduce(const std::vector<const std::byte*>& ins, std::size_t count, nccl::RedOp op,
            const std::vector<double>& factors, std::byte* out, Wide (*widen)(T),
            T (*narrow)(Wide)) {
  for (std::size_t i = 0; i < count; ++i) {
    Wide sum{};
    const bool narrow_average = op == nccl::kAverage && !std::is_same_v<T, Wide>;
    const auto ranks = static_cast<Wide>(ins.size());
    const auto share = narrow_average ? widen(narrow(Wide{1} / ranks)) : Wide{1};
    for (std::size_t r = 0; r < ins.size(); ++r) {
      auto value =
          static_cast<Wide>(widen(Load<T>(ins[r] + i * sizeof(T))) * static_cast<Wide>(factors[r]));
      if (narrow_average) value = widen(narrow(static_cast<Wide>(value * share)));
      sum = r == 0 ? value : Combine(op, sum, value);
    }
    if (op == nccl::kAverage && !narrow_average) sum /= ranks;
    Store(out + i * sizeof(T), narrow(sum));
  }
}

template <typename T>
void ReducePlain(const std::vector<const std::byte*>& ins, std::size_t count, nccl::RedOp op,
                 const std::vector<double>& factors, std::byte* out) {
  constexpr auto kSame = [](T value) { return value; };
  Reduce<T, T>(ins, count, op, factors, out, kSame, kSame);
}

std::vector<std::byte> Reduced(const std::vector<const std::byte*>& ins, const Call& like,
                               const std::vector<double>& factors) {
  std::vector<std::byte> out(like.count * SizeOf(like.type));
  switch (like.type) {
    case DataType::kInt8:
      ReducePlain<std::int8_t>(ins, like.count, like.op, factors, out.data());
      break;
    case DataType::kUint8:
      ReducePlain<std::uint8_t>(ins, like.count, like.op, factors, out.data());
      break;
    case DataType::kInt32:
      ReducePlain<std::int32_t>(ins, like.count, like.op, factors, out.data());
      break;
    case DataType::kInt64:
      ReducePlain<std::int64_t>(ins, like.count, like.op, factors, out.data());
      break;
    case DataType::kFloat32:
      ReducePlain<float>(ins, like.count, like.op, factors, out.data());
      break;
    case DataType::kFloat64:
      ReducePlain<double>(ins, like.count, like.op, factors, out.data());
      break;
    case DataType::kFloat16:
      Reduce<std::uint16_t, float>(ins, like.count, like.op, factors, out.data(), HalfToFloat,
                                   FloatToHalf);
      break;
    case DataType::kBFloat16:
      Reduce<std::uint16_t, float>(ins, like.count, like.op, factors, out.data(), BFloat16ToFloat,
                                   FloatToBFloat16);
      break;
    default:
      throw std::logic_error("a type that nobody reduces");
  }
  return out;
}

std::vector<std::byte> Bytes(const std::byte* from, std::size_t size) {
  return {from, from + size};
}

/// The collective that each rank's `calls` have at one place.
class OneCollective {
 public:
  OneCollective(std::vector<const Call*> calls, const std::vector<Factors>& factors)
      : calls_(std::move(calls)), bytes_(calls_[0]->count * SizeOf(calls_[0]->type)) {
    for (std::size_t r = 0; r < calls_.size(); ++r) {
      const Call& call = *calls_[r];
      const Call& first = *calls_[0];
      if (call.kind != first.kind || call.count != first.count || call.type != first.type ||
          call.peer != first.peer) {
        throw std::logic_error("ranks 0 and " + std::to_string(r) + " call different collectives");
      }
      const auto factor = factors[r].find(call.op);
      factors_.push_back(factor == factors[r].end() ? 1.0 : factor->second);
    }
  }

  void Run(std::vector<std::vector<Result>>& results) const {
    for (std::size_t r = 0; r < calls_.size(); ++r) {
      if (calls_[r]->kind == CallKind::kReduce && static_cast<int>(r) != calls_[r]->peer) continue;
      results[r].push_back({calls_[r]->out, OfRank(r)});
    }
  }

 private:
  std::vector<std::byte> OfRank(std::size_t rank) const {
    const Call& call = *calls_[rank];
    switch (call.kind) {
      case CallKind::kReduceScatter:
        return Reduced(Ins(rank * bytes_), call, factors_);
      case CallKind::kBroadcast:
        return Bytes(calls_[static_cast<std::size_t>(call.peer)]->in, bytes_);
      case CallKind::kAllGather: {
        std::vector<std::byte> all;
        for (const Call* one : calls_) all.insert(all.end(), one->in, one->in + bytes_);
        return all;
      }
      default:
        return Reduced(Ins(0), call, factors_);
    }
  }
  std::vector<const std::byte*> Ins(std::size_t at) const {
    std::vector<const std::byte*> ins;
    for (const Call* one : calls_) ins.push_back(one->in + at);
    return ins;
  }

  std::vector<const Call*> calls_;
  std::size_t bytes_;
  std::vector<double> factors_;
};

bool IsPointToPoint(const Call& call) {
  return call.kind == CallKind::kSend || call.kind == CallKind::kRecv;
}

/// Sent messages, by sender and receiver.
using Mail = std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>>;

void Deliver(Mail& mail, int rank, const Call& call, std::vector<Result>& results) {
  auto& from_peer = mail[{call.peer, rank}];
  if (from_peer.empty() || from_peer.front().size() != call.count * SizeOf(call.type)) {
    throw std::logic_error("rank " + std::to_string(rank) + " receives what was not sent");
  }
  results.push_back({call.out, std::move(from_peer.front())});
  from_peer.pop_front();
}

}  // namespace

std::vector<std::vector<Result>> Compute(const std::vector<std::vector<Call>>& calls_of_rank,
                                         const std::vector<Factors>& factors_of_rank) {
  const std::size_t ranks = calls_of_rank.size();
  std::vector<std::vector<Result>> results(ranks);
  std::vector<std::vector<const Call*>> collectives(ranks);
  Mail mail;
  for (std::size_t r = 0; r < ranks; ++r) {
    for (const Call& call : calls_of_rank[r]) {
      if (!IsPointToPoint(call)) collectives[r].push_back(&call);
      if (call.kind != CallKind::kSend) continue;
      mail[{static_cast<int>(r), call.peer}].push_back(
          Bytes(call.in, call.count * SizeOf(call.type)));
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    if (collectives[r].size() != collectives[0].size()) {
      throw std::logic_error("ranks 0 and " + std::to_string(r) + " call unequally often");
    }
    for (const Call& call : calls_of_rank[r]) {
      if (call.kind == CallKind::kRecv) Deliver(mail, static_cast<int>(r), call, results[r]);
    }
  }
  for (std::size_t c = 0; c < collectives[0].size(); ++c) {
    std::vector<const Call*> calls;
    for (const auto& of_rank : collectives) calls.push_back(of_rank[c]);
    OneCollective(std::move(calls), factors_of_rank).Run(results);
  }
  return results;
}

}  // namespace weir::emulated
