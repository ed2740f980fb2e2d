#pragma once

#include <xla/ffi/api/c_api.h>

#include <map>
#include <string>

namespace weir::python {

using Handler = XLA_FFI_Error* (*)(XLA_FFI_CallFrame*);

/// What XLA calls on the CPU, by the names under which weir/jax/_calls.py registers them. None of
/// them waits: their futures do. Source: XLA's typed foreign function interface (xla/ffi/api).
std::map<std::string, Handler> OperationHandlers();
std::map<std::string, Handler> StepHandlers();

}  // namespace weir::python
