#pragma once

#include <memory>

#include "weir/engine.h"
#include "weir/gradient_group.h"
#include "weir/weir.h"

/// What the pointers of weir.h point to.
struct weir_engine {
  std::shared_ptr<weir::Engine> engine;
};
struct weir_gradients {
  std::shared_ptr<weir::Engine> engine;  ///< Outlives the group, also after weir_shutdown.
  std::unique_ptr<weir::GradientGroup> group;
};
