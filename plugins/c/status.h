#pragma once

#include <functional>
#include <string_view>

#include "weir/weir.h"

namespace weir::c {

/// Does `work`, and returns what became of it. Keeps the sentence of its exception for
/// weir_last_error. `call` names the caller there.
weir_status StatusOf(const char* call, const std::function<void()>& work);

/// Gives `bytes` to the caller. Throws InvalidArgument where that fails.
void WriteAll(std::string_view bytes, weir_write write, void* context);

/// Throws InvalidArgument for a null pointer. `what`: its name in the header.
[[noreturn]] void ThrowNull(const char* what);
template <typename T>
void Need(const T* pointer, const char* what) {
  if (pointer == nullptr) ThrowNull(what);
}

}  // namespace weir::c
