#include "common/supervision/addresses.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "common/byte_stream.h"
#include "common/supervision/supervision.h"
#include "weir/error.h"

namespace weir::supervision {

std::vector<std::string> AddressTexts(const std::vector<std::string>& addresses) {
  std::vector<std::string> texts(1);
  for (const std::string& address : addresses) {
    ByteWriter writer;
    writer.PutString(address);
    const auto bytes = writer.bytes();
    if (texts.back().size() + bytes.size() > kMaxText) texts.emplace_back();
    texts.back().append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return texts;
}

void AppendAddresses(std::string_view text, std::size_t ranks,
                     std::vector<std::string>& addresses) {
  ByteReader reader(std::as_bytes(std::span(text)), "addresses of ranks");
  std::vector<std::string> more;
  while (!reader.at_end()) {
    more.push_back(reader.GetString());
    if (more.back().size() > kMaxAddress) reader.Fail("one is too long");
    if (addresses.size() + more.size() > ranks) reader.Fail("more than ranks");
  }
  std::ranges::move(more, std::back_inserter(addresses));
}

}  // namespace weir::supervision
