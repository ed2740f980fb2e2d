#include "weir/engine.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "coordinator/engine/programs_choice.h"
#include "plugins/cpp/replicas.h"
#include "plugins/python/src/bindings.h"
#include "plugins/python/src/gathered.h"
#include "plugins/python/src/job.h"

namespace weir::python {
namespace {

namespace nb = nanobind;
using nb::arg;

ReduceOptions OptionsOf(int op, double prescale, double postscale, int process_set) {
  return {.op = static_cast<ReduceOp>(op),
          .prescale = prescale,
          .postscale = postscale,
          .process_set = process_set};
}

Handle SubmitAllreduce(Job& job, const std::string& name, std::uintptr_t in, std::uintptr_t out,
                       int dtype, const Dims& dims, int op, double prescale, double postscale,
                       int process_set, const Place& place) {
  const auto type = static_cast<DType>(dtype);
  return job.engine()->Allreduce(name, ViewOf(in, type, dims, place),
                                 ViewOf(out, type, dims, place),
                                 OptionsOf(op, prescale, postscale, process_set));
}

/// `tensors`: names and checksums.
void VerifyReplicasOf(Job& job, const std::string& name,
                      const std::vector<std::pair<std::string, std::uint32_t>>& tensors,
                      std::int64_t steps, int process_set) {
  std::vector<Replica> replicas;
  for (const auto& [tensor, checksum] : tensors) replicas.push_back({tensor, checksum});
  VerifyReplicas(*job.engine(), name, replicas, steps, process_set);
}

Handle SubmitGroupedAllreduce(Job& job, const std::string& name,
                              const std::vector<std::uintptr_t>& in,
                              const std::vector<std::uintptr_t>& out,
                              const std::vector<int>& dtypes, const std::vector<Dims>& shapes,
                              int op, double prescale, double postscale, int process_set,
                              std::vector<Place> places) {
  places.resize(std::max(in.size(), places.size()), kOnCpu);
  std::vector<Engine::ReduceTensor> tensors;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto type = static_cast<DType>(dtypes.at(i));
    tensors.push_back({ViewOf(in[i], type, shapes.at(i), places[i]),
                       ViewOf(out.at(i), type, shapes.at(i), places[i])});
  }
  return job.engine()->GroupedAllreduce(name, tensors,
                                        OptionsOf(op, prescale, postscale, process_set));
}

Gathered SubmitAllgather(Job& job, const std::string& name, std::uintptr_t in, int dtype,
                         const Dims& dims, int process_set, const Place& place, nb::object make) {
  const auto type = static_cast<DType>(dtype);
  Gathered result(type, std::move(make));
  result.set_handle(job.engine()->Allgather(name, ViewOf(in, type, dims, place), result.Allocator(),
                                            nullptr, process_set));
  return result;
}

/// The tensors of a group from Python, and the functions that make their results.
struct Rows {
  std::vector<std::uintptr_t> in;
  std::vector<int> dtypes;
  std::vector<Dims> shapes;
  std::vector<Place> places;
  std::vector<nb::object> make;
};

/// Their results go to `results`.
std::vector<Engine::RowsTensor> RowsTensorsOf(Rows rows, std::vector<Gathered>& results) {
  std::vector<Engine::RowsTensor> tensors;
  rows.places.resize(rows.in.size(), kOnCpu);
  rows.make.resize(rows.in.size(), nb::none());
  for (std::size_t i = 0; i < rows.in.size(); ++i) {
    const auto type = static_cast<DType>(rows.dtypes.at(i));
    results.emplace_back(type, std::move(rows.make[i]));
    tensors.push_back(
        {ViewOf(rows.in[i], type, rows.shapes.at(i), rows.places[i]), results.back().Allocator()});
  }
  return tensors;
}

std::vector<Gathered> WithHandle(std::vector<Gathered> results, Handle handle) {
  for (Gathered& result : results) result.set_handle(handle);
  return results;
}

std::vector<Gathered> SubmitGroupedAllgather(Job& job, const std::string& name,
                                             std::vector<std::uintptr_t> in,
                                             std::vector<int> dtypes, std::vector<Dims> shapes,
                                             int process_set, std::vector<Place> places,
                                             std::vector<nb::object> make) {
  std::vector<Gathered> results;
  const auto tensors = RowsTensorsOf(
      {std::move(in), std::move(dtypes), std::move(shapes), std::move(places), std::move(make)},
      results);
  const Handle handle = job.engine()->GroupedAllgather(name, tensors, nullptr, process_set);
  return WithHandle(std::move(results), handle);
}

std::vector<Gathered> SubmitGroupedReducescatter(Job& job, const std::string& name,
                                                 std::vector<std::uintptr_t> in,
                                                 std::vector<int> dtypes, std::vector<Dims> shapes,
                                                 int op, double prescale, double postscale,
                                                 int process_set, std::vector<Place> places,
                                                 std::vector<nb::object> make) {
  std::vector<Gathered> results;
  const auto tensors = RowsTensorsOf(
      {std::move(in), std::move(dtypes), std::move(shapes), std::move(places), std::move(make)},
      results);
  const Handle handle = job.engine()->GroupedReducescatter(
      name, tensors, OptionsOf(op, prescale, postscale, process_set));
  return WithHandle(std::move(results), handle);
}

std::vector<Gathered> SubmitSparseAllreduce(Job& job, const std::string& name, const Dims& shape,
                                            std::uintptr_t indices, const Dims& indices_dims,
                                            std::uintptr_t values, int dtype,
                                            const Dims& values_dims, int op, double prescale,
                                            double postscale, int process_set,
                                            std::vector<Place> places,
                                            std::vector<nb::object> make) {
  std::vector<Gathered> results;
  auto tensors = RowsTensorsOf({.in = {indices, values},
                                .dtypes = {static_cast<int>(DType::kInt64), dtype},
                                .shapes = {indices_dims, values_dims},
                                .places = std::move(places),
                                .make = std::move(make)},
                               results);
  const Handle handle = job.engine()->SparseAllreduce(
      name, {Shape(shape), std::move(tensors[0]), std::move(tensors[1])},
      OptionsOf(op, prescale, postscale, process_set));
  return WithHandle(std::move(results), handle);
}

Gathered SubmitAlltoall(Job& job, const std::string& name, std::uintptr_t in, int dtype,
                        const Dims& dims, const Dims& splits, int process_set, const Place& place,
                        nb::object make) {
  const auto type = static_cast<DType>(dtype);
  Gathered result(type, std::move(make));
  result.set_handle(job.engine()->Alltoall(name, ViewOf(in, type, dims, place), splits,
                                           result.Allocator(), nullptr, process_set));
  return result;
}

Gathered SubmitReducescatter(Job& job, const std::string& name, std::uintptr_t in, int dtype,
                             const Dims& dims, int op, double prescale, double postscale,
                             int process_set, const Place& place, nb::object make) {
  const auto type = static_cast<DType>(dtype);
  Gathered result(type, std::move(make));
  result.set_handle(job.engine()->Reducescatter(name, ViewOf(in, type, dims, place),
                                                result.Allocator(),
                                                OptionsOf(op, prescale, postscale, process_set)));
  return result;
}

Handle SubmitBroadcast(Job& job, const std::string& name, std::uintptr_t data, int dtype,
                       const Dims& dims, int root, int process_set, const Place& place) {
  return job.engine()->Broadcast(name, ViewOf(data, static_cast<DType>(dtype), dims, place), root,
                                 nullptr, process_set);
}

}  // namespace

