#include "launcher/text/printable.h"

#include <algorithm>
#include <cstddef>

namespace weir::launcher {

std::string Printable(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string printable(text.substr(0, kMost));
  const auto is_odd = [](char c) { return c < ' ' || c > '~'; };
  std::ranges::replace_if(printable, is_odd, '?');
  return text.size() > kMost ? printable + "..." : printable;
}

}  // namespace weir::launcher
