#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "coordinator/engine_impl.h"
#include "ops/local/membership.h"
#include "ops/local/transport.h"
#include "weir/engine.h"

namespace weir {

/// What a rank's call ended with, as text that begins with the error's type.
template <typename Call>
std::string ErrorOf(Call call) {
  try {
    call();
  } catch (const PeerLost& error) {
    return std::string("PeerLost: ") + error.what();
  } catch (const TimedOut& error) {
    return std::string("TimedOut: ") + error.what();
  } catch (const ShutDown& error) {
    return std::string("ShutDown: ") + error.what();
  } catch (const InvalidArgument& error) {
    return std::string("InvalidArgument: ") + error.what();
  }
  return "no error";
}

/// Ranks as threads whose hub a test can break.
class BreakableJob {
 public:
  explicit BreakableJob(int ranks, const Settings& settings = {})
      : size_(ranks), settings_(settings), network_(ranks), hub_(ranks) {}

  local::MembershipHub& hub() { return hub_; }

  void Run(const std::function<void(Engine&)>& body) {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size_; ++rank) {
      threads.emplace_back([&, rank] {
        EngineImpl engine(settings_, {.connect = [&, rank] { return network_.Endpoint(rank); },
                                      .membership = hub_.Member(rank),
                                      .local_rank = rank,
                                      .local_size = size_,
                                      .host = "local"});
        body(engine);
      });
    }
  }

 private:
  const int size_;
  const Settings settings_;
  local::Network network_;
  local::MembershipHub hub_;
};

inline Handle Reduce(Engine& engine, const std::string& name, std::vector<float>& values) {
  const TensorView view = ViewOf(std::span<float>(values));
  return engine.Allreduce(name, view, view);
}

}  // namespace weir
