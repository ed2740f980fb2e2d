#pragma once

#include <sched.h>

namespace weir {

/// Lets the calling thread work behind the program's own: it gets its share of the cores, but when
/// something wakes it, it takes a free core and never the one on which a running thread computes
/// (SCHED_BATCH, sched(7)). Without this the kernel likes to run what a thread has woken in that
/// thread's place, and what should overlap comes one after the other. Where it is not allowed, or
/// the program has chosen a policy of its own, nothing changes.
inline void WorkInBackground() {
  const sched_param none{};
  if (sched_getscheduler(0) == SCHED_OTHER) sched_setscheduler(0, SCHED_BATCH, &none);
}

}  // namespace weir
