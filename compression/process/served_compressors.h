#pragma once

namespace weir {

/// Runs a compression process: makes compressors and works with them as the program at the other
/// end of `socket` asks, with that many threads, until that end is gone.
void ServeCompressors(int socket, int threads);

}  // namespace weir
