"""Merge two sets of links into one: those of a model and of its reverse, both source word first.

"grow-diag" has two meanings in the literature. Moses (and atools) let the intersection grow by a neighbouring link of
the union when at least one of its two words is still free; Lilt's scripts, used for many published tables, only when
both are. They are offered under different names. Both are deterministic: cells are visited in a fixed order, and a link
that was just added can let the next one in.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.config import Symmetrisation
from weft.links import Links

# (source, target) steps to the neighbours of a link, in the order in which they are tried; if two of them want the
# same word, the first one gets it.
_MOSES_NEIGHBOURS = ((0, -1), (-1, 0), (0, 1), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1))
_LILT_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, 1), (-1, -1), (1, -1), (1, 1))


def symmetrise(forward: Links, backward: Links, method: Symmetrisation) -> Links:
    """Merge the links of the two directions."""
    if method == "intersection":
        return forward & backward
    if method == "union":
        return forward | backward
    lilt = method.startswith("lilt-")
    merged = _Growing(forward & backward)
    merged.grow(forward | backward, both_free=lilt)
    if "final" in method:
        strict = lilt or method.endswith("-and")
        merged.add_rest(_visited(forward - backward, lilt), strict)
        merged.add_rest(_visited(backward - forward, lilt), strict)
    return frozenset(merged.links)


def _visited(links: Iterable[tuple[int, int]], source_first: bool) -> list[tuple[int, int]]:
    """Return links in the order of visits: Lilt's goes through the source sentence, Moses' through the target."""
    return sorted(links, key=lambda link: link if source_first else (link[1], link[0]))


class _Growing:
    """Links that grow, and the words that have one."""

    def __init__(self, links: Links) -> None:
        self.links = set(links)
        self._sources = {source for source, _ in links}
        self._targets = {target for _, target in links}

    def _may_join(self, link: tuple[int, int], both_free: bool) -> bool:
        free = link[0] not in self._sources, link[1] not in self._targets
        return all(free) if both_free else any(free)

    def _add(self, link: tuple[int, int]) -> None:
        self.links.add(link)
        self._sources.add(link[0])
        self._targets.add(link[1])

    def grow(self, union: Links, both_free: bool) -> None:
        """Add neighbours of links until there are none to add; ``both_free`` is Lilt's rule, with Lilt's order."""
        order = _visited(union, source_first=both_free)
        steps = _LILT_NEIGHBOURS if both_free else _MOSES_NEIGHBOURS
        before = -1
        while before < len(self.links):
            before = len(self.links)
            for link in order:
                if link in self.links:
                    for neighbour in ((link[0] + source, link[1] + target) for source, target in steps):
                        if neighbour in union and self._may_join(neighbour, both_free):
                            self._add(neighbour)

    def add_rest(self, links: list[tuple[int, int]], both_free: bool) -> None:
        """Add links of one direction that give a free word its first link."""
        for link in links:
            if self._may_join(link, both_free):
                self._add(link)
