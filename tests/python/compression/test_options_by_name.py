"""Compression options of tensors by name: in a nested dictionary, or in keys with a pattern."""

import copy
import warnings

import pytest
import torch

import weir.torch as hvd

from test_compressors import SELECTION
from training import assert_replicas_are_equal, loss_of, model, weights

EVERYTHING = {"compressor": "dgc", "density": 1.0, "momentum_masking": False, "values": "fp32",
              "min_elements": 0}
MIXED = {"compressor": "dgc", "density": 0.1, "min_elements": 0,
         "overrides": {"*.bias": {"compressor": "dense"},
                       "2.weight": {"compressor": "topk", **SELECTION}}}


def wrapped(net, compression, **sgd):
    options = {"lr": 0.05, "momentum": 0.75, "weight_decay": 1e-2, **sgd}
    return hvd.DistributedOptimizer(torch.optim.SGD(net.parameters(), **options),
                                    net.named_parameters(), compression)


def train(net, optimizer, rank, steps=range(8)):
    for step in steps:
        optimizer.zero_grad()
        loss_of(net, step, rank).backward()
        optimizer.step()
    return weights(net)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("decay", [{"weight_decay": 0.0}, {"weight_decay": 1e-2}])
def test_every_parameter_has_the_momentum_of_sgd_wherever_it_is_done(rank, nesterov, decay):
    sent_whole, dense = model(), model()
    overrides = {"*.bias": {"compressor": "dense"}, "2.*": {"compressor": "fp16"}}
    overrides["2.weight"] = {"compressor": "dense", "momentum": "none"}
    found = train(sent_whole, wrapped(sent_whole, {**EVERYTHING, "overrides": overrides},
                                      nesterov=nesterov, **decay), rank)
    expected = train(dense, wrapped(dense, hvd.Compression.none, nesterov=nesterov, **decay), rank)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5)
    assert_replicas_are_equal(sent_whole)


def test_a_weight_decay_among_the_options_is_that_of_all_parameters(rank):
    given, of_sgd = model(), model()
    overrides = {"*.bias": {"compressor": "dense"}}
    found = train(given, wrapped(given, {**EVERYTHING, "weight_decay": 0.05, "overrides": overrides},
                                 weight_decay=0.0), rank)
    expected = train(of_sgd, wrapped(of_sgd, hvd.Compression.none, weight_decay=0.05), rank)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5)


def test_the_optimizer_keeps_its_groups_and_the_momentum_that_is_left_to_it(rank):
    net = model()
    optimizer = wrapped(net, MIXED)
    groups = list(optimizer.param_groups)
    train(net, optimizer, rank, range(2))
    assert all(now is before for now, before in zip(optimizer.param_groups, groups))
    assert len(optimizer.param_groups) == 1 and groups[0]["momentum"] == 0.75
    kept = {name for name, parameter in net.named_parameters()
            if optimizer.state.get(parameter, {}).get("momentum_buffer") is not None}
    assert kept == {"0.bias", "2.bias", "2.weight"}


def test_a_nested_dictionary_and_keys_with_patterns_are_the_same(rank):
    keys = {key: value for key, value in MIXED.items() if key != "overrides"}
    for pattern, options in MIXED["overrides"].items():
        keys.update({f"{key}[{pattern}]": value for key, value in options.items()})
    results = []
    for compression in (MIXED, keys, hvd.Compression.dgc(0.1, min_elements=0,
                                                         overrides=MIXED["overrides"])):
        net = model()
        results.append(train(net, wrapped(net, compression), rank))
        assert_replicas_are_equal(net)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


def test_without_a_compressor_for_all_only_the_matched_are_compressed(rank):
    some, none = model(), model()
    only = {"overrides": {"0.weight": {"compressor": "topk", **SELECTION}}}
    train(some, wrapped(some, only), rank, range(1))
    train(none, wrapped(none, hvd.Compression.none), rank, range(1))
    assert torch.equal(some[2].weight, none[2].weight)
    assert not torch.equal(some[0].weight, none[0].weight)


def test_all_compressors_go_on_where_a_checkpoint_ends(rank):
    whole, half = model(), model()
    of_whole, of_half = wrapped(whole, MIXED), wrapped(half, MIXED)
    train(whole, of_whole, rank, range(4))
    train(half, of_half, rank, range(4))
    resumed = copy.deepcopy(half)
    of_resumed = wrapped(resumed, MIXED)
    of_resumed.load_state_dict(of_half.state_dict())
    assert torch.equal(train(resumed, of_resumed, rank, range(4, 8)),
                       train(whole, of_whole, rank, range(4, 8)))


def test_a_pattern_that_matches_nothing_is_told_once(rank):
    net = model()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        optimizer = wrapped(net, {**EVERYTHING, "density[fc*]": 0.1, "density[2.*]": 0.2})
        train(net, optimizer, rank, range(1))
    told = [str(one.message) for one in caught if "no effect" in str(one.message)]
    assert len(told) == (1 if rank == 0 else 0)
    assert all('"fc*"' in text and '"0.weight"' in text and "2.*" not in text for text in told)


@pytest.mark.parametrize("compression, text", [
    ({**EVERYTHING, "densty[2.*]": 0.1}, 'for tensors "2.\\*": .*did you mean .density.'),
    ({**EVERYTHING, "overrides": {"*.bias": {"density": 2}}}, 'for tensors "\\*.bias": .*at most 1'),
    ({**EVERYTHING, "overrides": {"*": {"clip_norm": 2}}}, "all tensors together"),
    ({**EVERYTHING, "overrides": "*.bias"}, "overrides='\\*.bias' is not understood"),
    ({**EVERYTHING, "density[a]": 1, "overrides": {"a": {"density": 0.5}}}, "given twice"),
    ({**EVERYTHING, "density[0.*]": 0.1, "density[*.b]": 0.2, "density[?.b*]": 0.3},
     "equally specific"),
])
def test_mistakes_name_the_pattern(compression, text):
    with pytest.raises(ValueError, match=text):
        wrapped(model(), compression)


def test_momentum_is_given_once_for_every_pattern():
    overrides = {"2.*": {"compressor": "topk", "momentum": "nesterov", "momentum_mu": 0.5}}
    with pytest.raises(ValueError, match="give it once"):
        wrapped(model(), {"compressor": "dense", "overrides": overrides})


def test_ranks_have_to_agree_on_patterns(rank, size):
    if size == 1:
        pytest.skip("one rank agrees with itself")
    compression = {**EVERYTHING, "density[2.*]": 0.1 if rank == 0 else 0.2}
    with pytest.raises(hvd.HorovodInternalError, match=r"density of 2\.weight=0\.1, .*=0\.2"):
        wrapped(model(), compression)


def test_a_sum_needs_compressors_that_can_be_summed():
    net = model()
    with pytest.raises(ValueError, match="'topk' are averaged"):
        hvd.DistributedOptimizer(
            torch.optim.SGD(net.parameters(), lr=0.1), net.named_parameters(),
            {"overrides": {"2.*": {"compressor": "topk"}}}, op=hvd.Sum)
