"""weft for people and programs elsewhere: a page that aligns in the browser."""
