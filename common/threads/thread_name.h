#pragma once

#include <pthread.h>

#include <string>

namespace weir {

/// Names the calling thread for debuggers, `top -H` and traces. Linux keeps 15 letters.
inline void NameThread(const std::string& name) {
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
}

}  // namespace weir
