#pragma once

#include <string>
#include <string_view>

namespace weir {

/// Returns the absolute path of a file or folder of the source tree, such as "docs/wire-format.md".
std::string TreePath(std::string_view path);
/// Returns the absolute path of what was built with these tests, such as "bin/weirrun".
std::string BuildPath(std::string_view path);

}  // namespace weir
