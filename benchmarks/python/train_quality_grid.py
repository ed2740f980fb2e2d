"""Measurements of the benchmark train-quality: models, configurations, and the runs of its studies."""

from typing import Callable, Dict, NamedTuple, Optional, Tuple


class Model(NamedTuple):
    """`low` and `high`: learning rates of momentum SGD at the start of the cosine. `high` is near the edge
    of what dense training tolerates. `tuned`: AdamW's, the best of ADAM_GRID in 1,000 dense steps.
    `target`: half the width of the interval allowed for the difference to dense, in percent of bits per
    byte or in points of accuracy. `clip`: threshold of the L2 norm of the averaged gradient; None: no
    clipping."""

    low: Optional[float]
    high: Optional[float]
    metric: str
    target: float
    clip: Optional[float] = None
    tuned: Optional[float] = None

    @property
    def is_accuracy(self) -> bool:
        return self.metric == "accuracy"


# In 1,000 dense steps twice the high rate is worse; all three models have their best one near it.
MODELS = {
    "digits": Model(0.02, 0.08, "accuracy", 0.5),
    "lstm": Model(1.0, 4.0, "bits per byte", 1.0, clip=0.5, tuned=0.016),
    "demo": Model(0.04, 0.16, "bits per byte", 1.0, tuned=0.004),
    "transformer": Model(None, None, "bits per byte", 1.0, tuned=0.008),
}
# Models that have learnt a like task before (FineTuning): the lower rate, and a quarter of it.
MODELS.update({f"tuned-{name}": MODELS[name]._replace(low=MODELS[name].low / 4, high=MODELS[name].low, tuned=None)
               for name in ("digits", "lstm", "demo")})
RATES = ("low", "high", "tuned")
ADAM_GRID = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032)
# Rates of AdamW, for all models: its usual one, and four times that. Not searched for, unlike those
# above.
ADAM_RATES = {"low": 0.001, "high": 0.004}


class Run(NamedTuple):
    """One training. `density` is 1 for a configuration without one."""

    model: str
    config: str
    density: float
    rate: str
    steps: int
    seed: int


class Config(NamedTuple):
    """`options`: for DistributedOptimizer, by (density, steps); `clip`: whether it clips if the model
    asks for it. `sparse`: whether it has a density. `adam`: AdamW in place of momentum SGD, with its
    own learning rates. `outer`: with local steps, the arguments of Outer."""

    about: str
    options: Callable[[float, int], Dict[str, object]]
    clip: bool = True
    sparse: bool = True
    adam: bool = False
    outer: Optional[Dict[str, object]] = None

    @property
    def is_uncompressed(self) -> bool:
        return not self.sparse and self.options(1.0, 1) == {"compressor": "dense"}

    @property
    def clips_outside(self) -> bool:
        """True if the program clips, as without compression."""
        return self.is_uncompressed or self.outer is not None


