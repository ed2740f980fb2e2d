#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "ops/collectives/collective.h"
#include "ops/local/transport.h"
#include "ops/transport/transport.h"

namespace weir {

/// Starts the collective and polls it to its end.
inline void RunCollective(Collective& collective, std::uint32_t operation) {
  collective.Start(operation);
  while (!collective.Poll()) std::this_thread::yield();
}

using WrapTransport = std::function<std::unique_ptr<Transport>(std::unique_ptr<Transport>)>;

/// Runs `body` on `ranks` threads, each with the transport that it makes. Rethrows the exception of
/// the lowest rank.
inline void RunRanksOver(const std::function<std::unique_ptr<Transport>(int rank)>& make, int ranks,
                         const std::function<void(Transport&)>& body) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          body(*make(rank));
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

/// The same over the network of threads, whose transports `wrap` may put into others.
inline void RunRanks(int ranks, const std::function<void(Transport&)>& body,
                     const WrapTransport& wrap = {}) {
  local::Network network(ranks);
  const auto make = [&](int rank) {
    std::unique_ptr<Transport> transport = network.Endpoint(rank);
    return wrap ? wrap(std::move(transport)) : std::move(transport);
  };
  RunRanksOver(make, ranks, body);
}

}  // namespace weir
