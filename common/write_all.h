#pragma once

#include <string_view>

namespace weir {

/// Writes all of a text, in as many calls as it takes; waits where the descriptor is non-blocking.
/// Returns errno of the first failure (a part may be written then), 0 for success.
int WriteAll(int fd, std::string_view text);

}  // namespace weir
