#include "weir/engine.h"

#include <span>
#include <string>
#include <utility>

#include "plugins/c/handles.h"
#include "plugins/c/status.h"
#include "plugins/c/views.h"
#include "weir/error.h"
#include "weir/version.h"
#include "weir/weir.h"

// The engine's functions of weir.h.

namespace weir::c {
namespace {

Engine& In(weir_engine* engine) {
  Need(engine, "engine");
  return *engine->engine;
}

std::string NameOf(const char* name) {
  Need(name, "name");
  return name;
}

ReduceOptions OptionsOf(const weir_reduce_options* given) {
  const weir_reduce_options known = Known(given, weir_reduce_options WEIR_REDUCE_OPTIONS_INIT);
  NeedZero(known.reserved);
  return {.op = OpOf(known.op),
          .prescale = known.prescale,
          .postscale = known.postscale,
          .priority = known.priority,
          .owner = nullptr,
          .process_set = known.process_set};
}

/// Writes `submit`'s handle, once it has succeeded.
template <typename Submit>
weir_status Submitted(const char* call, weir_handle* handle, const Submit& submit) {
  return StatusOf(call, [&] {
    Need(handle, "handle");
    *handle = submit();
  });
}

}  // namespace
}  // namespace weir::c

using weir::Handle;
using weir::c::In;
using weir::c::Need;
using weir::c::StatusOf;
using weir::c::Submitted;

const char* weir_version() { return weir::Version(); }

weir_status weir_init(weir_engine** engine) {
  return StatusOf("weir_init", [&] {
    Need(engine, "engine");
    auto made = std::make_unique<weir_engine>(weir_engine{weir::Engine::Create()});
    *engine = made.release();
  });
}

weir_status weir_shutdown(weir_engine* engine) {
  const std::unique_ptr<weir_engine> owned(engine);
  if (!owned) return WEIR_OK;
  return StatusOf("weir_shutdown", [&] { owned->engine->Shutdown(); });
}

weir_status weir_abort(weir_engine* engine, const char* reason) {
  return StatusOf("weir_abort", [&] {
    Need(reason, "reason");
    In(engine).Abort(reason);
  });
}

int32_t weir_rank(const weir_engine* engine) {
  return engine == nullptr ? -1 : engine->engine->rank();
}
int32_t weir_size(const weir_engine* engine) {
  return engine == nullptr ? -1 : engine->engine->size();
}
int32_t weir_local_rank(const weir_engine* engine) {
  return engine == nullptr ? -1 : engine->engine->local_rank();
}
int32_t weir_local_size(const weir_engine* engine) {
  return engine == nullptr ? -1 : engine->engine->local_size();
}
int32_t weir_epoch(const weir_engine* engine) {
  return engine == nullptr ? -1 : engine->engine->epoch();
}
int32_t weir_hosts_updated(const weir_engine* engine) {
  if (engine == nullptr) return -1;
  return engine->engine->hosts_updated() ? 1 : 0;
}

weir_status weir_set_ready(weir_engine* engine) {
  return StatusOf("weir_set_ready", [&] { In(engine).SetReady(); });
}

weir_status weir_allreduce(weir_engine* engine, const char* name, const weir_array* in,
                           const weir_array* out, const weir_reduce_options* options,
                           weir_handle* handle) {
  return Submitted("weir_allreduce", handle, [&] {
    return In(engine).Allreduce(weir::c::NameOf(name), weir::c::ViewOf(in, "in"),
                                weir::c::ViewOf(out, "out"), weir::c::OptionsOf(options));
  });
}

weir_status weir_broadcast(weir_engine* engine, const char* name, const weir_array* array,
                           int32_t root, int32_t process_set, weir_handle* handle) {
  return Submitted("weir_broadcast", handle, [&] {
    return In(engine).Broadcast(weir::c::NameOf(name), weir::c::ViewOf(array, "array"), root,
                                nullptr, process_set);
  });
}

weir_status weir_allgather(weir_engine* engine, const char* name, const weir_array* in,
                           weir_allocate allocate, void* context, int32_t process_set,
                           weir_handle* handle) {
  return Submitted("weir_allgather", handle, [&] {
    return In(engine).Allgather(weir::c::NameOf(name), weir::c::ViewOf(in, "in"),
                                weir::c::AllocatorOf(allocate, context), nullptr, process_set);
  });
}

weir_status weir_alltoall(weir_engine* engine, const char* name, const weir_array* in,
                          const int64_t* splits, int32_t ranks, weir_allocate allocate,
                          void* context, int32_t process_set, weir_handle* handle) {
  return Submitted("weir_alltoall", handle, [&] {
    if (splits != nullptr && ranks <= 0) {
      throw weir::InvalidArgument("splits without ranks: give one number for each");
    }
    const auto count = static_cast<std::size_t>(splits == nullptr ? 0 : ranks);
    return In(engine).Alltoall(weir::c::NameOf(name), weir::c::ViewOf(in, "in"),
                               std::span(splits, count), weir::c::AllocatorOf(allocate, context),
                               nullptr, process_set);
  });
}

weir_status weir_reducescatter(weir_engine* engine, const char* name, const weir_array* in,
                               weir_allocate allocate, void* context,
                               const weir_reduce_options* options, weir_handle* handle) {
  return Submitted("weir_reducescatter", handle, [&] {
    return In(engine).Reducescatter(weir::c::NameOf(name), weir::c::ViewOf(in, "in"),
                                    weir::c::AllocatorOf(allocate, context),
                                    weir::c::OptionsOf(options));
  });
}

weir_status weir_barrier(weir_engine* engine, const char* name, int32_t process_set,
                         weir_handle* handle) {
  return Submitted("weir_barrier", handle,
                   [&] { return In(engine).Barrier(weir::c::NameOf(name), process_set); });
}

weir_status weir_join(weir_engine* engine, int32_t process_set, int32_t* last) {
  return StatusOf("weir_join", [&] {
    Need(last, "last");
    *last = In(engine).Join(process_set);
  });
}

weir_status weir_wait(weir_engine* engine, weir_handle handle) {
  return StatusOf("weir_wait", [&] { In(engine).Wait(handle); });
}

weir_status weir_poll(weir_engine* engine, weir_handle handle, int32_t* done) {
  return StatusOf("weir_poll", [&] {
    Need(done, "done");
    *done = In(engine).Poll(handle) ? 1 : 0;
  });
}

weir_status weir_add_process_set(weir_engine* engine, const int32_t* ranks, int32_t count,
                                 int32_t* process_set) {
  return StatusOf("weir_add_process_set", [&] {
    Need(ranks, "ranks");
    Need(process_set, "process_set");
    *process_set =
        In(engine).AddProcessSet(std::span(ranks, static_cast<std::size_t>(std::max(count, 0))));
  });
}

weir_status weir_remove_process_set(weir_engine* engine, int32_t process_set) {
  return StatusOf("weir_remove_process_set", [&] { In(engine).RemoveProcessSet(process_set); });
}

weir_status weir_explain(const weir_engine* engine, weir_write write, void* context) {
  return StatusOf("weir_explain", [&] {
    Need(engine, "engine");
    weir::c::WriteAll(engine->engine->Explain(), write, context);
  });
}
