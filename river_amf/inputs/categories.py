"""Categories and their codes; where there are too many, some are forgotten."""

from collections import OrderedDict
from collections.abc import Hashable

CHECKED = (20, 100)  # how many categories a feature has when they are checked, in its row alone


class Categories:
    """The categories of a feature and their codes, perhaps bounded (DESIGN.md: categories)."""

    def __init__(self, bound: int | None = None, codes: dict[Hashable, int] | None = None) -> None:
        # With a bound, the codes are given in the order of last use.
        self.bound = bound
        self.codes: dict[Hashable, int] = {} if codes is None else codes
        # With a bound, the category of each code, from the one that was used longest ago on.
        self.used: OrderedDict[float, Hashable] = OrderedDict()
        if bound is not None:
            self.used.update((code, category) for category, code in self.codes.items())

    def __len__(self) -> int:
        return len(self.codes)

    def by_use(self) -> dict[Hashable, int]:
        """Return a new dict of the codes, with a bound in the order of last use."""
        if self.bound is None:
            return self.codes.copy()
        return {category: int(code) for code, category in self.used.items()}

    @property
    def n_codes(self) -> int:
        """The number of codes, also while one of them changes hands."""
        return len(self.codes if self.bound is None else self.used)

    @property
    def n_free(self) -> int:
        return 2**53 if self.bound is None else self.bound - len(self.codes)

    @property
    def n_ordinary(self) -> int:
        """How many more there may be before one is too many, or is checked."""
        return min([self.n_free, *(n - 1 - len(self) for n in CHECKED if n > len(self))])

    @property
    def next_code(self) -> int:
        """The code of an unknown category, the largest of all."""
        return len(self.codes)

    def code_to_learn(self, category: Hashable) -> int:
        """Return the code that a category has when it is learned next."""
        code = self.codes.get(category)
        if code is not None:
            return code
        return self.next_code if self.n_free else int(next(iter(self.used)))

    def put(self, category: Hashable, code: int) -> None:
        """Give a category a code, which another one loses; may be interrupted and called again."""
        if self.bound is not None:
            if (other := self.used.get(code, category)) is not category:
                self.codes.pop(other, None)
            self.used[code] = category
        self.codes[category] = code

    def use(self, code: float) -> None:
        if code in self.used:
            self.used.move_to_end(code)
