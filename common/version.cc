#include "weir/version.h"

namespace weir {

const char* Version() { return WEIR_VERSION; }

}  // namespace weir
