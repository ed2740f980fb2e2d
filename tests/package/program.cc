#include <cstdio>
#include <vector>

#include "weir/tensor.h"

int main() {
  std::vector<float> gradient(15);
  const weir::TensorView view = weir::ViewOf(std::span<float>(gradient));
  std::printf("%s %s\n", std::string(weir::Name(view.dtype)).c_str(),
              view.shape.ToString().c_str());
  return view.bytes() == 60 ? 0 : 1;
}
