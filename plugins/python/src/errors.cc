#include <exception>
#include <string>

#include "plugins/python/src/bindings.h"
#include "weir/error.h"

namespace weir::python {
namespace {

namespace nb = nanobind;

// Programs for Horovod look for this text in errors that end a job.
constexpr const char* kShutDown =
    "Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt "
    "to use the job after one of them had left: ";

/// Raises the class of weir.errors of that name, with the context as attributes.
void Raise(const char* name, const Error& error, const std::string& stem = "") {
  const nb::object type = nb::module_::import_("weir.errors").attr(name);
  const nb::object value = type(stem + error.what());
  value.attr("tensor") = error.context().tensor;
  value.attr("ranks") = error.context().ranks;
  value.attr("phase") = error.context().phase;
  PyErr_SetObject(type.ptr(), value.ptr());
}

}  // namespace

void BindErrors(nb::module_&) {
  nb::register_exception_translator([](const std::exception_ptr& pending, void*) {
    try {
      std::rethrow_exception(pending);
    } catch (const InvalidArgument& error) {
      Raise("InvalidArgument", error);
    } catch (const Mismatch& error) {
      Raise("Mismatch", error);
    } catch (const PeerLost& error) {
      Raise("PeerLost", error, kShutDown);
    } catch (const TimedOut& error) {
      Raise("TimedOut", error);
    } catch (const Corrupt& error) {
      Raise("Corrupt", error);
    } catch (const ShutDown& error) {
      Raise("ShutDown", error, kShutDown);
    } catch (const Error& error) {
      Raise("HorovodInternalError", error);
    }
  });
}

}  // namespace weir::python
