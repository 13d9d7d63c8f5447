"""Compare recipes on your own data: time per stage, effects on the images, and whether they got slower."""
