"""How far an optimizer's step is."""

import enum


class State(enum.Enum):
    """What has become of the step's gradients."""

    STEPPED = 1       # The last step was taken, and zero_grad() or a backward pass has not followed.
    OPEN = 2          # Backward passes may come.
    SYNCHRONIZED = 3  # The program has called synchronize().
    EARLY = 4         # The exchange is finished, by the end of the backward pass or by a function that
    # looks at gradients (early_readers). It may be taken back; step() does the rest.
