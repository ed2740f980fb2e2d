#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weir {

/// Writes JSON as UTF-8, whatever is in it: names and settings come from the program and may hold
/// any bytes. Invalid bytes become U+FFFD. `indent`: spaces per level; -1: one line.
std::string JsonText(const nlohmann::ordered_json& value, int indent = -1);

}  // namespace weir
