"""Settings of hypothesis for these tests: no deadlines, and nothing kept between runs."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("weft", deadline=None, database=None)
settings.load_profile("weft")
