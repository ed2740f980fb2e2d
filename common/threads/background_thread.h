#pragma once

#include <sched.h>

namespace weir {

/// Lets the calling thread work behind the program's own. It gets its share of the cores, but when
/// woken it takes a free core, never one on which a running thread computes (SCHED_BATCH,
/// sched(7)). Without this the kernel tends to run a woken thread in the place of the one that woke
/// it, so that work which should overlap runs one after the other. No effect where it is not
/// allowed, or where the program has chosen a policy of its own.
inline void WorkInBackground() {
  const sched_param none{};
  if (sched_getscheduler(0) == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &none);
}

}  // namespace weir
