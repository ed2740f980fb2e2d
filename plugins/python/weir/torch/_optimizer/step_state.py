"""How far an optimizer's step is."""

import enum


class State(enum.Enum):
    """What has become of the step's gradients."""

    STEPPED = 1       # The last step was taken, and zero_grad() or a backward pass has not followed.
    OPEN = 2          # Backward passes may come.
    SYNCHRONIZED = 3  # The program has called synchronize().
    EARLY = 4         # A function that looks at gradients has (early_readers); step() does the rest.