void BindEngine(nb::module_& module) {
  const nb::call_guard<nb::gil_scoped_release> blocking;
  nb::class_<Job>(module, "Job")
      .def(nb::init<std::string>(), arg("token") = "", blocking)
      .def_prop_ro("rank", [](Job& job) { return job.engine()->rank(); })
      .def_prop_ro("size", [](Job& job) { return job.engine()->size(); })
      .def_prop_ro("local_rank", [](Job& job) { return job.engine()->local_rank(); })
      .def_prop_ro("local_size", [](Job& job) { return job.engine()->local_size(); })
      .def_prop_ro("epoch", [](Job& job) { return job.engine()->epoch(); })
      .def("set_ready", [](Job& job) { job.engine()->SetReady(); })
      .def_prop_ro("hosts_updated", [](Job& job) { return job.engine()->hosts_updated(); })
      .def_prop_ro("default_compression",
                   [](Job& job) { return job.engine()->settings().compression; })
      .def(
          "check_programs_choice",
          [](Job& job, const std::string& owner, const CompressionOptions& choice, bool speaks) {
            CheckProgramsChoice(owner, choice, job.engine()->settings(), speaks);
          },
          arg("owner"), arg("choice"), arg("speaks"))
      .def_prop_ro("dropped_passes",
                   [](Job& job) { return job.engine()->settings().dropped_passes; })
      .def_prop_ro("verify_every", [](Job& job) { return job.engine()->settings().verify_every; })
      .def("verify_replicas", &VerifyReplicasOf, arg("name"), arg("tensors"), arg("steps"),
           arg("process_set") = 0, blocking)
      .def_prop_ro("strict", [](Job& job) { return job.engine()->settings().strict; })
      .def("allreduce", &SubmitAllreduce, arg("name"), arg("input"), arg("output"), arg("dtype"),
           arg("shape"), arg("op"), arg("prescale"), arg("postscale"), arg("process_set") = 0,
           arg("place") = kOnCpu)
      .def("grouped_allreduce", &SubmitGroupedAllreduce, arg("name"), arg("inputs"), arg("outputs"),
           arg("dtypes"), arg("shapes"), arg("op"), arg("prescale"), arg("postscale"),
           arg("process_set") = 0, arg("places") = std::vector<Place>())
      .def("allgather", &SubmitAllgather, arg("name"), arg("input"), arg("dtype"), arg("shape"),
           arg("process_set") = 0, arg("place") = kOnCpu, arg("make") = nb::none())
      .def("grouped_allgather", &SubmitGroupedAllgather, arg("name"), arg("inputs"), arg("dtypes"),
           arg("shapes"), arg("process_set") = 0, arg("places") = std::vector<Place>(),
           arg("make") = std::vector<nb::object>())
      .def("alltoall", &SubmitAlltoall, arg("name"), arg("input"), arg("dtype"), arg("shape"),
           arg("splits"), arg("process_set") = 0, arg("place") = kOnCpu, arg("make") = nb::none())
      .def("reducescatter", &SubmitReducescatter, arg("name"), arg("input"), arg("dtype"),
           arg("shape"), arg("op"), arg("prescale"), arg("postscale"), arg("process_set") = 0,
           arg("place") = kOnCpu, arg("make") = nb::none())
      .def("grouped_reducescatter", &SubmitGroupedReducescatter, arg("name"), arg("inputs"),
           arg("dtypes"), arg("shapes"), arg("op"), arg("prescale"), arg("postscale"),
           arg("process_set") = 0, arg("places") = std::vector<Place>(),
           arg("make") = std::vector<nb::object>())
      .def("sparse_allreduce", &SubmitSparseAllreduce, arg("name"), arg("shape"), arg("indices"),
           arg("indices_shape"), arg("values"), arg("dtype"), arg("values_shape"), arg("op"),
           arg("prescale"), arg("postscale"), arg("process_set") = 0,
           arg("places") = std::vector<Place>(), arg("make") = std::vector<nb::object>())
      .def("broadcast", &SubmitBroadcast, arg("name"), arg("data"), arg("dtype"), arg("shape"),
           arg("root"), arg("process_set") = 0, arg("place") = kOnCpu)
      .def(
          "barrier",
          [](Job& job, const std::string& name, int process_set) {
            return job.engine()->Barrier(name, process_set);
          },
          arg("name"), arg("process_set") = 0)
      .def(
          "join", [](Job& job, int process_set) { return job.engine()->Join(process_set); },
          arg("process_set") = 0, blocking)
      .def(
          "add_process_set",
          [](Job& job, const std::vector<int>& ranks) {
            return job.engine()->AddProcessSet(ranks);
          },
          arg("ranks"), blocking)
      .def(
          "remove_process_set", [](Job& job, int id) { job.engine()->RemoveProcessSet(id); },
          arg("id"), blocking)
      .def(
          "poll", [](Job& job, Handle handle) { return job.engine()->Poll(handle); }, arg("handle"))
      .def(
          "wait", [](Job& job, Handle handle) { job.engine()->Wait(handle); }, arg("handle"),
          blocking)
      .def(
          "wait_for",
          [](Job& job, Handle handle, double seconds) {
            return job.engine()->WaitFor(
                handle, std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
          },
          arg("handle"), arg("seconds"), blocking)
      .def(
          "explain", [](Job& job) { return job.engine()->Explain(); }, blocking)
      .def(
          "network_totals",
          [](Job& job) {
            const NetworkTotals totals = job.engine()->network_totals();
            return std::map<std::string, std::uint64_t>{
                {"sent_bytes", totals.sent_bytes},
                {"received_bytes", totals.received_bytes},
                {"sent_messages", totals.sent_messages},
                {"received_messages", totals.received_messages},
                {"negotiation_bytes", totals.negotiation_bytes}};
          },
          blocking)
      .def(
          "start_timeline",
          [](Job& job, const std::string& path, bool mark_cycles) {
            job.engine()->StartTimeline(path, mark_cycles);
          },
          arg("path"), arg("mark_cycles"), blocking)
      .def(
          "stop_timeline", [](Job& job) { job.engine()->StopTimeline(); }, blocking)
      .def(
          "abort", [](Job& job, const std::string& reason) { job.engine()->Abort(reason); },
          arg("reason"), blocking)
      .def("leave", &Job::Leave, blocking)
      .def("leave_at_exit", &Job::LeaveAtExit);
}

}  // namespace weir::python
