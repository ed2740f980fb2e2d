#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "coordinator/engine_impl.h"
#include "ops/local/membership.h"
#include "ops/local/transport.h"

namespace weir {

void RunLocal(int ranks, const std::function<void(Engine&)>& body, const Settings& settings) {
  if (ranks < 1) throw InvalidArgument("RunLocal needs at least one rank");
  local::Network network(ranks);
  local::MembershipHub hub(ranks);
  std::mutex mutex;
  std::exception_ptr first_error;
  {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(ranks));
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        const auto remember = [&] {
          std::lock_guard lock(mutex);
          if (!first_error) first_error = std::current_exception();
        };
        try {
          EngineImpl engine(settings, {.connect = [&, rank] { return network.Endpoint(rank); },
                                       .membership = hub.Member(rank),
                                       .local_rank = rank,
                                       .local_size = ranks,
                                       .host = "local"});
          try {
            body(engine);
          } catch (const std::exception& error) {
            remember();
            engine.Abort(error.what());
          }
        } catch (...) {
          remember();
        }
      });
    }
  }
  if (first_error) std::rethrow_exception(first_error);
}

}  // namespace weir
