#pragma once

namespace weir {

/// Number of steps in which kernels are compared with the CPU. AddressSanitizer slows the emulated
/// GPU twentyfold; it looks at memory, all of which the first steps touch.
#ifdef __SANITIZE_ADDRESS__
inline constexpr int kComparedSteps = 40;
#else
inline constexpr int kComparedSteps = 200;
#endif

}  // namespace weir
