#include "plugins/cpp/replicas.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <utility>

#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kSumsOfOne = 4;
constexpr std::int64_t kHalf = 1 << 16;

std::vector<std::int64_t> SumOverRanks(Engine& engine, const std::string& name,
                                       std::vector<std::int64_t> values, int process_set) {
  const TensorView view = ViewOf(std::span(values));
  engine.Wait(
      engine.Allreduce(name, view, view, {.op = ReduceOp::kSum, .process_set = process_set}));
  return values;
}

/// Returns true if n numbers are equal, from their sum and the sum of their squares
/// (Cauchy-Schwarz). Numbers below 2^16, at most 2^15 of them, do not overflow.
bool AreEqual(std::int64_t n, std::int64_t sum, std::int64_t of_squares) {
  return n * of_squares == sum * sum;
}

/// Returns the ranks that do not have the value of more than half of them; if no value has so many,
/// all of them. 0: a rank that has joined.
std::vector<int> ExceptMost(std::span<const int> ranks, std::span<const std::int64_t> values) {
  const auto taking_part = std::ranges::count_if(values, [](std::int64_t one) { return one != 0; });
  const auto most = std::ranges::find_if(values, [&](std::int64_t one) {
    return one != 0 && 2 * std::ranges::count(values, one) > taking_part;
  });
  std::vector<int> others;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const bool has_most = most != values.end() && values[i] == *most;
    if (values[i] != 0 && !has_most) others.push_back(ranks[i]);
  }
  return others;
}

}  // namespace

std::uint32_t ChecksumOf(std::span<const std::byte> bytes) {
  // The same bytes as of another type; zlib knows no std::byte.
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

void VerifyReplicas(Engine& engine, const std::string& name, std::span<const Replica> replicas,
                    std::int64_t steps, int process_set) {
  std::vector<std::int64_t> sums{1};  // Ranks that take part; then four for each tensor.
  for (const Replica& replica : replicas) {
    const std::int64_t checksum = replica.checksum;
    for (const std::int64_t half : {checksum % kHalf, checksum / kHalf}) {
      sums.insert(sums.end(), {half, half * half});
    }
  }
  sums = SumOverRanks(engine, name + "/replicas", std::move(sums), process_set);
  std::vector<std::size_t> differ;
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    const std::span of_one = std::span(sums).subspan(1 + i * kSumsOfOne, kSumsOfOne);
    const bool equal =
        AreEqual(sums[0], of_one[0], of_one[1]) && AreEqual(sums[0], of_one[2], of_one[3]);
    if (!equal) differ.push_back(i);
  }
  if (differ.empty()) return;

  // Only now does it matter who holds what.
  const std::vector<int> ranks = engine.ProcessSetRanks(process_set);
  const std::size_t first = differ.front();
  std::vector<std::int64_t> of_first(ranks.size());
  of_first[static_cast<std::size_t>(std::ranges::find(ranks, engine.rank()) - ranks.begin())] =
      std::int64_t{replicas[first].checksum} + 1;
  const std::vector<int> others = ExceptMost(
      ranks, SumOverRanks(engine, name + "/differing", std::move(of_first), process_set));
  throw Mismatch(
      fmt::format("after {} steps ranks have different parameters: '{}'{} on [{}] is not what it "
                  "is elsewhere. Broadcast the parameters before the first step, and let all "
                  "ranks change them alike: by the same steps, without random numbers or data of "
                  "one rank. Go on from a checkpoint in which they were equal",
                  steps, replicas[first].name,
                  differ.size() == 1 ? "" : fmt::format(" (and {} more)", differ.size() - 1),
                  fmt::join(others, ", ")),
      {replicas[first].name, others, "verify"});
}

}  // namespace weir
