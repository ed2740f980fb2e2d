#pragma once

#include <QSignalSpy>
#include <QTest>

#include "monitor_gui/window/session.h"

namespace weir::monitor {

/// Returns the number of steps of a rank in a session.
inline std::size_t Steps(Session& session, int rank) {
  return session.run().Read([rank](const Run& run) {
    const auto found = run.ranks().find(rank);
    return found == run.ranks().end() ? std::size_t{0} : found->second.steps().size();
  });
}

inline RankLink::State StateOf(Session& session, int rank) {
  return session.run().Read([rank](const Run& run) {
    const auto found = run.links().find(rank);
    return found == run.links().end() ? RankLink::State::kConnecting : found->second.state;
  });
}

/// Reads a recording to its end.
inline void ReadWhole(Session& session) {
  QSignalSpy finished(&session, &Session::Finished);
  session.Start();
  QTRY_COMPARE(finished.size(), 1);
}

}  // namespace weir::monitor
