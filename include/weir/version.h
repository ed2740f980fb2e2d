#pragma once

namespace weir {

/// The version of this library, such as "0.1.0". Thread-safe.
const char* Version();

}  // namespace weir
