"""weft for other programs and for people: a service that answers over HTTP, and a page that it serves. No torch."""
