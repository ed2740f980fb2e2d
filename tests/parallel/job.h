#pragma once

#include "ops/transport.h"

namespace weir {

/// The network of the job that this test program is a rank of. One thread at a time.
Transport& JobTransport();

}  // namespace weir
