"""The look of a state: Okabe-Ito colours that colour-blind readers can tell apart, and the icon that goes with each.

Never colour alone: whoever uses a colour from here also draws the icon or the word.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Colour = Literal["blue", "red", "orange", "violet", "gray"]


class Look(NamedTuple):
    colour: str
    """For charts on a light ground."""
    on_dark: str
    hue: Colour
    """The theme's colour of the same hue, for badges."""
    icon: str

    def shade(self, *, dark: bool) -> str:
        """The chart colour for the ground it stands on."""
        return self.on_dark if dark else self.colour

    def tint(self, *, dark: bool) -> str:
        """The ground of a pill in a table: mixed with the page's, or the word on it would be too pale to read."""
        return self.blend(0.5 if dark else 0.4, dark=dark)

    def blend(self, share: float, *, dark: bool) -> str:
        """So much of the colour (0 to 1) over the page's ground."""
        pairs = zip(_channels(self.shade(dark=dark)), _channels(DARK_GROUND if dark else LIGHT_GROUND), strict=True)
        return "#" + "".join(f"{round(share * mine + (1 - share) * its):02X}" for mine, its in pairs)


LIGHT_GROUND = "#FFFFFF"
DARK_GROUND = "#11171D"
"""The page's background, as the theme has it."""


def _channels(colour: str) -> list[int]:
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


PASS = Look("#0072B2", "#56B4E9", "blue", ":material/check_circle:")
FAIL = Look("#D55E00", "#F0803C", "red", ":material/cancel:")
REVIEW = Look("#E69F00", "#E69F00", "orange", ":material/person_search:")
UNREADABLE = Look("#CC79A7", "#CC79A7", "violet", ":material/data_object:")
NONE = Look("#9AA0A6", "#9AA0A6", "gray", ":material/radio_button_unchecked:")
ERROR = Look("#6B7280", "#8B95A1", "gray", ":material/error:")
SKIPPED = Look("#B8BEC6", "#4B5563", "gray", ":material/block:")
LEFT = Look("#E3E7EB", "#2A333D", "gray", ":material/hourglass_empty:")


class Ink(NamedTuple):
    """Colours of a chart's own text and lines."""

    text: str
    muted: str
    grid: str


LIGHT_INK = Ink("#1B2733", "#586069", "#E3E7EB")
DARK_INK = Ink("#E6EAEE", "#AAB3BC", "#2C3640")


def ink(*, dark: bool) -> Ink:
    return DARK_INK if dark else LIGHT_INK
