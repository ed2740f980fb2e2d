#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/python/src/jax/buffers.h"
#include "plugins/python/src/jax/handlers.h"
#include "plugins/python/src/jax/reach.h"
#include "weir/engine.h"
#include "weir/error.h"

namespace weir::python {
namespace {

namespace ffi = xla::ffi;
using Out = ffi::Result<ffi::AnyBuffer>;

/// Submits an operation, and returns the future of its end.
ffi::Future Started(const std::function<Handle(Engine&)>& submit) {
  try {
    Reach& reach = Reach::OfProcess();
    std::shared_ptr<Engine> engine = reach.engine();
    const Handle handle = submit(*engine);
    return reach.completions().Begun(
        [engine = std::move(engine), handle] { engine->Wait(handle); });
  } catch (...) {
    return Completions::Failed();
  }
}

/// Returns `out`'s memory, for a result that must have its shape: a compiled program knows it
/// beforehand.
AllocateOutput MemoryOf(const Out& out) {
  return [view = ViewOf(out)](const Shape& shape, std::span<const std::int64_t>) {
    if (shape == view.shape) return view.data;
    throw InvalidArgument("the result has the shape " + shape.ToString() +
                          ", and the program was compiled for " + view.shape.ToString() +
                          ": inside jax.jit all ranks give the same number of rows; "
                          "weir.numpy has the operation for others");
  };
}

ReduceOptions ReduceOptionsOf(std::int64_t op, double prescale, double postscale,
                              std::int64_t set) {
  return {.op = static_cast<ReduceOp>(op),
          .prescale = prescale,
          .postscale = postscale,
          .process_set = static_cast<int>(set)};
}

/// Of any number of arrays.
ffi::Future Allreduce(std::string_view name, std::int64_t op, double prescale, double postscale,
                      std::int64_t set, ffi::RemainingArgs in, ffi::RemainingRets out) {
  return Started([&](Engine& engine) {
    std::vector<Engine::ReduceTensor> tensors;
    for (std::size_t i = 0; i < in.size(); ++i) {
      tensors.push_back({ViewOf(At(in, i)), ViewOf(At(out, i))});
    }
    return engine.GroupedAllreduce(std::string(name), tensors,
                                   ReduceOptionsOf(op, prescale, postscale, set));
  });
}

ffi::Future Allgather(std::string_view name, std::int64_t set, ffi::AnyBuffer in, Out out) {
  return Started([&](Engine& engine) {
    return engine.Allgather(std::string(name), ViewOf(in), MemoryOf(out), nullptr,
                            static_cast<int>(set));
  });
}

ffi::Future Alltoall(std::string_view name, std::int64_t set, ffi::AnyBuffer in, Out out) {
  return Started([&](Engine& engine) {
    return engine.Alltoall(std::string(name), ViewOf(in), {}, MemoryOf(out), nullptr,
                           static_cast<int>(set));
  });
}

ffi::Future Reducescatter(std::string_view name, std::int64_t op, double prescale, double postscale,
                          std::int64_t set, ffi::AnyBuffer in, Out out) {
  return Started([&](Engine& engine) {
    return engine.Reducescatter(std::string(name), ViewOf(in), MemoryOf(out),
                                ReduceOptionsOf(op, prescale, postscale, set));
  });
}

/// The result takes the input's memory.
ffi::Future Broadcast(std::string_view name, std::int64_t root, std::int64_t set, ffi::AnyBuffer,
                      Out out) {
  return Started([&](Engine& engine) {
    return engine.Broadcast(std::string(name), ViewOf(out), static_cast<int>(root), nullptr,
                            static_cast<int>(set));
  });
}

auto Named() { return ffi::Ffi::Bind().Attr<std::string_view>("name"); }
auto Reducing() {
  return Named()
      .Attr<std::int64_t>("op")
      .Attr<double>("prescale")
      .Attr<double>("postscale")
      .Attr<std::int64_t>("process_set");
}
auto Moving() {
  return Named().Attr<std::int64_t>("process_set").Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>();
}

XLA_FFI_DEFINE_HANDLER(kAllreduce, Allreduce, Reducing().RemainingArgs().RemainingRets());
XLA_FFI_DEFINE_HANDLER(kAllgather, Allgather, Moving());
XLA_FFI_DEFINE_HANDLER(kAlltoall, Alltoall, Moving());
XLA_FFI_DEFINE_HANDLER(kReducescatter, Reducescatter,
                       Reducing().Arg<ffi::AnyBuffer>().Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER(kBroadcast, Broadcast,
                       Named()
                           .Attr<std::int64_t>("root")
                           .Attr<std::int64_t>("process_set")
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>());

}  // namespace

std::map<std::string, Handler> OperationHandlers() {
  return {{"allreduce", kAllreduce},
          {"allgather", kAllgather},
          {"alltoall", kAlltoall},
          {"reducescatter", kReducescatter},
          {"broadcast", kBroadcast}};
}

}  // namespace weir::python
