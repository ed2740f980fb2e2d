#pragma once

#include <exception>
#include <string_view>

#include "weir/weir.h"

namespace weir::c {

/// Keeps the sentence of an exception for weir_last_error, `call` in front, and returns its status.
/// Null: it was no std::exception.
weir_status Failed(const char* call, const std::exception* error) noexcept;

/// Does `work`, and returns what became of it. `call` names the caller.
template <typename Work>
weir_status StatusOf(const char* call, const Work& work) noexcept {
  try {
    work();
    return WEIR_OK;
  } catch (const std::exception& error) {
    return Failed(call, &error);
  } catch (...) {
    return Failed(call, nullptr);
  }
}

/// Gives `bytes` to the caller. Throws InvalidArgument where that fails.
void WriteAll(std::string_view bytes, weir_write write, void* context);

/// Throws InvalidArgument for a null pointer. `what`: its name in the header.
[[noreturn]] void ThrowNull(const char* what);
template <typename T>
void Need(const T* pointer, const char* what) {
  if (pointer == nullptr) ThrowNull(what);
}

}  // namespace weir::c
