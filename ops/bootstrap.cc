#include "ops/bootstrap.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "ops/local/transport.h"
#include "ops/mpi/session.h"
#include "ops/mpi/transport.h"
#include "ops/ucx/context.h"
#include "ops/ucx/transport.h"
#include "ops/ucx/worker.h"
#include "weir/error.h"

namespace weir {

namespace {

/// Variables in which the launchers of the usual MPI libraries tell each process the job's size:
/// Hydra (MPICH, Intel MPI), Open MPI, Slurm.
constexpr std::array kSizeVariables = {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};
/// Set by launchers that require a query for the size.
constexpr std::array kLaunchVariables = {"PMI_FD", "PMIX_RANK"};

bool JobHasSeveralRanks() {
  for (const char* name : kSizeVariables) {
    if (const char* size = std::getenv(name)) return std::string_view(size) != "1";
  }
  return std::ranges::any_of(kLaunchVariables,
                             [](const char* name) { return std::getenv(name) != nullptr; });
}

}  // namespace

Bootstrap::Bootstrap(const Settings& settings, Rendezvous* rendezvous) : rendezvous_(rendezvous) {
  if (!JobHasSeveralRanks()) return;
  if (settings.transport != TransportKind::kUcx) {
    session_ = std::make_shared<mpi::Session>();
    return;
  }
  if (rendezvous == nullptr) {
    throw InvalidArgument(
        "the ranks of a job over UCX (WEIR_TRANSPORT=ucx) meet by weirrun, which has not started "
        "this one: start the program with weirrun, or take WEIR_TRANSPORT=mpi");
  }
  context_ = std::make_shared<ucx::Context>(ucx::Library::Load(settings.ucx_library));
}

Bootstrap::~Bootstrap() = default;

std::unique_ptr<Transport> Bootstrap::Connect(std::chrono::milliseconds timeout) {
  if (session_) return std::make_unique<mpi::Transport>(session_, timeout);
  if (context_) {
    auto worker = std::make_unique<ucx::Worker>(context_);
    Rendezvous::Meeting meeting = rendezvous_->Meet(worker->Address(), timeout);
    return std::make_unique<ucx::Transport>(std::move(worker), meeting.rank,
                                            std::move(meeting.addresses));
  }
  return local::Network(1).Endpoint(0);
}

void Bootstrap::Abandon() {
  if (session_) session_->Abandon();
}

}  // namespace weir
