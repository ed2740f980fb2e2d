#pragma once

#include "ops/transport/transport.h"

namespace weir {

/// The network of this test program's job. One thread at a time.
Transport& JobTransport();

}  // namespace weir
