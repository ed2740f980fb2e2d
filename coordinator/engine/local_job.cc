#include "coordinator/engine/local_job.h"

#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "common/log.h"
#include "coordinator/engine/server_process.h"

namespace weir {

LocalJob::LocalJob(int ranks, Between between, int servers)
    : network_(ranks + servers),
      hub_(ranks + servers),
      between_(std::move(between)),
      servers_(servers),
      ranks_per_host_(ranks) {}

EngineEnvironment LocalJob::Environment(int rank) {
  const auto connect = [this, rank] {
    auto direct = network_.Endpoint(rank);
    return between_ ? between_(rank, std::move(direct)) : std::move(direct);
  };
  return {.connect = connect,
          .disconnect = nullptr,
          .membership = hub_.Member(rank),
          .local_rank = rank % ranks_per_host_,
          .local_size = ranks_per_host_,
          .host = "local"};
}

void LocalJob::Run(const std::function<void(Engine&)>& body, const Settings& given) {
  Settings settings = given;
  settings.servers = servers_;
  std::mutex mutex;
  std::exception_ptr first_error;
  {
    std::vector<std::jthread> threads;
    const int all = size() + servers_;
    threads.reserve(static_cast<std::size_t>(all));
    for (int rank = 0; rank < size(); ++rank) {
      threads.emplace_back([&, rank] {
        const auto remember = [&] {
          std::lock_guard lock(mutex);
          if (!first_error) first_error = std::current_exception();
        };
        Log::SetRankOfThread(rank);
        try {
          EngineImpl engine(settings, Environment(rank));
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
    for (int server = size(); server < all; ++server) {
      threads.emplace_back([&, server] {
        try {
          RunServer(settings, Environment(server));
        } catch (...) {
          std::lock_guard lock(mutex);
          if (!first_error) first_error = std::current_exception();
        }
      });
    }
  }
  if (first_error) std::rethrow_exception(first_error);
}

void RunLocal(int ranks, const std::function<void(Engine&)>& body, const Settings& settings) {
  if (ranks < 1) throw InvalidArgument("RunLocal needs at least one rank");
  if (!body) throw InvalidArgument("RunLocal needs a function to run");
  LocalJob(ranks, nullptr, settings.servers).Run(body, settings);
}

}  // namespace weir
