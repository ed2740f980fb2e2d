#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "ops/collective.h"
#include "ops/local/transport.h"
#include "ops/transport.h"

namespace weir {

/// Starts the collective and polls it to its end.
inline void RunCollective(Collective& collective, std::uint32_t operation) {
  collective.Start(operation);
  while (!collective.Poll()) std::this_thread::yield();
}

/// Runs `body` on `ranks` threads, each with its transport. Throws what the lowest rank threw.
inline void RunRanks(int ranks, const std::function<void(Transport&)>& body) {
  local::Network network(ranks);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          const std::unique_ptr<Transport> transport = network.Endpoint(rank);
          body(*transport);
        } catch (...) {
          errors[static_cast<std::size_t>(rank)] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace weir
