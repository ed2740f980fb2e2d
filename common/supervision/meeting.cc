#include "common/supervision/meeting.h"

#include <algorithm>
#include <utility>

#include "common/supervision/addresses.h"

namespace weir::supervision {

void Meeting::Bring(int rank, const std::string& address, const Send& send) {
  if (address.size() > kMaxAddress) return;
  addresses_[static_cast<std::size_t>(rank)] = address;
  if (std::ranges::any_of(addresses_, &std::string::empty)) return;
  const std::vector<std::string> texts =
      AddressTexts(std::exchange(addresses_, std::vector<std::string>(addresses_.size())));
  const int ranks = static_cast<int>(addresses_.size());
  for (int to = 0; to < ranks; ++to) {
    for (const std::string& text : texts) {
      send(to, {.type = MessageType::kAddresses, .rank = to, .code = ranks, .text = text});
    }
  }
}

}  // namespace weir::supervision
