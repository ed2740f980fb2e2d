"""Models of the benchmark train-quality, each with its data and its score.

A task's batches depend on the generator alone and its initial parameters on torch's seed alone, so
that two configurations with the same seed see the same data in the same order.
"""

import math
import pathlib

import torch
import torch.nn.functional as F

DATA = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"
TEXT = DATA / "tinyshakespeare.txt"


def generator_of(seed, rank):
    """Returns a generator of a rank's batches: different for each rank and seed, the same for all
    configurations."""
    return torch.Generator().manual_seed(1000 * seed + rank)


def read_text(lower_case=False):
    """(training text, validation text): the first 90 % and the rest, as bytes."""
    text = TEXT.read_bytes()
    text = torch.tensor(list(text.lower() if lower_case else text), dtype=torch.long)
    train = len(text) * 9 // 10
    return text[:train], text[train:]


class ByteMlp(torch.nn.Module):
    """The model of `scripts/demo` (examples/01-byte-lm/model.h): 1,058,048 parameters. Predicts a
    byte from the 24 before it."""

    CONTEXT, EMBEDDING, HIDDEN = 24, 32, 1024

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(256, self.EMBEDDING)
        self.hidden = torch.nn.Linear(self.CONTEXT * self.EMBEDDING, self.HIDDEN)
        self.output = torch.nn.Linear(self.HIDDEN, 256)
        torch.nn.init.uniform_(self.embedding.weight, -0.17, 0.17)
        for layer in (self.hidden, self.output):
            bound = 1 / math.sqrt(layer.in_features)
            torch.nn.init.uniform_(layer.weight, -bound, bound)
            torch.nn.init.zeros_(layer.bias)

    def forward(self, windows):
        joined = self.embedding(windows).flatten(1)
        return self.output(F.relu(self.hidden(joined)))


class CharLstm(torch.nn.Module):
    """One layer of 128 units over the characters of a text: 103,552 parameters."""

    VOCABULARY, EMBEDDING, UNITS = 128, 32, 128  # The text is ASCII.

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(self.VOCABULARY, self.EMBEDDING)
        self.lstm = torch.nn.LSTM(self.EMBEDDING, self.UNITS, batch_first=True)
        self.output = torch.nn.Linear(self.UNITS, self.VOCABULARY)

    def forward(self, text):
        return self.output(self.lstm(self.embedding(text))[0]).flatten(0, 1)


class DigitsCnn(torch.nn.Module):
    """Two convolutions and two dense layers for images of 8 x 8: 71,754 parameters."""

    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = torch.nn.Conv2d(16, 32, 3, padding=1)
        self.dense1 = torch.nn.Linear(32 * 4 * 4, 128)
        self.dense2 = torch.nn.Linear(128, 10)

    def forward(self, images):
        x = F.relu(self.conv1(images))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.dense2(F.relu(self.dense1(x.flatten(1))))


class CharTransformer(torch.nn.Module):
    """A decoder of two layers, 96 wide, over the characters of a text: 255,488 parameters. The model of
    examples/03-char-transformer."""

    VOCABULARY, CONTEXT, WIDTH = 128, 64, 96  # The text is ASCII.

    def __init__(self):
        super().__init__()
        self.characters = torch.nn.Embedding(self.VOCABULARY, self.WIDTH)
        self.positions = torch.nn.Embedding(self.CONTEXT, self.WIDTH)
        layer = torch.nn.TransformerEncoderLayer(self.WIDTH, 4, 4 * self.WIDTH, dropout=0.0, batch_first=True,
                                                 norm_first=True)
        self.layers = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = torch.nn.Linear(self.WIDTH, self.VOCABULARY)
        self.register_buffer("mask", torch.nn.Transformer.generate_square_subsequent_mask(self.CONTEXT),
                             persistent=False)

    def forward(self, text):
        x = self.characters(text) + self.positions.weight
        return self.head(self.layers(x, mask=self.mask, is_causal=True)).flatten(0, 1)


