#pragma once

#include <memory>

#include "weir/engine.h"
#include "weir/gradient_group.h"
#include "weir/weir.h"

/// What the pointers of weir.h point to.
struct weir_engine {
  std::unique_ptr<weir::Engine> engine;
};
struct weir_gradients {
  std::unique_ptr<weir::GradientGroup> group;
};
