#include "ops/ucx/addresses.h"

#include <algorithm>
#include <span>

#include "common/byte_stream.h"
#include "weir/error.h"

namespace weir::ucx {
namespace {

std::vector<std::string> WorkersIn(const std::string& text, std::size_t begin) {
  ByteReader reader(std::as_bytes(std::span(text)).subspan(begin), "the addresses of a rank");
  std::vector<std::string> workers;
  while (!reader.at_end()) workers.push_back(reader.GetString());
  if (workers.empty()) reader.Fail("there are none");
  return workers;
}

}  // namespace

std::string AddressText(const std::string& version, const std::vector<std::string>& workers) {
  ByteWriter writer;
  for (const std::string& worker : workers) writer.PutString(worker);
  const auto bytes = writer.bytes();
  return version + " " + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::vector<std::vector<std::string>> ReadAddressTexts(const std::vector<std::string>& ranks) {
  std::vector<std::vector<std::string>> all;
  std::string first;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::size_t end = std::min(ranks[rank].find(' '), ranks[rank].size());
    const std::string version = ranks[rank].substr(0, end);
    if (rank == 0) first = version;
    if (version != first) {
      throw InvalidArgument("rank 0 has UCX " + first + " and rank " + std::to_string(rank) +
                            " has " + version +
                            ", which do not understand each other: install one version on all "
                            "hosts (WEIR_UCX_LIBRARY)");
    }
    const std::vector<std::string> workers =
        WorkersIn(ranks[rank], std::min(end + 1, ranks[rank].size()));
    all.resize(rank == 0 ? workers.size() : std::min(all.size(), workers.size()));
    for (std::size_t i = 0; i < all.size(); ++i) all[i].push_back(workers[i]);
  }
  return all;
}

}  // namespace weir::ucx
