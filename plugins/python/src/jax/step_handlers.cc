#include <cstdint>
#include <memory>
#include <vector>

#include "plugins/python/src/jax/buffers.h"
#include "plugins/python/src/jax/handlers.h"
#include "plugins/python/src/jax/reach.h"
#include "weir/error.h"

namespace weir::python {
namespace {

namespace ffi = xla::ffi;

/// Does what takes no time.
template <typename Call>
ffi::Error AtOnce(std::int64_t steps, const Call& call) {
  try {
    call(*Reach::OfProcess().StepsOf(steps));
    return ffi::Error::Success();
  } catch (...) {
    return CurrentError();
  }
}

/// The result, which has no meaning, is an input of what must come later.
ffi::Error BeginStep(std::int64_t steps, ffi::BufferR0<ffi::S32> step,
                     ffi::BufferR0<ffi::F32> learning_rate, ffi::ResultBufferR0<ffi::S32> begun) {
  *begun->typed_data() = 0;
  return AtOnce(steps,
                [&](Steps& self) { self.Begin(*step.typed_data(), *learning_rate.typed_data()); });
}

/// `pending` takes the gradient's memory.
ffi::Error SubmitGradient(std::int64_t steps, std::int64_t index, ffi::AnyBuffer,
                          ffi::BufferR0<ffi::S32>, ffi::Result<ffi::AnyBuffer> pending) {
  return AtOnce(
      steps, [&](Steps& self) { self.Submit(static_cast<std::size_t>(index), ViewOf(pending)); });
}

/// Takes what Submit gave, in the order of the registration. The results take their memory; the
/// last one is whether the step was skipped.
ffi::Future CollectUpdates(std::int64_t number, ffi::RemainingArgs pending,
                           ffi::RemainingRets results) {
  try {
    Reach& reach = Reach::OfProcess();
    const std::shared_ptr<Steps> steps = reach.StepsOf(number);
    std::vector<void*> updates;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      updates.push_back(At(results, i).untyped_data());
    }
    auto* skipped = static_cast<bool*>(At(results, pending.size()).untyped_data());
    return reach.completions().Begun(
        [steps, wait = steps->Collect(updates), skipped] { *skipped = wait().skipped; });
  } catch (...) {
    return Completions::Failed();
  }
}

auto OfSteps() { return ffi::Ffi::Bind().Attr<std::int64_t>("steps"); }

XLA_FFI_DEFINE_HANDLER(begin, BeginStep,
                       OfSteps()
                           .Arg<ffi::BufferR0<ffi::S32>>()
                           .Arg<ffi::BufferR0<ffi::F32>>()
                           .Ret<ffi::BufferR0<ffi::S32>>());
XLA_FFI_DEFINE_HANDLER(submit, SubmitGradient,
                       OfSteps()
                           .Attr<std::int64_t>("index")
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::BufferR0<ffi::S32>>()
                           .Ret<ffi::AnyBuffer>());
XLA_FFI_DEFINE_HANDLER(collect, CollectUpdates, OfSteps().RemainingArgs().RemainingRets());

}  // namespace

std::map<std::string, Handler> StepHandlers() {
  return {{"begin", begin}, {"submit", submit}, {"collect", collect}};
}

}  // namespace weir::python
