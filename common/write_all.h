#pragma once

#include <string_view>

namespace weir {

/// All of a text, however many calls it takes; waits where the descriptor does not block. Returns
/// errno of the first failure, 0 for success: a part of it may be written then.
int WriteAll(int fd, std::string_view text);

}  // namespace weir
