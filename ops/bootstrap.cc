#include "ops/bootstrap.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "ops/local/transport.h"
#include "ops/mpi/session.h"
#include "ops/mpi/transport.h"

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

Bootstrap::Bootstrap() {
  if (JobHasSeveralRanks()) session_ = std::make_shared<mpi::Session>();
}

Bootstrap::~Bootstrap() = default;

std::unique_ptr<Transport> Bootstrap::Connect(std::chrono::milliseconds timeout) {
  if (session_) return std::make_unique<mpi::Transport>(session_, timeout);
  return local::Network(1).Endpoint(0);
}

void Bootstrap::Abandon() {
  if (session_) session_->Abandon();
}

}  // namespace weir