class TextTask:
    """Windows of a text. The score is bits per byte on the validation text: the mean of
    -log2 p(next byte)."""

    def __init__(self, model, batch, context, every, lower_case=False):
        """`every`: all bytes that each input predicts count, or only the last."""
        self.model, self._batch, self._context, self._every = model, batch, context, every
        self._train, self._validation = read_text(lower_case)

    def _cut(self, text, starts):
        windows = text[starts[:, None] + torch.arange(self._context + 1)]
        if self._every:
            return windows[:, :-1], windows[:, 1:].flatten()
        return windows[:, :-1], windows[:, -1]

    def batch(self, generator):
        """(inputs, targets), drawn with replacement."""
        starts = torch.randint(len(self._train) - self._context, (self._batch,),
                               generator=generator)
        return self._cut(self._train, starts)

    def _examined(self):
        """Begins of the validation's windows: one after the other, or 16,384 of them."""
        last = len(self._validation) - self._context
        if self._every:
            return torch.arange(0, last, self._context)
        return torch.arange(16384) * last // 16384

    @torch.no_grad()
    def score(self, model, rank, ranks):
        """(sum, count) of this rank's part of the validation."""
        total, count = 0.0, 0
        for starts in self._examined()[rank::ranks].split(512):
            inputs, targets = self._cut(self._validation, starts)
            total += F.cross_entropy(model(inputs), targets, reduction="sum").item()
            count += len(targets)
        return total / math.log(2), count


class DigitsTask:
    """The 1,797 images that come with scikit-learn, every third one for testing. The score is the
    accuracy in percent."""

    def __init__(self, model, batch, lying=False):
        """`lying`: the images lie on their side."""
        self.model, self._batch = model, batch
        import sklearn.datasets  # Here, because the grid alone is useful without it.

        digits = sklearn.datasets.load_digits()
        images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
        images = images.mT.contiguous() if lying else images
        labels = torch.tensor(digits.target)
        tested = torch.arange(len(labels)) % 3 == 0
        self._train = images[~tested], labels[~tested]
        self._test = images[tested], labels[tested]

    def batch(self, generator):
        """(images, labels), drawn with replacement."""
        images, labels = self._train
        chosen = torch.randint(len(labels), (self._batch,), generator=generator)
        return images[chosen], labels[chosen]

    @torch.no_grad()
    def score(self, model, rank, ranks):
        """(sum, count) of this rank's part of the test."""
        images, labels = (tensor[rank::ranks] for tensor in self._test)
        right = (model(images).argmax(1) == labels).sum().item()
        return 100.0 * right, len(labels)


class FineTuning:
    """A task whose model has learnt another one before, in 2,000 steps of momentum SGD that are the same for all
    runs."""

    STEPS = 2000

    def __init__(self, before, task, rate, clip=None):
        self.batch, self.score = task.batch, task.score
        self._before, self._rate, self._clip = before, rate, clip
        self._learnt = None  # Parameters, once they are needed.

    def _learn(self):
        torch.manual_seed(0)
        generator = torch.Generator().manual_seed(0)
        model = self._before.model()
        optimizer = torch.optim.SGD(model.parameters(), lr=self._rate, momentum=0.9)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.STEPS)
        for _ in range(self.STEPS):
            inputs, targets = self._before.batch(generator)
            optimizer.zero_grad()
            F.cross_entropy(model(inputs), targets).backward()
            if self._clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), self._clip)
            optimizer.step()
            schedule.step()
        return model.state_dict()

    def model(self):
        if self._learnt is None:
            with torch.random.fork_rng():  # A run's own random numbers are those of its seed.
                self._learnt = self._learn()
        model = self._before.model()
        model.load_state_dict(self._learnt)
        return model


# By the names of train_quality_grid.MODELS; made when needed.
TASKS = {
    "demo": lambda: TextTask(ByteMlp, batch=16, context=ByteMlp.CONTEXT, every=False),
    "lstm": lambda: TextTask(CharLstm, batch=8, context=32, every=True),
    "transformer": lambda: TextTask(CharTransformer, batch=8, context=CharTransformer.CONTEXT, every=True),
    "digits": lambda: DigitsTask(DigitsCnn, batch=8),
    "tuned-demo": lambda: FineTuning(TextTask(ByteMlp, 32, ByteMlp.CONTEXT, False, lower_case=True),
                                     TASKS["demo"](), 0.16),
    "tuned-lstm": lambda: FineTuning(TextTask(CharLstm, 16, 32, True, lower_case=True), TASKS["lstm"](), 2.0, 0.5),
    "tuned-digits": lambda: FineTuning(DigitsTask(DigitsCnn, 16, lying=True), TASKS["digits"](), 0.04),
}
