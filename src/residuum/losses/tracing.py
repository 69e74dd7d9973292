"""What the compiler of PyTorch is told about a function, without loading the compiler.

The functions of `torch.compiler` that say the same import all of it, which takes a second.
"""

from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def not_traced(function: Function) -> Function:
    """Let a trace run the function and keep its result, as `assume_constant_result` does.

    The name of the mark is that of PyTorch; tests of `torch.compile` fail if it changes.
    """
    function._dynamo_marked_constant = True  # type: ignore[attr-defined]
    return function
