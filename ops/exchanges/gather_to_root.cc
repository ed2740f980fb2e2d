#include "ops/exchanges/gather_to_root.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/byte_stream.h"
#include "common/check.h"
#include "weir/error.h"

namespace weir {

namespace {

constexpr std::size_t kMostGatheredBytes = std::size_t{1} << 30;
/// Bytes beside the message of a Said, with one range for each of its ranks.
constexpr std::size_t kAround = 16;
constexpr std::size_t kLeastSaid = 16;

/// Ranks in the part of the tree from `rank` on, which are consecutive.
int RanksFrom(int rank, int size) {
  if (rank == 0) return size;
  return std::min(rank & -rank, size - rank);
}

std::string_view TextOf(std::span<const std::byte> message) {
  return {reinterpret_cast<const char*>(message.data()), message.size()};
}

/// Adds ranks behind those that are there.
void Append(GatherToRoot::Said::Range range, std::vector<GatherToRoot::Said::Range>& ranks) {
  if (!ranks.empty() && ranks.back().first + ranks.back().count == range.first) {
    ranks.back().count += range.count;
  } else {
    ranks.push_back(range);
  }
}

}  // namespace

GatherToRoot::GatherToRoot(Transport& transport, std::size_t max_bytes)
    : transport_(transport), max_bytes_(max_bytes) {
  WEIR_CHECK(max_bytes <= kMostGatheredBytes);
  FindTreePosition(transport.rank(), transport.size(), 0, position_);
  // By rank, so that ranks are added in order.
  for (auto child = position_.children.rbegin(); child != position_.children.rend(); ++child) {
    const int ranks = RanksFrom(*child, transport.size());
    const std::size_t most = MostOf(ranks);
    children_.push_back({.rank = *child,
                         .ranks = ranks,
                         .most = most,
                         .buffer = std::make_unique_for_overwrite<std::byte[]>(most),
                         .receive = {}});
  }
}

std::size_t GatherToRoot::MostOf(int ranks) const {
  const std::size_t each = max_bytes_ + kAround;
  const auto of_all = static_cast<std::size_t>(ranks);
  return of_all > kMostGatheredBytes / each ? kMostGatheredBytes : of_all * each + kAround;
}

void GatherToRoot::Bind(std::span<const std::byte> message) {
  if (message.size() > max_bytes_) {
    throw InvalidArgument("a message of " + std::to_string(message.size()) +
                          " bytes is longer than the agreed bound of " +
                          std::to_string(max_bytes_));
  }
  message_ = message;
}

void GatherToRoot::Start(std::uint32_t operation) {
  operation_ = operation;
  merged_ = false;
  messages_.clear();
  for (Child& child : children_) {
    child.receive.Receive(transport_, child.rank, {operation, 0}, {child.buffer.get(), child.most});
  }
}

bool GatherToRoot::Poll() {
  if (!merged_) {
    bool all = true;
    for (Child& child : children_) all &= child.receive.Done(transport_);
    if (!all) return false;
    Merge();
    merged_ = true;
    if (position_.parent >= 0) {
      Write();
      messages_.clear();
      send_.Send(transport_, position_.parent, {operation_, 0}, up_);
    }
  }
  return send_.Done(transport_);
}

void GatherToRoot::Merge() {
  std::vector<Said> all = {{message_, {{transport_.rank(), 1}}}};
  for (const Child& child : children_) {
    try {
      Read(child, all);
    } catch (const Corrupt& error) {
      throw Corrupt(error.what(), {"", {transport_.JobRank(child.rank)}, "gather"});
    }
  }
  std::unordered_map<std::string_view, std::size_t> places;
  for (Said& said : all) {
    const auto [place, is_new] = places.emplace(TextOf(said.message), messages_.size());
    if (is_new) {
      messages_.push_back(std::move(said));
      continue;
    }
    for (const Said::Range range : said.ranks) Append(range, messages_[place->second].ranks);
  }
}

void GatherToRoot::Read(const Child& child, std::vector<Said>& said) const {
  const std::string what =
      "what rank " + std::to_string(transport_.JobRank(child.rank)) + " passes on in a gather";
  ByteReader in(std::span<const std::byte>(child.buffer.get(), child.receive.bytes()), what);
  const std::uint32_t count = in.GetCount(kLeastSaid);
  int ranks = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Said one;
    int end = child.rank;
    const std::uint32_t ranges = in.GetCount(sizeof(Said::Range));
    for (std::uint32_t r = 0; r < ranges; ++r) {
      const Said::Range range{in.Get<std::int32_t>(), in.Get<std::int32_t>()};
      const bool fits = range.first >= end && range.count > 0 &&
                        range.count <= child.rank + child.ranks - range.first;
      if (!fits) in.Fail("ranks that are not below it, or out of order");
      end = range.first + range.count;
      ranks += range.count;
      one.ranks.push_back(range);
    }
    const auto length = in.Get<std::uint32_t>();
    if (length > max_bytes_) in.Fail("a message that is longer than agreed");
    one.message = in.GetBytes(length);
    said.push_back(std::move(one));
  }
  in.ExpectEnd();
  if (ranks != child.ranks) in.Fail("messages of too few ranks, or too many");
}

void GatherToRoot::Write() {
  ByteWriter out;
  out.Put(static_cast<std::uint32_t>(messages_.size()));
  for (const Said& said : messages_) {
    out.Put(static_cast<std::uint32_t>(said.ranks.size()));
    for (const Said::Range range : said.ranks) {
      out.Put(static_cast<std::int32_t>(range.first));
      out.Put(static_cast<std::int32_t>(range.count));
    }
    out.Put(static_cast<std::uint32_t>(said.message.size()));
    out.PutBytes(said.message);
  }
  up_ = out.Take();
  const std::size_t most = MostOf(RanksFrom(transport_.rank(), transport_.size()));
  if (up_.size() > most) {
    throw InvalidArgument(
        "the ranks from " + std::to_string(transport_.JobRank(transport_.rank())) +
        " on ask for so much at once that it takes " + std::to_string(up_.size()) +
        " bytes to say; at most " + std::to_string(most) + " can be passed on");
  }
}

void GatherToRoot::Cancel() {
  send_.Cancel(transport_);
  for (Child& child : children_) child.receive.Cancel(transport_);
  merged_ = true;
}

}  // namespace weir
