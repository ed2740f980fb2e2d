#pragma once

#include "tests/emulated_gpu/runtime.h"  // IWYU pragma: export
