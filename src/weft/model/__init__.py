"""Networks and losses. torch from here on."""
