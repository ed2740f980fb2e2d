#include <cstdint>
#include <memory>
#include <utility>
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

/// The result has no meaning, too.
ffi::Error SubmitGradient(std::int64_t steps, std::int64_t index, ffi::AnyBuffer gradient,
                          ffi::BufferR0<ffi::S32>, ffi::ResultBufferR0<ffi::S32> submitted) {
  *submitted->typed_data() = 0;
  return AtOnce(
      steps, [&](Steps& self) { self.Submit(static_cast<std::size_t>(index), ViewOf(gradient)); });
}

/// Takes what the others gave. Its results are the updates, in the order of the registration; the
/// number of the next step, which can only begin then; and whether this one was skipped.
ffi::Future CollectUpdates(std::int64_t number, ffi::RemainingArgs, ffi::RemainingRets results) {
  try {
    Reach& reach = Reach::OfProcess();
    const std::shared_ptr<Steps> steps = reach.StepsOf(number);
    std::vector<void*> updates;
    for (std::size_t i = 0; i + 2 < results.size(); ++i) {
      updates.push_back(At(results, i).untyped_data());
    }
    auto* const next = static_cast<std::int32_t*>(At(results, updates.size()).untyped_data());
    auto* const skipped = static_cast<bool*>(At(results, updates.size() + 1).untyped_data());
    return reach.completions().Begun([wait = steps->Collect(std::move(updates)), next, skipped] {
      const StepReport report = wait();
      *next = static_cast<std::int32_t>(report.step + 1);
      *skipped = report.skipped;
    });
  } catch (...) {
    return Completions::Failed();
  }
}

auto OfSteps() { return ffi::Ffi::Bind().Attr<std::int64_t>("steps"); }

XLA_FFI_DEFINE_HANDLER(kBegin, BeginStep,
                       OfSteps()
                           .Arg<ffi::BufferR0<ffi::S32>>()
                           .Arg<ffi::BufferR0<ffi::F32>>()
                           .Ret<ffi::BufferR0<ffi::S32>>());
XLA_FFI_DEFINE_HANDLER(kSubmit, SubmitGradient,
                       OfSteps()
                           .Attr<std::int64_t>("index")
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::BufferR0<ffi::S32>>()
                           .Ret<ffi::BufferR0<ffi::S32>>());
XLA_FFI_DEFINE_HANDLER(kCollect, CollectUpdates, OfSteps().RemainingArgs().RemainingRets());

}  // namespace

std::map<std::string, Handler> StepHandlers() {
  return {{"begin", kBegin}, {"submit", kSubmit}, {"collect", kCollect}};
}

}  // namespace weir::python
