#include "launcher/job/meeting.h"

#include <algorithm>
#include <utility>

#include "common/supervision/addresses.h"

namespace weir::launcher {

using supervision::Message;
using supervision::MessageType;

std::vector<Message> Meeting::Bring(int rank, const std::string& address) {
  addresses_[static_cast<std::size_t>(rank)] = address;
  if (std::ranges::any_of(addresses_, &std::string::empty)) return {};
  const auto all = std::exchange(addresses_, std::vector<std::string>(addresses_.size()));
  const std::vector<std::string> texts = supervision::AddressTexts(all);
  std::vector<Message> messages;
  for (int to = 0; std::cmp_less(to, all.size()); ++to) {
    for (const std::string& text : texts) {
      messages.push_back({.type = MessageType::kAddresses,
                          .rank = to,
                          .code = static_cast<int>(all.size()),
                          .text = text});
    }
  }
  return messages;
}

}  // namespace weir::launcher
