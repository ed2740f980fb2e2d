#include "tests/compression/options/compression_reference.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "compression/make_compressor.h"

namespace weir {
namespace {

constexpr const char* kIntroduction =
    R"(# Compression options

Compression is chosen by a dictionary of strings, the same in every binding, for example

```text
{"compressor": "dgc", "density": "0.001", "momentum": "vanilla", "momentum_mu": "0.9"}
```

In C++ it is `GradientGroupSpec::compression` or `OptimizerOptions::compression`. On the command line of
an example and in `WEIR_COMPRESSION` the same is written `compressor=dgc,density=0.001`, a list of numbers
there in brackets: `sparsity=[0.75,0.999]`, or `dgc` alone. A key that the compressor does not know, or a
value that is not allowed, is an error that names the key, the value, what is allowed and, for a slip, the key that was meant.
Any key may have BytePS's prefix, which means nothing: `byteps_compressor=onebit` is `compressor=onebit`; behind it the names of BytePS's core are known, too
(`byteps_compressor_type`, `byteps_compressor_k`, `byteps_compressor_onebit_scaling`, `byteps_ef_type`, `byteps_momentum_type`). A key given both ways is an error.
Without a dictionary gradients are averaged as they are.

Every compressor, route and mode below is turned on by options alone, in a program that knows nothing of it. The one exception is `look_ahead` in Python, where
weights may be shifted while gradients are computed and at no other time: the program says when that is, `with optimizer.looking_ahead():`
([below](#beyond-the-paper)).

## What Weir may choose

`auto` stands for what takes least time, as measured while training: `auto`, `auto(dense,fp16,dgc)` in a text, or

```text
{"compressor": "auto", "choices": "dense,fp16,dgc", "density": "0.001"}
```

Without `choices` they are dense and fp16, and dgc too for an SGD with momentum; int8 may be named, and beside dgc push_pull, its entries by way of ranks that serve, as with `route=push_pull`. It means dgc, or else fp16, or else dense, with the others as its key `alternatives`:
forms in which gradients may travel in some steps. Where neither `route` nor a `policy` other than auto is given, and `values` are fp16 or fp32, dgc's entries may also be divided as with `route=split`.
That changes no bit, so any compressor of entries has the choice with `policy=auto` given, and every optimizer with [`WEIR_AUTOTUNE`](settings.md). [Planning](../explanation/planning.md) says how one is chosen.

## Tensors by name

A key may carry a shell pattern of tensor names; its value then holds for the tensors it matches:

```text
{"compressor": "dgc", "density": "0.001", "density[fc?.*]": "0.01", "compressor[*.bias]": "dense"}
```

The same in `WEIR_COMPRESSION` is
`compressor=dgc,density=0.001,density[fc?.*]=0.01,compressor[*.bias]=dense`, and in Python also

```text
{"compressor": "dgc", "density": 0.001,
 "overrides": {"fc?.*": {"density": 0.01}, "*.bias": {"compressor": "dense"}}}
```

* `*` stands for any characters, dots included, `?` for one, `[0-3]` for one of a set. The whole name has to match. In
  Python names are those of `named_parameters`, without them `group0.parameter3`.
* Where several patterns match a tensor, the most specific one wins: that with the most characters that are not wildcards, and
  before all a name without any. Two that are equally specific and give one key different values are an error.
* A pattern that names another compressor begins anew: the keys without a pattern are meant for the other one. Momentum and weight decay of an
  optimizer hold for all of its parameters all the same, whoever does them.
* `clip_norm`, `clip_scale`, `skip_nonfinite`, `steps`, `look_ahead`, `weight_decay` and `weight_decay_form` hold for all tensors together and
  take no pattern.
* Where all keys carry patterns, what none of them matches is averaged as it is.
* A pattern that matches no tensor of an optimizer is warned of, and an error under strict settings.

## Density and the length of a run

What counts is how often an entry is sent: steps x density. The gap to dense training, measured in nats at density 0.001, was
0.114 where that product was 1, 0.044 at 3 and 0.008 at 20
([experiment](../experiments/byte-lm.md); the first two are of a smaller network). So

* where `steps`, the optimizer steps of the whole run, is given and the product is below 3, a warning says so before the first step. Without `steps` it
  comes when the gradients' group or the job ends in good order, from the steps that were made, those before a checkpoint that was loaded included;
* `density=auto` with `steps` stands for 10 / steps, where those figures put the gap near 0.015 nats: at least 0.001, which a run of 10,000 steps and more bears,
  and at most 0.25, above which compression saves little. The warm-up ends at that density. With `momentum_masking=true` it can lose more than the density gains,
  because that drops most of the momentum of entries that are sent often ([measured](../benchmarks/train-quality.md)).

Steps before `rampup_begin_step`, which are dense, do not count.

## Values in few bits

`values` of `dgc`, `topk`, `threshold` and `randomk` says how the values of entries travel; with `dgc` also those of small and one-dimensional tensors, which travel dense.

| values | bytes a value, beside its index | what a value is rounded to |
|---|---|---|
| `fp32` | 4 | nothing |
| `fp16` | 2 | 11 bits, at the scale of the tensor's largest |
| `int8` | 1 | the nearest of 255 levels up to the tensor's largest |
| `int4` | 0.5 | the nearest of 15 levels |
| `int2` | 0.25 | its sign, and one of two magnitudes: the mean of those above the tensor's mean magnitude, or of the others |

What rounding loses is kept and sent later: by `dgc` always, by the others with `ef=vanilla` (without it, it is lost). With a third of its bytes `int2` came
out where `fp16` did on two of three small models; on the third it was 2.6 % behind after 1,000 steps with `momentum_masking=true`, and 0.4 % after 10,000 with `false` ([figures](../benchmarks/train-quality.md)). Where single tensors should
travel finer, a pattern says so: `values[*norm*]=fp16`. `route=split` divides what was sent and takes `fp16` and `fp32` only.

## Gradient dropping

Aji and Heafield's [gradient dropping](https://arxiv.org/abs/1704.05021), the method before Deep Gradient Compression, is no compressor of its own but options of `topk`:

```text
{"compressor": "topk", "density": "0.001", "ef": "vanilla", "values": "fp32", "min_elements": "0"}
```

The largest entries of gradient plus residual travel, and momentum stays with the optimizer, after the exchange. It departs from the paper in two ways: entries are selected in each tensor in place of
over all of them by one threshold, and the residual is multiplied by the last learning rate over the present one, so that what was held back counts with the rate of its own time. With a constant rate that
changes nothing. What it costs beside `dgc` is in the [benchmarks](../benchmarks/train-quality.md).

## Beyond the paper

`dgc` has options that its paper has not. All are off by default, and none has been measured on more than small networks.

* `selection=bucket`: the largest entries of all compressed tensors of a bucket in place of those of each tensor, as many as the tensors would send
  together, and of each tensor one at least. A tensor whose residual is small then sends less, and one where it is large more. A bucket holds
  all tensors with the same options up to `WEIR_FUSION_THRESHOLD` (128 MiB of gradients unless set), so in a model of up to that size, 33 million parameters,
  the selection is over all layers; in a larger one over each such part. The price is that compression begins when the bucket's last gradient is there:
  with a single bucket that is the end of the backward pass. With every route but `push_pull`, whose servers see tensors in parts.
* `momentum=adam`: each rank keeps Adam's two moments of its own gradient; the step that follows from them, `lr * u / (sqrt(s) + epsilon)` without
  bias, is what is accumulated, selected and sent, and the weights are lessened by the mean of what was sent. Tensors that travel dense have
  moments of the mean gradient instead. What an exchange delivers has the learning rate in it, that of the step in which it was accumulated; whoever applies it must not
  multiply by a learning rate again. In C++ an SGD without momentum becomes AdamW by this option alone, and a rule of the program's own has to subtract what it
  gets; in Python the option takes the place of a wrapped Adam or AdamW. Weight decay stays outside, as in AdamW. Moments are not dropped where an entry was sent, so `momentum_masking` and
  `gain_compensation` do not apply. In the first step Adam's steps are of one length in all entries: which of them are sent is then decided by rounding.
* `look_ahead=c`, from 0 to 1: a rank computes its gradients at `w - lr * (c / N) * v`, where `v` is what it has not sent yet and N the number of ranks; with c = 1
  that is where the weights would be if it could send its part of all that. The weights themselves stay what they are on all ranks. In
  `weir.torch` the forward and backward passes of a step stand in `with optimizer.looking_ahead():`; in C++ parameters are shifted from `BeginStep` to
  `Step`. Not with `route=hierarchical`, where a host's first rank keeps what none of them has sent. c = N diverges, and above 1 is refused.
* `gain_compensation=true`: masking shortens the step of entries that are sent often; the update is divided by what it leaves.

Over 10,000 steps at density 0.001, on three small networks, the default was 0.17 points, 0.64 % and 0.70 % behind dense on average where the paper's DGC (`momentum_masking=true`) was 0.33 points,
1.26 % and 2.27 % behind; `momentum_masking=false` with `look_ahead=1` was 0.06 points, 0.38 % and 0.35 % ([figures](../benchmarks/train-quality.md)). Masking shortens the step of
entries that are sent often, and where the same entries matter for a long time that is most of what is learnt; for entries that are sent seldom it changes little.
[Why `auto` needs none](../explanation/dgc.md#the-momentum-of-what-was-sent).
)";

constexpr const char* kClosing = R"(
This page is generated from the compressors' own declarations; a test compares the two.
)";

constexpr const char* kRoutes = R"(
## Compressors and routes

Every compressor with every route that it can take; `default` is the one it takes without `route`, `only` that of a compressor which has no such option. What a route does, and what it changes, is in
[routes](../explanation/routes.md), and how many bytes each of them carries in the [benchmarks](../benchmarks/routes.md).

)";

/// The route of a compressor that has no option for it.
std::string OnlyRoute(const CompressorInfo& info) {
  const auto made =
      MakeCompressor(CompressionOptions{{"compressor", info.name}}, {"w", Shape{64, 64}});
  return made->summable() ? "allreduce" : "allgather";
}

/// The table of kRoutes.
std::string RouteTable(const std::vector<CompressorInfo>& compressors) {
  const std::vector<std::string> routes = {"allreduce", "allgather", "split", "hierarchical",
                                           "push_pull"};
  std::string text = "| compressor |";
  for (const std::string& route : routes) text += " `" + route + "` |";
  text += "\n|---|---|---|---|---|---|\n";
  for (const CompressorInfo& compressor : compressors) {
    std::vector<std::string> taken;
    std::string fallback, word = "default";
    for (const OptionSpec& option : compressor.options) {
      if (option.key != "route") continue;
      taken = std::get<ChoiceRule>(option.rule).names;
      fallback = option.default_text;
    }
    if (taken.empty()) {
      fallback = OnlyRoute(compressor);
      word = "only";
    }
    text += "| `" + compressor.name + "` |";
    for (const std::string& route : routes) {
      if (route == fallback) {
        text += " " + word + " |";
      } else {
        text += std::ranges::find(taken, route) != taken.end() ? " yes |" : "  |";
      }
    }
    text += '\n';
  }
  return text;
}

std::string Section(const CompressorInfo& compressor) {
  std::string text = "\n## `" + compressor.name + "`\n\n" + compressor.summary + "\n\n";
  text += "| key | default | allowed | what it does |\n|---|---|---|---|\n";
  for (const OptionSpec& option : compressor.options) {
    const std::string fallback = option.default_text.empty() ? "" : "`" + option.default_text + "`";
    text += "| `" + option.key + "` | " + fallback + " | " + Describe(option.rule) + " | " +
            option.help + " |\n";
  }
  return text;
}

}  // namespace

std::string CompressionReference(const std::vector<CompressorInfo>& compressors) {
  std::string page = kIntroduction;
  page += kRoutes + RouteTable(compressors);
  for (const CompressorInfo& compressor : compressors) page += Section(compressor);
  return page + kClosing;
}

}  // namespace weir