def _dgc(**more):
    return lambda density, steps: {"compressor": "dgc", "density": density,
                                   "warmup_steps": steps // 10, **more}


def _biases_dense(options):
    """Default of dgc: tensors of one dimension, or with fewer than 1,024 elements, stay dense."""
    return {**options, "min_elements": 1024, "compressor[*bias*]": "dense"}


def _paper(**more):
    return _dgc(momentum_masking=True, **more)


def _auto_density(options):
    return lambda density, steps: {**options(density, steps), "density": "auto", "steps": steps}


def _other(**options):
    return lambda density, steps: _biases_dense(options)


def _selected(compressor, warmup=False, **more):
    return lambda density, steps: _biases_dense(
        {"compressor": compressor, "k": density, **more,
         **({"warmup_steps": steps // 10} if warmup else {})})


def _outer(about, compression, **arguments):
    """A configuration of AdamW with local steps."""
    return Config(about, lambda density, steps: dict(compression), sparse=False, adam=True,
                  outer={"every": 30, **arguments})


_INT8 = _biases_dense({"compressor": "int8", "ef": "vanilla"})

CONFIGS = {
    "dense": Config("momentum SGD", lambda density, steps: {"compressor": "dense"}, sparse=False),
    "dgc": Config("Deep Gradient Compression as in the paper, warm-up over a tenth of the steps", _paper()),
    "no-masking": Config("dgc without momentum factor masking", _dgc(momentum_masking=False)),
    "no-correction": Config("dgc without momentum correction: the residual of the gradient is kept, "
                            "momentum follows the exchange (and so nothing is masked)",
                            _selected("topk", warmup=True, ef="vanilla")),
    "no-residual": Config("the same, and what is not sent is forgotten",
                          _selected("topk", warmup=True, ef="none")),
    "gradient-dropping": Config("no-correction without warm-up and clipping, values as fp32",
                                _selected("topk", ef="vanilla", values="fp32"), clip=False),
    "topk-ef": Config("the largest entries, with error feedback",
                      _selected("topk", ef="vanilla")),
    "randomk-ef": Config("random entries, with error feedback",
                         _selected("randomk", ef="vanilla")),
    "onebit-ef": Config("signs times their mean magnitude, with error feedback",
                        _other(compressor="onebit", scaling=True, ef="vanilla"), sparse=False),
    "dithering": Config("7 levels, rounded at random", _other(compressor="dithering"),
                        sparse=False),
    "powersgd": Config("factors of rank 4, with error feedback",
                       lambda density, steps: {"compressor": "powersgd", "min_elements": 1024},
                       sparse=False),
    "dgc-gain": Config("dgc, gain_compensation=true", _dgc(gain_compensation=True)),
    "dgc-auto": Config("dgc, density=auto: ten times the density of the short runs",
                       _auto_density(_paper())),
    "dgc-2bit": Config("dgc, values of 2 bits", _paper(values="int2")),
    "dgc-one-selection": Config("dgc, one selection over all tensors", _paper(selection="bucket")),
    "dgc-look-ahead": Config("dgc, gradients at where the residual leads",
                             _paper(look_ahead=1)),
    "dgc-unmasked": Config("dgc without momentum factor masking, with look-ahead",
                           _dgc(momentum_masking=False, look_ahead=1)),
    "dgc-unmasked-2bit": Config("the same, values of 2 bits",
                                _dgc(momentum_masking=False, look_ahead=1, values="int2")),
    "dgc-masking-auto": Config("dgc, momentum_masking=auto", _dgc(momentum_masking="auto")),
    "dgc-masking-auto-density": Config("the same, density=auto", _auto_density(_dgc(momentum_masking="auto"))),
    "dgc-without-warm-up": Config("dgc-masking-auto without a warm-up",
                                  lambda density, steps: {"compressor": "dgc", "density": density,
                                                          "momentum_masking": "auto"}),
    "dgc-masking-auto-look-ahead": Config("dgc-masking-auto, with look-ahead",
                                          _dgc(momentum_masking="auto", look_ahead=1)),
    "dgc-flush": Config("dgc, momentum_masking=flush", _dgc(momentum_masking="flush")),
    "dgc-ratio": Config("dgc, momentum_masking=ratio", _dgc(momentum_masking="ratio")),
    "dgc-bf16-state": Config("dgc, momentum and velocity kept as bf16", _paper(state_dtype="bf16")),
    "dgc-unmasked-bf16-state": Config(
        "dgc-unmasked, momentum and velocity kept as bf16",
        _dgc(momentum_masking=False, look_ahead=1, state_dtype="bf16")),
    "dgc-together": Config("dgc with compensated gain, one selection and look-ahead",
                           _dgc(gain_compensation=True, selection="bucket", look_ahead=1)),
    "dense-adamw": Config("AdamW", lambda density, steps: {"compressor": "dense"}, sparse=False,
                          adam=True),
    "dgc-into-adamw": Config("dgc without momentum, and AdamW of what comes out",
                             _dgc(momentum="none"), adam=True),
    "dgc-adam": Config("dgc with local moments of AdamW", _dgc(momentum="adam"), adam=True),
    "dgc-adam-look-ahead": Config("the same, with look-ahead", _dgc(momentum="adam", look_ahead=1), adam=True),
    "powersgd-adamw": Config("factors of rank 4, with error feedback, and AdamW of what comes out",
                             lambda density, steps: {"compressor": "powersgd", "min_elements": 1024},
                             sparse=False, adam=True),
    "outer-fp16": _outer("AdamW with local steps, a round every 30", {"compressor": "fp16"}),
    "outer-int8": _outer("the same, rounds in 8 bits", _INT8),
    "outer-published": _outer("the same, outer momentum 0.9", _INT8, outer_momentum=0.9),
    "outer-mean": _outer("the same, and parameters are averaged alone (local SGD's rounds)",
                         _INT8, outer_lr=1.0, outer_momentum=0.0),
    "outer-overlap": _outer("the same as outer-int8, rounds beside the next 5 steps, of 3 fragments in turn",
                            _INT8, overlap=5, fragments=3),
    "outer-onebit": _outer("the same, rounds in one bit",
                           _biases_dense({"compressor": "onebit", "scaling": True, "ef": "vanilla"})),
    "outer-topk": _outer("the same, the largest 3 % of a round in 2 bits",
                         _biases_dense({"compressor": "topk", "k": 0.03, "values": "int2", "ef": "vanilla"})),
}


class Study(NamedTuple):
    density: float
    lengths: Tuple[int, int]  # Steps times density is 1 and 10.
    configs: Tuple[str, ...]
    models: Tuple[str, ...] = ("digits", "lstm", "demo")


_ADAM = tuple(name for name in CONFIGS if CONFIGS[name].adam)
_ELSEWHERE = ("dgc-adam-look-ahead", "dgc-without-warm-up")
_BEYOND = tuple(name for name in CONFIGS if name.startswith("dgc-") and name not in _ELSEWHERE) + ("dense-adamw",)
STUDIES = {
    "ablation": Study(0.01, (100, 1000), ("dense", "dgc", "no-masking", "no-correction",
                                          "no-residual", "gradient-dropping")),
    "paper": Study(0.001, (1000, 10000), ("dense", "dgc")),
    "compressors": Study(0.01, (100, 1000), ("dense", "topk-ef", "randomk-ef", "onebit-ef",
                                             "dithering", "powersgd")),
    "beyond": Study(0.01, (100, 1000), ("dense", "dgc", *_BEYOND)),
    "beyond-paper": Study(0.001, (1000, 10000), ("dense", "dgc", "no-masking", *_BEYOND)),
    "adam": Study(0.001, (1000, 10000), _ADAM, ("demo", "lstm", "transformer")),
    "adam-short": Study(0.01, (100, 1000), _ADAM, ("demo", "lstm", "transformer")),
    "tuning": Study(0.01, (100, 1000), ("dense", "dgc-masking-auto", "dgc-without-warm-up",
                                        "dgc-masking-auto-density"), ("tuned-digits", "tuned-lstm", "tuned-demo")),
}
# The most telling ones first: a run that ends early has them.
ORDER = (("ablation", "high"), ("paper", "low"), ("ablation", "low"), ("compressors", "high"),
         ("beyond", "high"), ("paper", "high"), ("beyond-paper", "low"), ("compressors", "low"),
         ("beyond", "low"), ("beyond-paper", "high"), ("adam", "tuned"), ("adam-short", "tuned"), ("tuning", "low"), ("tuning", "high"))


def options_of(run: Run) -> Dict[str, object]:
    """Returns DistributedOptimizer's dictionary. Dense training clips the averaged gradient, as
    programs do without compression, so its dictionary does not mention clipping."""
    config, model = CONFIGS[run.config], MODELS[run.model]
    options = config.options(run.density, run.steps)
    if model.clip is not None and config.clip and not config.clips_outside:
        options["clip_norm"] = model.clip
    return options


def described(run: Run) -> Dict[str, object]:
    """Returns all that a run's configuration chooses: its options, and Outer's arguments."""
    outer = CONFIGS[run.config].outer or {}
    return {**options_of(run), **{f"outer.{key}": value for key, value in outer.items()}}


def rate_of(run: Run) -> float:
    if CONFIGS[run.config].adam and run.rate in ADAM_RATES:
        return ADAM_RATES[run.rate]
    return getattr(MODELS[run.model], run.rate)


def base_of(rate: str) -> str:
    """Returns the configuration that those with this rate are compared with."""
    return "dense-adamw" if rate == "tuned" else "dense"


def _is_new(config, steps, study):
    """True for a new configuration: automatic density is that of the long runs."""
    return config not in ("dgc-auto", "dgc-masking-auto-density") or steps == study.lengths[0]


def runs_of(name: str, rate: str, seeds: int):
    """The runs of a study, one seed after the other, so that whatever was measured is paired."""
    study = STUDIES[name]
    for model in study.models:
        for seed in range(1, seeds + 1):
            for steps in study.lengths:
                for config in study.configs:
                    if _is_new(config, steps, study):
                        density = study.density if CONFIGS[config].sparse else 1.0
                        yield Run(model, config, density, rate, steps, seed)


def words():
    """Returns the words for --only, by kind."""
    return {"study": tuple(STUDIES), "rate": RATES, "model": tuple(MODELS),
            "config": tuple(CONFIGS), "length": ("short", "long")}


def grid(seeds: int, only=()):
    """Returns all runs, each once, in the order of measuring. For each kind with words in `only`, the
    run's word must be among them; dense runs are needed by all configurations."""
    chosen = {kind: set(known) & set(only) for kind, known in words().items()}

    def is_chosen(kind, word):
        return not chosen[kind] or word in chosen[kind]

    found = {}
    for study, rate in ORDER:
        if not is_chosen("study", study) or not is_chosen("rate", rate):
            continue
        for run in runs_of(study, rate, seeds):
            length = "short" if run.steps == STUDIES[study].lengths[0] else "long"
            if (is_chosen("model", run.model) and is_chosen("length", length)
                    and (run.config == base_of(rate) or is_chosen("config", run.config))):
                found[run] = None
    return list(found)
